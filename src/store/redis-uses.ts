import { limits } from "../model/limits.ts";
import type { RecordUses, UseLimit, UseTaken } from "../model/records.ts";
import { limitKey } from "./keys.ts";
import { nowMs } from "./redis-clock.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { dayMs } from "./use-arithmetic.ts";
import { lifeMs } from "./store.ts";

/**
 * Looks at every limit before it writes to any, so that a use that one of them refuses takes nothing from the others.
 * The arithmetic is that of `use-arithmetic.ts`, in whole numbers that a double holds exactly. Leases that have ended
 * are removed last: a full Redis refuses a script's first write only, and would let the others pass after a removal.
 */
const takeScript = `${nowMs}
local day = ${dayMs}
local worst, wait = 0, -1
local left = {}
for i, key in ipairs(KEYS) do
  local at = 4 * i
  local kind, count, per, burst = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  local needed = -1
  if kind == 'rate' then
    local level = burst * per
    local held = redis.call('GET', key)
    if held then
      local was, seen = string.match(held, '^(%d+) (%d+)$')
      level = math.min(level, tonumber(was) + math.max(0, now - tonumber(seen)) * count)
    end
    if level < per then needed = math.ceil((per - level) / count) end
    left[i] = level - per
  elseif kind == 'quota' then
    left[i] = tonumber(redis.call('GET', key) or '0') + 1
    if left[i] > count then needed = day - now % day end
  elseif redis.call('ZCOUNT', key, string.format('(%.0f', now), '+inf') >= count then
    needed = 0
  end
  if needed > wait then worst, wait = i, needed end
end
if worst > 0 then return {tostring(worst - 1), string.format('%.0f', wait)} end
for i, key in ipairs(KEYS) do
  local at = 4 * i
  local kind, count, per, burst = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  if kind == 'rate' then
    local life = math.min(ARGV[3], math.ceil((burst * per - left[i]) / count))
    redis.call('SET', key, string.format('%.0f %.0f', left[i], now), 'PX', string.format('%.0f', life))
  elseif kind == 'quota' then
    redis.call('SET', key, string.format('%.0f', left[i]), 'PX', string.format('%.0f', day - now % day))
  else
    redis.call('ZADD', key, string.format('%.0f', now + ARGV[2]), ARGV[1])
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    redis.call('PEXPIREAT', key, string.format('%.0f', last[2]))
  end
end
return {}`;

const keepScript = `${nowMs}
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, string.format('%.0f', now + ARGV[2]), ARGV[1])
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  redis.call('PEXPIREAT', key, string.format('%.0f', last[2]))
end
return #KEYS`;

const endScript = `
for _, key in ipairs(KEYS) do redis.call('ZREM', key, ARGV[1]) end
return #KEYS`;

/** Limits that every replica shares. */
export function redisUses(connection: RedisConnection): RecordUses {
  return {
    takeUse: async (tenant, wanted, lease) => {
      const keys = wanted.map(({ name }) => limitKey(tenant, name));
      const common = [lease.id, lifeMs(lease.lifeMs), limits.limitCounterMsMax];
      const reply = await connection.texts(
        "EVAL",
        takeScript,
        keys.length,
        ...keys,
        ...common,
        ...wanted.flatMap(argumentsOf),
      );
      return takenIn(reply) ?? connection.nonsense();
    },
    keepLease: async (tenant, names, lease) => {
      const keys = names.map((name) => limitKey(tenant, name));
      await connection.count("EVAL", keepScript, keys.length, ...keys, lease.id, lifeMs(lease.lifeMs));
    },
    endLease: async (tenant, names, leaseId) => {
      const keys = names.map((name) => limitKey(tenant, name));
      await connection.count("EVAL", endScript, keys.length, ...keys, leaseId);
    },
  };
}

function argumentsOf(limit: UseLimit): readonly (string | number)[] {
  return limit.kind === "rate" ? [limit.kind, limit.count, limit.perMs, limit.burst] : [limit.kind, limit.count, 0, 0];
}

function takenIn(reply: readonly string[]): UseTaken | undefined {
  if (reply.length === 0) return { taken: true };
  const [at, waitMs] = reply.map(Number);
  return Number.isSafeInteger(at) && Number.isSafeInteger(waitMs)
    ? { taken: false, at: at ?? 0, waitMs: waitMs ?? 0 }
    : undefined;
}
