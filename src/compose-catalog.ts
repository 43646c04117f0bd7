import { randomBytes } from "node:crypto";
import type { Evidence } from "./audit/port.ts";
import { createRef } from "./audit/ref.ts";
import { createCatalog, createChanges, type Catalog } from "./catalog/catalog.ts";
import { fetchUpstream } from "./catalog/fetch-upstream.ts";
import { followingLock, heldToLock } from "./catalog/lock/held-snapshots.ts";
import type { LockKeeper } from "./catalog/lock/keeper.ts";
import { createPersonalCatalogs, type PersonalCatalogs, type PersonalOptions } from "./catalog/personal.ts";
import { createSnapshots, type Reading } from "./catalog/snapshots.ts";
import type { Config } from "./config/types.ts";
import type { Limits } from "./model/limits.ts";
import { cleanDefinition } from "./sanitize/clean-definition.ts";
import type { Log } from "./telemetry/log.ts";
import { definitionSource, gatewayAccount } from "./compose-catalog-source.ts";
import type { OpenLock } from "./compose-lock.ts";
import { serverShapes } from "./compose-shapes.ts";
import type { Upstreams } from "./upstream/port.ts";

/** The catalog of the configured servers. What its readings notice becomes evidence and log. */
export function openCatalog(of: {
  config: Config;
  upstreams: Upstreams;
  evidence: Evidence;
  log: Log;
  lock: OpenLock;
}): Catalog {
  const { limits, upstreams } = of.config;
  const { keeper, ...lock } = of.lock;
  const isFromLock = (upstream: string): boolean => upstreams[upstream]?.catalogFrom === "lock";
  const live = definitionSource(of.upstreams, limits.upstreamListTimeoutMs, gatewayAccount);
  const changes = createChanges();
  const report = reporter(of, limits.uriCharsMax);
  const read = createSnapshots({
    read: (upstream, signal) => {
      const source = isFromLock(upstream) ? lock.source : live;
      return fetchUpstream(upstream, { source, clean: cleanDefinition, bounds: limits }, signal);
    },
    now: Date.now,
    bounds: limits,
    onReading: (reading) => {
      report(reading);
      if (reading.snapshot !== undefined) keeper.judged(reading.snapshot);
      if (reading.changed) changes.tell(reading.upstream);
    },
  });
  return createCatalog({
    servers: serverShapes(of.config),
    snapshots: heldToLock(followingLock(read, { lock: lock.lock, isFromLock }), keeper),
    changes,
    personal: personalCatalogs(limits, { report: onceEach(report, limits.personalNoticesMax), keeper }),
    isPersonal: (upstream) => upstreams[upstream]?.catalogFrom === "user",
    ageMsMax: limits.catalogAgeMsMax,
  });
}

function personalCatalogs(
  limits: Limits,
  { report, keeper }: { report: (reading: Reading) => void; keeper: LockKeeper },
): PersonalCatalogs {
  const open: PersonalOptions["open"] = (source, onReading) =>
    createSnapshots({
      read: (upstream, signal) =>
        fetchUpstream(upstream, { source: source(), clean: cleanDefinition, bounds: limits }, signal),
      now: Date.now,
      bounds: limits,
      onReading: (reading) => {
        report(reading);
        onReading(reading);
      },
    });
  return createPersonalCatalogs({
    open: (source, onReading) => heldToLock(open(source, onReading), keeper),
    now: Date.now,
    bounds: limits,
  });
}

/** Everybody's list has the same items, and that somebody has yet to connect is no news. */
function onceEach(report: (reading: Reading) => void, noticesMax: number): (reading: Reading) => void {
  const known = new Set<string>();
  const isNew = ({ upstream, kind, name, digest }: Reading["noticed"][number]): boolean => {
    const key = JSON.stringify([upstream, kind, name, digest]);
    if (known.has(key) || known.size >= noticesMax) return false;
    known.add(key);
    return true;
  };
  return (reading) => {
    const awaited = reading.refusal?.code === "UPSTREAM_CONNECTION_REQUIRED";
    report({ ...reading, refusal: awaited ? undefined : reading.refusal, noticed: reading.noticed.filter(isNew) });
  };
}

/**
 * One event per item with new findings, and a line of log that carries its reference: nobody was refused
 * anything, so nobody else could tell the operator of it. An unsafe name may be of any length, so it is cut.
 */
function reporter(of: { evidence: Evidence; log: Log }, nameCharsMax: number): (reading: Reading) => void {
  const { evidence, log } = of;
  const ref = createRef(randomBytes);
  return ({ upstream, refusal, noticed }) => {
    if (refusal !== undefined)
      log.warn("catalog.unread", { upstream, code: refusal.code, ...refusal.facts }, refusal.cause);
    for (const { kind, name, digest, findings } of noticed) {
      const item = { upstream, kind, name: name.slice(0, nameCharsMax), digest };
      const event = { type: "noticed", ref: ref(), tenant: "", item, findings } as const;
      evidence.record(event);
      log.warn("catalog.noticed", { ref: event.ref, upstream, kind, findings: findings.map((found) => found.kind) });
    }
  };
}
