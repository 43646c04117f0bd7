import type { ServerResponse } from "node:http";
import type { Cancellation } from "../model/cancellation.ts";

/** Cancelled when the client's connection closes before the whole answer is written. */
export function clientGone(res: ServerResponse): Cancellation {
  const gone = new ClientGone();
  res.once("close", () => {
    if (!res.writableFinished) gone.cancel();
  });
  return gone;
}

class ClientGone implements Cancellation {
  aborted = false;
  #listeners: (() => void)[] = [];

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#listeners = this.#listeners.filter((held) => held !== listener);
  }

  /** Each listener hears of it once, whatever the others do meanwhile. */
  cancel(): void {
    if (this.aborted) return;
    this.aborted = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}
