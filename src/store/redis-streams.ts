import type { StreamEntry, StreamReader, StreamWriter } from "../audit/port.ts";
import { streamKey } from "./keys.ts";
import type { RedisConnection } from "./redis-connection.ts";

export type RedisStreams = StreamWriter & StreamReader;

/** The field under which an entry's text stands. */
const field = "event";

/** All entries of a batch or none: a script is one step for Redis, and one command on the wire. */
const appendScript = `
for i = 2, #ARGV do redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', '${field}', ARGV[i]) end
return #ARGV - 1`;

/** Redis Streams behind the two ports of audit. */
export function createRedisStreams(connection: RedisConnection): RedisStreams {
  return {
    append: async (stream, entries, lengthMax) => {
      await connection.count("EVAL", appendScript, 1, streamKey(stream), lengthMax, ...entries);
    },
    read: async (stream, after, countMax) => {
      const start = after === undefined ? "-" : `(${after}`;
      const reply = await connection.call("XRANGE", streamKey(stream), start, "+", "COUNT", countMax);
      if (!Array.isArray(reply)) return connection.nonsense();
      return reply.map((entry: unknown) => entryOf(entry) ?? connection.nonsense());
    },
  };
}

/** `[id, [field, text, …]]`. An entry that somebody else wrote has an empty text: a reader reports it. */
function entryOf(reply: unknown): StreamEntry | undefined {
  if (!Array.isArray(reply)) return undefined;
  const [id, fields] = reply as unknown[];
  if (typeof id !== "string" || !Array.isArray(fields)) return undefined;
  const text: unknown = fields[fields.indexOf(field) + 1];
  return { id, text: fields.includes(field) && typeof text === "string" ? text : "" };
}
