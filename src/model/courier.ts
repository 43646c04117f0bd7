/**
 * What must cross from one replica to another crosses through the store: the answer to a question that another
 * replica asked, a cancellation, the end of a stream. No replica calls another. A message is delivered at most
 * once, within seconds, and is lost when its receiver dies: whoever waits for one has a deadline.
 */
export interface Courier {
  /** Where this replica is reached; part of records that say who holds something. */
  readonly address: string;
  /** Hands a message to the replica at `to`, which may be this one. Rejects with `StoreUnavailable`. */
  send(to: string, topic: CourierTopic, text: string): Promise<void>;
  /** The same for every other replica. */
  broadcast(topic: CourierTopic, text: string): Promise<void>;
  /** Called for every message of the topic that arrives here. One receiver a topic. */
  receive(topic: CourierTopic, take: (text: string) => void): void;
}

export type CourierTopic =
  "answer" | "cancel" | "stream" | "session" | "connection" | "offboarding" | "token" | "grant";
