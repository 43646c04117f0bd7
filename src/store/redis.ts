import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { connectRedis } from "./redis-connection.ts";
import type { RedisConnection, RedisConnectionOptions } from "./redis-connection.ts";
import { nowMs } from "./redis-clock.ts";
import { createRedisStreams } from "./redis-streams.ts";
import type { RedisStreams } from "./redis-streams.ts";
import { redisUses } from "./redis-uses.ts";
import { storeKey } from "./keys.ts";
import { assertRecordFits, lifeMs } from "./store.ts";
import type { Store } from "./store.ts";

export interface RedisStoreOptions extends RedisConnectionOptions {
  readonly recordCharsMax?: number;
}

export interface RedisStore extends Store {
  /** Append-only streams over the same connection. */
  readonly streams: RedisStreams;
  /** The connection of its commands, for a courier to send over. */
  readonly connection: RedisConnection;
}

// One key per script, so every operation works on a cluster too.

const replaceScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/**
 * Members are scored by when they expire; the set lives as long as its longest-lived member. ZADD comes
 * first because a full Redis refuses a script's first write only: after a removal it would let it pass.
 */
const addMemberScript = `${nowMs}
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last[2]))
return redis.call('ZCARD', KEYS[1])`;

const membersScript = `${nowMs}
return redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf')`;

/** It only removes, which a full server allows. */
const takeExcessScript = `${nowMs}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local excess = math.min(redis.call('ZCARD', KEYS[1]) - ARGV[1], tonumber(ARGV[2]))
if excess <= 0 then return {} end
local first = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '+inf', 'LIMIT', 0, excess)
redis.call('ZREM', KEYS[1], unpack(first))
return first`;

const incrementScript = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`;

/**
 * A store that every replica shares: Redis 6.2 or later, standalone or behind a proxy that speaks its
 * protocol. Operations are atomic on the server. Each settles within `commandTimeoutMs`; one that rejects
 * with `StoreUnavailable` may have been executed all the same (its answer was lost), and none is sent
 * twice.
 *
 * Configure the server with `maxmemory-policy noeviction`: this cannot see an eviction, and an evicted
 * `denied-token` would be a revocation forgotten. Nor does it wait for Redis' replication.
 */
export function createRedisStore(options: RedisStoreOptions): RedisStore {
  const connection = connectRedis(options);
  const recordCharsMax = options.recordCharsMax ?? limits.recordCharsMax;

  async function write(key: RecordKey, value: string, ttlMs: number, condition: readonly string[]): Promise<boolean> {
    assertRecordFits(value, recordCharsMax);
    return (await connection.call("SET", storeKey(key), value, "PX", lifeMs(ttlMs), ...condition)) === "OK";
  }

  return {
    get: (key) => textOf(connection, "GET", storeKey(key)),
    set: async (key, value, ttlMs) => {
      await write(key, value, ttlMs, []);
    },
    setIfAbsent: (key, value, ttlMs) => write(key, value, ttlMs, ["NX"]),
    replace: async (key, expected, value, ttlMs) => {
      assertRecordFits(value, recordCharsMax);
      return connection.flag("EVAL", replaceScript, 1, storeKey(key), expected, value, lifeMs(ttlMs));
    },
    touch: async (key, ttlMs) => connection.flag("PEXPIRE", storeKey(key), lifeMs(ttlMs)),
    delete: async (key) => connection.flag("UNLINK", storeKey(key)),
    take: (key) => textOf(connection, "GETDEL", storeKey(key)),
    addMember: async (key, member, ttlMs) =>
      connection.count("EVAL", addMemberScript, 1, storeKey(key), member, lifeMs(ttlMs)),
    removeMember: async (key, member) => {
      await connection.count("ZREM", storeKey(key), member);
    },
    members: (key) => connection.texts("EVAL", membersScript, 1, storeKey(key)),
    takeExcess: (key, { keepMax, takeMax }) =>
      connection.texts("EVAL", takeExcessScript, 1, storeKey(key), keepMax, takeMax),
    increment: async (key, windowMs) => connection.count("EVAL", incrementScript, 1, storeKey(key), lifeMs(windowMs)),
    ...redisUses(connection),
    ping: () => connection.ping(),
    close: () => connection.close(),
    streams: createRedisStreams(connection),
    connection,
  };
}

async function textOf(connection: RedisConnection, command: string, name: string): Promise<string | undefined> {
  const reply = await connection.call(command, name);
  if (reply === null) return undefined;
  return typeof reply === "string" ? reply : connection.nonsense();
}
