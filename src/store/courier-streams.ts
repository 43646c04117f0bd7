import type { RedisConnection } from "./redis-connection.ts";

export interface StreamMessage {
  readonly key: string;
  readonly id: string;
  readonly from: string;
  readonly topic: string;
  readonly text: string;
}

type Reading = Pick<RedisConnection, "call" | "nonsense">;

/** Reading of Redis Streams as the courier writes them. */
export const readStreams = {
  /** The id of the newest entry; undefined for a stream without any. */
  newest: async (connection: Reading, key: string): Promise<string | undefined> => {
    const reply = await connection.call("XREVRANGE", key, "+", "-", "COUNT", 1);
    if (!Array.isArray(reply)) return connection.nonsense();
    const [entry] = reply as unknown[];
    if (entry === undefined) return undefined;
    const id: unknown = Array.isArray(entry) ? entry[0] : undefined;
    return typeof id === "string" ? id : connection.nonsense();
  },

  /** Up to `countMax` entries of each stream after the given ids; none once `blockMs` have passed without one. */
  block: async (
    connection: Reading,
    from: readonly { readonly key: string; readonly after: string }[],
    { blockMs, countMax }: { readonly blockMs: number; readonly countMax: number },
  ): Promise<readonly StreamMessage[]> => {
    const streams = [...from.map(({ key }) => key), ...from.map(({ after }) => after)];
    const reply = await connection.call("XREAD", "COUNT", countMax, "BLOCK", blockMs, "STREAMS", ...streams);
    if (reply === null) return [];
    if (!Array.isArray(reply)) return connection.nonsense();
    return pairsOf(reply).flatMap((stream) => messagesOf(stream) ?? connection.nonsense());
  },
};

/** A list of pairs, or in RESP3, where the answer is a map, keys and values in turn. */
function pairsOf(reply: readonly unknown[]): readonly unknown[] {
  if (reply.every((pair) => Array.isArray(pair))) return reply;
  return reply.flatMap((key, at) => (at % 2 === 0 ? [[key, reply[at + 1]]] : []));
}

/** `[key, [[id, [field, text, …]], …]]`. */
function messagesOf(stream: unknown): readonly StreamMessage[] | undefined {
  if (!Array.isArray(stream)) return undefined;
  const [key, entries] = stream as unknown[];
  if (typeof key !== "string" || !Array.isArray(entries)) return undefined;
  const messages = entries.map((entry: unknown) => messageOf(key, entry));
  return messages.every((message) => message !== undefined) ? messages : undefined;
}

/** An entry that somebody else wrote has empty texts, which no key vouches for. */
function messageOf(key: string, entry: unknown): StreamMessage | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [id, fields] = entry as unknown[];
  if (typeof id !== "string" || !Array.isArray(fields)) return undefined;
  const field = (name: string): string => {
    const text: unknown = fields[fields.indexOf(name) + 1];
    return fields.includes(name) && typeof text === "string" ? text : "";
  };
  return { key, id, from: field("from"), topic: field("topic"), text: field("text") };
}

/** Of two entry ids (`milliseconds-sequence`) the one that comes first. */
export function earlier(one: string, other: string): string {
  const [oneMs = 0, oneSequence = 0] = one.split("-").map(Number);
  const [otherMs = 0, otherSequence = 0] = other.split("-").map(Number);
  return oneMs < otherMs || (oneMs === otherMs && oneSequence <= otherSequence) ? one : other;
}
