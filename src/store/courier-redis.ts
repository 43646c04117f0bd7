import type { CourierTopic } from "../model/courier.ts";
import { StoreUnavailable } from "../model/records.ts";
import { createReceivers, type ClosableCourier, type Receivers } from "./courier-local.ts";
import { courierKey } from "./keys.ts";
import { connectRedis, type RedisConnection, type RedisConnectionOptions } from "./redis-connection.ts";
import { earlier, readStreams, type StreamMessage } from "./courier-streams.ts";

/** What makes a message unreadable and unforgeable for whoever has the store alone. */
export interface Envelope {
  /** `about`: everything besides the text that a reader relies on. */
  close(about: readonly string[], text: string): string;
  /** Undefined when no key vouches for it. */
  open(about: readonly string[], closed: string): string | undefined;
}

export interface CourierLimits {
  /** How long one reading waits at the server, in milliseconds. */
  readonly courierBlockMs: number;
  readonly courierMessagesPerReadMax: number;
  /** Messages that wait for one replica; the oldest leave first. */
  readonly courierMessagesMax: number;
  /** How long a message waits for its receiver, in milliseconds. */
  readonly courierMessageMs: number;
  readonly courierTextCharsMax: number;
  /** Pause after a failed reading, in milliseconds. */
  readonly courierRetryMs: number;
  readonly storeCommandTimeoutMs: number;
}

export interface RedisCourierOptions extends RedisConnectionOptions {
  /** Random, of this process alone: whoever dies takes its address along. */
  readonly address: string;
  /** The connection that messages are sent over; reading has one of its own. */
  readonly sendOver: Pick<RedisConnection, "count" | "call">;
  readonly envelope: Envelope;
  readonly limits: CourierLimits;
  /** A receiver threw, or a reading failed in a way no store fails. */
  readonly onFault: (error: unknown) => void;
}

const sendScript = `
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'from', ARGV[3], 'topic', ARGV[4], 'text', ARGV[5])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** No address is called so: those are random. */
const everybody = "all";

/**
 * A courier over Redis Streams: each replica has an inbox, and one more stream is read by all. A stream keeps a
 * message for `courierMessageMs`, so one that is sent while its receiver reconnects arrives all the same. Reading
 * blocks, so it has a connection of its own, which reconnects for ever. Keys of streams expire with their last
 * message; a replica deletes from its inbox what it has read.
 *
 * A rejected `send` may have been carried out: its answer was lost. A text of more than `courierTextCharsMax`
 * characters throws: whoever sends what a peer wrote bounds it first. A text is not protected against being
 * repeated by whoever controls the store.
 */
export function createRedisCourier(options: RedisCourierOptions): ClosableCourier {
  const { address, sendOver, envelope, limits } = options;
  const receivers = createReceivers(options.onFault);
  const reader = startReading(options, receivers);

  async function post(to: string, topic: CourierTopic, text: string): Promise<void> {
    if (text.length > limits.courierTextCharsMax) throw new RangeError("a courier's text is too long");
    const closed = envelope.close([to, address, topic], text);
    const { courierMessagesMax, courierMessageMs } = limits;
    await sendOver.count(
      "EVAL",
      sendScript,
      1,
      courierKey(to),
      courierMessagesMax,
      courierMessageMs,
      address,
      topic,
      closed,
    );
  }

  return {
    address,
    send: async (to, topic, text) => {
      if (to !== address) return post(to, topic, text);
      await Promise.resolve();
      receivers.deliver(topic, text);
    },
    broadcast: (topic, text) => post(everybody, topic, text),
    receive: (topic, take) => {
      receivers.add(topic, take);
    },
    close: async () => {
      await reader.stop();
      // It would expire by itself.
      await sendOver.call("UNLINK", courierKey(address)).catch(() => undefined);
    },
  };
}

/** Reads both streams from where it stands, for ever. */
function startReading(options: RedisCourierOptions, receivers: Receivers): { stop(): Promise<void> } {
  const { address, limits } = options;
  const connection = connectRedis({
    ...options,
    commandTimeoutMs: limits.courierBlockMs + limits.storeCommandTimeoutMs,
  });
  const inbox = { key: courierKey(address), to: address, after: "0-0" };
  const common = { key: courierKey(everybody), to: everybody, after: undefined as string | undefined };
  let stopped = false;
  let placed = false;

  /** A stream that is gone, or that a failover set back, would otherwise be read from a place it has not reached yet. */
  async function place(): Promise<void> {
    for (const stream of [inbox, common]) {
      const newest = (await readStreams.newest(connection, stream.key)) ?? "0-0";
      stream.after = stream.after === undefined ? newest : earlier(stream.after, newest);
    }
    placed = true;
  }

  async function round(): Promise<void> {
    if (!placed) await place();
    const { courierBlockMs: blockMs, courierMessagesPerReadMax: countMax } = limits;
    const from = [inbox, common].map(({ key, after = "0-0" }) => ({ key, after }));
    const messages = await readStreams.block(connection, from, { blockMs, countMax });
    for (const message of messages) {
      const stream = message.key === inbox.key ? inbox : common;
      stream.after = message.id;
      take(stream.to, message);
    }
    const read = messages.filter(({ key }) => key === inbox.key).map(({ id }) => id);
    if (read.length > 0) await connection.count("XDEL", inbox.key, ...read);
  }

  function take(to: string, { from, topic, text: closed }: StreamMessage): void {
    if (from === address) return;
    const text = options.envelope.open([to, from, topic], closed);
    if (text === undefined) options.onFailure?.("answer-invalid");
    else receivers.deliver(topic, text);
  }

  async function readOn(): Promise<void> {
    while (!stopped) {
      try {
        if (await connection.ready(limits.courierBlockMs)) await round();
        else await pause(limits.courierRetryMs);
      } catch (error) {
        placed = false;
        if (!(error instanceof StoreUnavailable)) options.onFault(error);
        await pause(limits.courierRetryMs);
      }
    }
  }

  const done = readOn();
  return {
    stop: () => {
      stopped = true;
      connection.drop();
      return done;
    },
  };
}

/** Jittered, so that replicas do not come back to a store that has recovered all at once. */
function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms * (0.5 + Math.random() / 2)));
}
