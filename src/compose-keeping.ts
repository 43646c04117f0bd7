import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { AuditEvent } from "./audit/event.ts";
import type { AuditSink } from "./audit/port.ts";
import { createEvidence, type Recorder } from "./audit/recorder.ts";
import { createJsonLinesSink } from "./audit/sinks/json-lines.ts";
import { createStreamSink } from "./audit/sinks/redis-stream.ts";
import type { Secret } from "./config/secret.ts";
import type { AuditSinkConfig, Config } from "./config/types.ts";
import { StartRefused } from "./model/start-refused.ts";
import { createSessions, type Sessions } from "./session/sessions.ts";
import { createMemoryStore } from "./store/memory.ts";
import { createRedisStore, type RedisStore } from "./store/redis.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import type { Metrics } from "./telemetry/metrics.ts";

export function openStore(
  config: Config,
  log: Log,
  metrics: Metrics,
): { store: Store; streams: RedisStore["streams"] | undefined; connection: RedisStore["connection"] | undefined } {
  const { memoryStoreEntriesMax, storeCommandTimeoutMs } = config.limits;
  if (config.store.kind === "memory")
    return {
      store: createMemoryStore({ now: Date.now, entriesMax: memoryStoreEntriesMax }),
      streams: undefined,
      connection: undefined,
    };
  const store = createRedisStore({
    url: config.store.url.reveal(),
    commandTimeoutMs: storeCommandTimeoutMs,
    onFailure: (failure) => {
      metrics.storeFailed(failure);
      log.warn("store.failed", { failure });
    },
  });
  return { store, streams: store.streams, connection: store.connection };
}

/** Names this process for as long as it runs. */
export function replicaName(): string {
  return `${hostname()}-${randomBytes(4).toString("hex")}`;
}

export async function openEvidence(of: {
  config: Config;
  log: Log;
  metrics: Metrics;
  streams: RedisStore["streams"] | undefined;
  digests: () => AuditEvent["digests"];
  /** See `replicaName`. */
  replica: string;
}): Promise<Recorder> {
  const { audit, limits } = of.config;
  const sinks = await Promise.all(audit.sinks.map((sink) => openSink(sink, of)));
  const evidence = createEvidence({
    sinks: sinks.map((sink) => ({ sink, required: audit.mode === "required" })),
    replica: of.replica,
    now: Date.now,
    digests: of.digests,
    queueMax: limits.auditQueueMax,
    onLoss: (sink, count) => {
      of.metrics.auditLost(sink, count);
      of.log.error("audit.lost", { sink, count });
    },
  });
  of.metrics.watchAuditDepth(() => evidence.depth());
  return evidence;
}

function openSink(
  sink: AuditSinkConfig,
  of: { config: Config; streams: RedisStore["streams"] | undefined },
): Promise<AuditSink> {
  if (sink.kind === "file") return createJsonLinesSink({ path: sink.path, sync: "none" });
  if (of.streams === undefined) throw new StartRefused(["audit: a redis sink needs the redis store"]);
  const { auditStreamEventsMax } = of.config.limits;
  return Promise.resolve(
    createStreamSink({ writer: of.streams, stream: sink.stream, eventsMax: auditStreamEventsMax }),
  );
}

export function openSessions(config: Config, store: Store): Sessions {
  const { session, sessionPrevious } = config.keys;
  return createSessions({
    records: store,
    macKeys: {
      current: keyFrom("session", session),
      previous: sessionPrevious.map((secret) => keyFrom("session", secret)),
    },
    random: randomBytes,
    now: Date.now,
    limits: config.limits,
  });
}

/** One for all purposes: what is sealed in one place for a purpose is opened in another. */
const secretOfThisProcess = randomBytes(32);

/** One configured secret may serve several purposes: each derives its own key (RFC 5869, HKDF). Without one, a key of this process. */
export function keyFrom(purpose: string, secret: Secret | undefined): { kid: string; key: Uint8Array } {
  const material = secret?.reveal() ?? secretOfThisProcess;
  const key = new Uint8Array(hkdfSync("sha256", material, "", `sallyport ${purpose}`, 32));
  return { kid: createHash("sha256").update(key).digest("hex").slice(0, 8), key };
}
