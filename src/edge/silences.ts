/** Answers that are waited for, each opened as a stream once it has been silent for `silentMs`. */
export interface Silences {
  /** Calls `open` after a silence; the function that is returned takes that back. */
  watch(open: () => void): () => void;
  close(): void;
}

/**
 * One timer for all of them, as one each costs 2 µs a call (Node 20). It looks four times in `silentMs`, so a
 * silence lasts up to a quarter longer.
 */
export function createSilences(silentMs: number): Silences {
  /** In the order of their coming: whoever waits longest is first. */
  const waiting = new Map<object, { readonly since: number; readonly open: () => void }>();
  const look = (): void => {
    const before = performance.now() - silentMs;
    for (const [key, { since, open }] of waiting) {
      if (since > before) return;
      waiting.delete(key);
      open();
    }
  };
  const timer = setInterval(look, Math.max(1, silentMs / 4));
  timer.unref();
  return {
    watch(open) {
      const key = {};
      waiting.set(key, { since: performance.now(), open });
      return () => void waiting.delete(key);
    },
    close() {
      clearInterval(timer);
    },
  };
}
