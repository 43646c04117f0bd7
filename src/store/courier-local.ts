import type { Courier, CourierTopic } from "../model/courier.ts";

type Take = (text: string) => void;

/** Where messages for this replica are handed over, whichever way they came. */
export interface Receivers {
  add(topic: CourierTopic, take: Take): void;
  /** A topic that nobody receives here is dropped: a replica of another version may send it. */
  deliver(topic: string, text: string): void;
}

/** What a receiver throws is our own bug; it must not end the way of other messages. */
export function createReceivers(onFault: (error: unknown) => void): Receivers {
  const takers = new Map<string, Take>();
  return {
    add: (topic, take) => {
      if (takers.has(topic)) throw new Error(`the topic ${topic} has a receiver`);
      takers.set(topic, take);
    },
    deliver: (topic, text) => {
      try {
        takers.get(topic)?.(text);
      } catch (error) {
        onFault(error);
      }
    },
  };
}

/** A courier that can be let go of. */
export interface ClosableCourier extends Courier {
  /** Takes and sends nothing afterwards. */
  close(): Promise<void>;
}

/** A courier for one process: no other replica is there, so what is sent elsewhere reaches nobody. */
export function createMemoryCourier(options: {
  readonly address: string;
  readonly onFault: (error: unknown) => void;
}): ClosableCourier {
  const receivers = createReceivers(options.onFault);
  let closed = false;
  return {
    address: options.address,
    send: async (to, topic, text) => {
      // Never before `send` has returned, as over a network.
      await Promise.resolve();
      if (!closed && to === options.address) receivers.deliver(topic, text);
    },
    broadcast: () => Promise.resolve(),
    receive: (topic, take) => {
      receivers.add(topic, take);
    },
    close: () => {
      closed = true;
      return Promise.resolve();
    },
  };
}
