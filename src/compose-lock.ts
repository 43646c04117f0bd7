import { randomBytes } from "node:crypto";
import type { Evidence } from "./audit/port.ts";
import { createRef } from "./audit/ref.ts";
import type { DefinitionSource } from "./catalog/port.ts";
import { onceEachDrift } from "./catalog/lock/drift-memory.ts";
import { createLockKeeper, type Drift, type LockKeeper } from "./catalog/lock/keeper.ts";
import type { Lock } from "./catalog/lock/lock.ts";
import { lockedSource } from "./catalog/lock/locked-source.ts";
import { cleanInstructions } from "./compose-catalog-source.ts";
import { lockIdentityOf } from "./config/lock-identity.ts";
import type { Config } from "./config/types.ts";
import type { Log } from "./telemetry/log.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import { createGuardedFetch } from "./upstream/egress.ts";
import { createWebhook, type Webhook } from "./upstream/webhook.ts";

/** The catalog lock at work. */
export interface OpenLock {
  readonly keeper: LockKeeper;
  /** Definitions out of the lock in force. */
  readonly source: DefinitionSource;
  readonly lock: () => Lock | undefined;
  close(): Promise<void>;
}

export interface LockParts {
  readonly config: Config;
  /** The lock in force: asked for anew each time, since another may take its place. */
  readonly lock: () => Lock | undefined;
  readonly evidence: Evidence;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Drift becomes evidence, log, metric and, where one is configured, a message to the webhook; each drift once. */
export function openLock(of: LockParts): OpenLock {
  const { config, lock, metrics } = of;
  const { upstreams, limits } = config;
  const webhook = openWebhook(of);
  const keeper = createLockKeeper({
    lock,
    modeOf: (upstream) => upstreams[upstream]?.lock ?? "off",
    identityOf: (upstream) => {
      const configured = upstreams[upstream];
      return configured === undefined ? { url: "", authorization: "" } : lockIdentityOf(configured);
    },
    now: Date.now,
    bounds: limits,
    onDrift: onceEachDrift(reporter(of, webhook), limits.catalogDriftsRememberedMax),
    onJudged: (upstream, quarantined) => {
      metrics.catalogQuarantined(upstream, quarantined);
    },
  });
  const source = lockedSource({
    lock,
    eraOf: (upstream) => (upstreams[upstream]?.era === "legacy" ? "legacy" : "modern"),
    cleanInstructions,
  });
  return { keeper, source, lock, close: async () => webhook?.close() };
}

function reporter({ config, evidence, log, metrics }: LockParts, webhook: Webhook | undefined): (drift: Drift) => void {
  const newRef = createRef(randomBytes);
  return (drift) => {
    const { upstream, kind, mode, reason, found, approved } = drift;
    const name = drift.name.slice(0, config.limits.uriCharsMax);
    const ref = newRef();
    const item =
      kind === "instructions" ? {} : { item: { upstream, kind, name, digest: found.slice(found.indexOf(":") + 1) } };
    const findings = [{ kind: "definition-drifted", where: "", detail: reason, count: 1 }] as const;
    const told = { upstream, kind, mode, reason, found, approved };
    evidence.record({ type: "drifted", ref, tenant: "", ...item, drift: told, findings });
    log.warn("catalog.drifted", { ref, upstream, kind, mode, reason, found });
    metrics.catalogDrifted(upstream, mode);
    const message = { event: "catalog.drifted", upstream, kind, name, mode, reason, digest: found, approved };
    webhook?.post(JSON.stringify({ ...message, at: new Date().toISOString(), ref }));
  };
}

function openWebhook({ config, log, metrics }: LockParts): Webhook | undefined {
  const webhook = config.catalogLock?.webhook;
  if (webhook === undefined) return undefined;
  const { webhookTimeoutMs: timeoutMs, webhookAnswerBytesMax: bytesMax } = config.limits;
  return createWebhook({
    url: webhook.url,
    secret: webhook.secret?.reveal(),
    fetch: createGuardedFetch({ allow: webhook.addresses, timeoutMs, bytesMax }),
    bounds: config.limits,
    onOutcome: (outcome, cause) => {
      metrics.webhookPosted(outcome);
      if (outcome !== "delivered") log.warn("webhook.unheard", { outcome }, cause);
    },
  });
}
