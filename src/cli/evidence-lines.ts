import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { readStream } from "../audit/sinks/redis-stream.ts";
import type { AuditSinkConfig, Config } from "../config/types.ts";
import { limits } from "../model/limits.ts";
import type { RedisStore } from "../store/redis.ts";

/** The lines of a JSON Lines file. Reading rejects when the file cannot be read. */
export function fileLines(path: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity });
}

/** Events as a configuration keeps them: those of its first sink, since every sink holds them all. */
export function configuredLines(config: Config): AsyncIterable<string> | undefined {
  const sink = config.audit.sinks[0];
  return sink === undefined ? undefined : sinkLines(sink, config);
}

/** Events of the Redis stream that a configuration names, whichever of its sinks that is. */
export function redisSinkLines(config: Config): AsyncIterable<string> | undefined {
  const sink = config.audit.sinks.find(({ kind }) => kind === "redis");
  return sink === undefined ? undefined : sinkLines(sink, config);
}

function sinkLines(sink: AuditSinkConfig, { store }: Config): AsyncIterable<string> {
  // A Redis sink beside a memory store does not load (`redisAuditNeedsRedisStore`).
  if (sink.kind === "redis" && store.kind === "redis") return redisLines(store.url.reveal(), sink.stream);
  return fileLines(sink.kind === "file" ? sink.path : "");
}

async function* redisLines(url: string, stream: string): AsyncGenerator<string> {
  const { createRedisStore } = await import("../store/redis.ts");
  const store = createRedisStore({ url });
  try {
    await connected(store);
    yield* readStream(store.streams, stream);
  } finally {
    await store.close();
  }
}

/** The store refuses commands while it connects, so the first answer has to be waited for. */
async function connected(store: RedisStore): Promise<void> {
  const pauseMs = 50;
  for (let waitedMs = 0; waitedMs < limits.storeConnectTimeoutMs; waitedMs += pauseMs) {
    const answered = await store.ping().then(
      () => true,
      () => false,
    );
    if (answered) return;
    await wait(pauseMs);
  }
  await store.ping();
}
