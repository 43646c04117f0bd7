import type { Cancellation } from "../model/cancellation.ts";

/**
 * Joins concurrent work under one key: the first caller starts it, the others get the same promise. The key
 * must contain everything the work depends on, the authorization context above all. Nothing is kept once the
 * work has settled.
 */
export interface SingleFlight<T> {
  run(key: string, work: () => Promise<T>): Promise<T>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const running = new Map<string, Promise<T>>();
  return {
    run(key, work) {
      const joined = running.get(key);
      if (joined !== undefined) return joined;
      const started = work().finally(() => running.delete(key));
      running.set(key, started);
      return started;
    },
  };
}

/**
 * Waits for shared work no longer than `signal` and `ms` allow; the work itself goes on for whoever else waits.
 * Rejects as the work does.
 */
export function waitWithin<T>(
  work: Promise<T>,
  { signal, ms }: { readonly signal: Cancellation; readonly ms: number },
): Promise<T | "aborted" | "timed-out"> {
  if (signal.aborted) return Promise.resolve("aborted");
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      done();
      resolve("aborted");
    };
    const timer = setTimeout(() => {
      done();
      resolve("timed-out");
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
    work.finally(done).then(resolve, reject);
  });
}
