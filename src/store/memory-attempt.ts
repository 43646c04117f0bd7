import { StoreUnavailable } from "../model/records.ts";

/** Rejections, never synchronous throws: callers meet the same behaviour as over a network. */
export function attempt<T>(act: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(act());
  });
}

export function assertOpen(closed: boolean): void {
  if (closed) throw new StoreUnavailable("the store is closed");
}
