/**
 * How long silence is borne while a person is asked. A session that waits for a client's answer has nothing to
 * say on any of its streams: an upstream may ask on one and owe the answer on another (2025-11-25, transports,
 * "Listening for Messages from the Server"), so the exchanges of a session share one of these. Absolute
 * deadlines know nothing of it.
 */
export interface Patience {
  /** Somebody is asked from now on; the function returned says that it is over, once. */
  hold(): () => void;
  /** Whether silence that has lasted `ms` is still explained: by a question that is open, or was within that time. */
  covers(ms: number): boolean;
}

export function createPatience(): Patience {
  let open = 0;
  let endedAt = Number.NEGATIVE_INFINITY;
  return {
    hold() {
      open += 1;
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        open -= 1;
        endedAt = performance.now();
      };
    },
    covers: (ms) => open > 0 || performance.now() - endedAt < ms,
  };
}
