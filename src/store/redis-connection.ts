import { Redis } from "ioredis";
import { limits } from "../model/limits.ts";
import { StoreUnavailable } from "../model/records.ts";
import { storeFailureOf } from "./redis-failure.ts";
import type { StoreFailure } from "./redis-failure.ts";

export interface RedisConnectionOptions {
  /** `redis://` or `rediss://` (TLS), with user and password where the server wants them. */
  readonly url: string;
  readonly commandTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  readonly reconnectMsMax?: number;
  readonly readonlyReconnectMsMin?: number;
  /** Commands without an answer yet; one more is refused at once. */
  readonly inFlightMax?: number;
  /** Called for every failed operation and every lost or failed connection: a metric, a log line. */
  readonly onFailure?: (failure: StoreFailure) => void;
}

type Argument = string | number;

export interface RedisConnection {
  /** Sends one command once. Rejects with `StoreUnavailable` within the command timeout. */
  call(command: string, ...args: readonly Argument[]): Promise<unknown>;
  /** `call`, where the only sensible answers are 1 and 0. */
  flag(command: string, ...args: readonly Argument[]): Promise<boolean>;
  /** `call`, where the only sensible answer is a whole number, not negative. */
  count(command: string, ...args: readonly Argument[]): Promise<number>;
  /** `call`, where the only sensible answer is a list of texts. */
  texts(command: string, ...args: readonly Argument[]): Promise<readonly string[]>;
  /** Throws `StoreUnavailable` for an answer that makes no sense. */
  nonsense(): never;
  ping(): Promise<void>;
  /** Waits until commands can be sent, or until `waitMs` have passed; tells which. */
  ready(waitMs: number): Promise<boolean>;
  close(): Promise<void>;
  /** Lets go at once, without a goodbye that would wait behind a blocking command. */
  drop(): void;
}

/**
 * One connection to Redis that reconnects in the background for ever and never repeats a command: with
 * the outcome of the first attempt unknown, a second `SET NX` would answer that another caller was
 * first. There is no offline queue either, so an outage is an error at once and not a pile of waiters.
 */
export function connectRedis(options: RedisConnectionOptions): RedisConnection {
  const { inFlightMax = limits.storeCommandsInFlightMax, onFailure = ignore } = options;
  const commandTimeoutMs = options.commandTimeoutMs ?? limits.storeCommandTimeoutMs;
  const redis = openRedis(options, commandTimeoutMs);
  let inFlight = 0;

  // ioredis attaches command and arguments to its errors, and arguments are records. So the error ends
  // here: what goes on is a word from a closed list, without a cause.
  function failed(failure: StoreFailure): StoreUnavailable {
    onFailure(failure);
    return new StoreUnavailable(`the store failed: ${failure}`);
  }

  function nonsense(): never {
    throw failed("answer-invalid");
  }

  async function call(command: string, ...args: readonly Argument[]): Promise<unknown> {
    if (inFlight >= inFlightMax) throw failed("overloaded");
    inFlight += 1;
    try {
      return await redis.call(command, ...args);
    } catch (error) {
      throw failed(storeFailureOf(error));
    } finally {
      inFlight -= 1;
    }
  }

  async function count(command: string, ...args: readonly Argument[]): Promise<number> {
    const reply = await call(command, ...args);
    return typeof reply === "number" && Number.isSafeInteger(reply) && reply >= 0 ? reply : nonsense();
  }

  redis.on("error", (error: unknown) => {
    onFailure(storeFailureOf(error));
  });

  return {
    call,
    count,
    nonsense,
    flag: async (command, ...args) => {
      const reply = await count(command, ...args);
      return reply <= 1 ? reply === 1 : nonsense();
    },
    texts: async (command, ...args) => {
      const reply = await call(command, ...args);
      return isTextList(reply) ? reply : nonsense();
    },
    ping: async () => {
      await waitUntilReady(redis, commandTimeoutMs);
      if ((await call("PING")) !== "PONG") nonsense();
    },
    ready: async (waitMs) => {
      await waitUntilReady(redis, waitMs);
      return redis.status === "ready";
    },
    close: () => closeRedis(redis),
    drop: () => {
      redis.disconnect();
    },
  };
}

function openRedis(options: RedisConnectionOptions, commandTimeoutMs: number): Redis {
  if (!/^rediss?:\/\//u.test(options.url)) throw new TypeError("a Redis URL begins with redis:// or rediss://");
  const { connectTimeoutMs = limits.storeConnectTimeoutMs, reconnectMsMax = limits.storeReconnectMsMax } = options;
  const { readonlyReconnectMsMin = limits.storeReadonlyReconnectMsMin } = options;
  let readonlyAt = -Infinity;
  return new Redis(options.url, {
    commandTimeout: commandTimeoutMs,
    connectTimeout: connectTimeoutMs,
    // A timed-out command leaves the socket in place: in a black hole (no RST, no answer) every later
    // command would time out on it until the kernel gives up, which takes a quarter of an hour. So a
    // socket that owes an answer for this long is destroyed and replaced.
    socketTimeout: commandTimeoutMs * 2,
    disconnectTimeout: commandTimeoutMs,
    retryStrategy: (attempt) => Math.min(reconnectMsMax, 25 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2),
    // A managed failover may leave the address with a node that only reads: look it up anew. The
    // command is still rejected, never resent.
    reconnectOnError: (error) => {
      if (!error.message.startsWith("READONLY") || performance.now() - readonlyAt < readonlyReconnectMsMin)
        return false;
      readonlyAt = performance.now();
      return true;
    },
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: true,
    connectionName: "sallyport",
  });
}

/** `ping` right after the start, or in the middle of a reconnection, asks a connection that is about to stand. */
async function waitUntilReady(redis: Redis, waitMs: number): Promise<void> {
  if (redis.status === "ready" || redis.status === "end") return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      redis.off("ready", done);
      redis.off("end", done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    redis.on("ready", done);
    redis.on("end", done);
  });
}

/** Says goodbye if the server listens; in any case nothing of the connection is left. */
async function closeRedis(redis: Redis): Promise<void> {
  if (redis.status === "ready") await redis.quit().catch(ignore);
  redis.disconnect();
}

function isTextList(reply: unknown): reply is string[] {
  return Array.isArray(reply) && reply.every((entry) => typeof entry === "string");
}

function ignore(): void {
  // Nobody listens.
}
