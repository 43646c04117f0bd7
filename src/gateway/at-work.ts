/** Exchanges that have begun and whose outcome is not yet recorded. */
export interface AtWork {
  begin(): void;
  end(): void;
  /** Resolves once none is left, or after `waitMsMax`: what hangs must not keep a gateway from stopping. */
  done(waitMsMax: number): Promise<void>;
}

/** So that a gateway which stops closes its evidence after the last outcome. */
export function createAtWork(): AtWork {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: () => {
      count += 1;
    },
    end: () => {
      count -= 1;
      if (count > 0) return;
      for (const resume of waiting) resume();
      waiting = [];
    },
    done: (waitMsMax) =>
      new Promise((resolve) => {
        if (count === 0) {
          resolve();
          return;
        }
        const timer = setTimeout(resolve, waitMsMax);
        waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}
