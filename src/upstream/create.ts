import type { Cancellation } from "../model/cancellation.ts";
import type { JsonObject } from "../model/json.ts";
import { ok } from "../model/result.ts";
import { refuse } from "../model/refusal.ts";
import type { Result } from "../model/result.ts";
import { createBreaker } from "./breaker.ts";
import type { Breaker } from "./breaker.ts";
import { throughBreaker } from "./breaker-gate.ts";
import type { Era, EraVerdict } from "./era.ts";
import { createEras } from "./eras.ts";
import type { Eras } from "./eras.ts";
import { createLegacySessions } from "./legacy-sessions.ts";
import type { LegacySessions } from "./legacy-sessions.ts";
import { requestLegacy } from "./legacy.ts";
import { createLink } from "./create-link.ts";
import type { Link } from "./link.ts";
import { requestModern } from "./modern.ts";
import type { BreakerSettings, UpstreamOptions, UpstreamsOptions } from "./options.ts";
import type { OnAccountOf, UpstreamAnswer, UpstreamIdentity, UpstreamRequest, Upstreams } from "./port.ts";
import { createSessionStore } from "./session-store.ts";
import { waitWithin } from "./single-flight.ts";
import { createWatches } from "./watches.ts";

/** One upstream and what is remembered of it. */
interface Known {
  readonly link: Link;
  readonly pinned: "auto" | "legacy" | "modern";
  readonly eras: Eras;
  readonly breaker: Breaker;
}

/**
 * The upstreams of a configuration, as the port describes them. Throws for a URL, an address setting or a
 * credential header that cannot be used; a request to an upstream that is not configured rejects, as it is a
 * fault of the caller. Nothing is dialled before the first request. `close` ends timers and connections.
 */
export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { records, limits, now, log, random = Math.random } = options;
  const nextId = createIds(options.randomId());
  const clientInfo: JsonObject = { name: options.gatewayInfo.name, version: options.gatewayInfo.version };
  const known = new Map<string, Known>();
  for (const [name, upstream] of Object.entries(options.upstreams)) {
    const link = createLink({ name, upstream, limits, now, random, log, nextId, clientInfo });
    known.set(name, knownOf(link, upstream, options.onSuspended));
  }
  const sessions = createLegacySessions(createSessionStore(records, limits.upstreamSessionIdleMs, log), limits, now);
  const watches = createWatches(random);
  const sweeper = setInterval(() => void sessions.sweep(), Math.max(1_000, limits.upstreamSessionIdleMs / 10));
  sweeper.unref();

  const find = (name: string): Known => {
    const found = known.get(name);
    if (found === undefined) throw new Error("a request names an upstream that is not configured");
    return found;
  };
  return {
    async request(request) {
      const startedAt = performance.now();
      const upstream = find(request.upstream);
      const answer = await throughBreaker(upstream.breaker, request, () => perform(upstream, sessions, request));
      if (options.observe !== undefined) options.observe(sampleOf(request, answer, performance.now() - startedAt));
      return answer;
    },
    identify: (name, account, signal) => identify(find(name), sessions, account, signal),
    watch(watch) {
      const upstream = find(watch.upstream);
      const { account } = watch;
      const findEra = (signal: Cancellation): Promise<Result<EraVerdict>> => verdictOn(upstream, account, signal);
      return watches.start({ link: upstream.link, era: upstream.eras.of(account), sessions, findEra }, watch);
    },
    openStreams: () => new Map([...known].map(([name, { link }]) => [name, link.pools.streams.load.started])),
    async endSessions(account) {
      if (account.clientSession === undefined) return;
      watches.endOf(account.tenant, account.clientSession);
      const legacy = [...known.values()].filter((upstream) => maySpeakLegacy(upstream, account));
      await sessions.end(
        legacy.map(({ link }) => link),
        account,
      );
    },
    async close() {
      clearInterval(sweeper);
      watches.endAll();
      sessions.clear();
      await Promise.all([...known.values()].map(({ link }) => link.pools.close()));
    },
  };
}

function knownOf(
  link: Link,
  { era: pinned = "auto", breaker }: UpstreamOptions,
  onSuspended: UpstreamsOptions["onSuspended"],
): Known {
  return { link, pinned, eras: createEras(link), breaker: breakerOf(link, breaker, onSuspended) };
}

function breakerOf(
  { upstream, limits, now, random, log }: Link,
  { failures, windowMs, pauseMs }: Partial<BreakerSettings> = {},
  onSuspended: UpstreamsOptions["onSuspended"],
): Breaker {
  return createBreaker({
    failures: failures ?? limits.upstreamFailuresMax,
    windowMs: windowMs ?? limits.upstreamFailureWindowMs,
    pauseMs: pauseMs ?? limits.upstreamSuspensionMs,
    pauseMsMax: limits.upstreamSuspensionMsMax,
    now,
    random,
    onChange: (suspended, ms) => {
      log(suspended ? "upstream-suspended" : "upstream-resumed", { upstream, ...(suspended ? { pauseMs: ms } : {}) });
      onSuspended?.(upstream, suspended);
    },
  });
}

function maySpeakLegacy({ pinned, eras }: Known, account: OnAccountOf): boolean {
  return pinned === "legacy" || (pinned === "auto" && eras.of(account).known?.era !== "modern");
}

/** Unique among all processes that share an upstream session: the prefix is random, the rest counts. */
function createIds(prefix: string): () => string {
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count}`;
  };
}

function perform(upstream: Known, sessions: LegacySessions, request: UpstreamRequest): Promise<UpstreamAnswer> {
  const era = eraWithoutAsking(upstream, request.account);
  if (era !== undefined) return performIn(era, upstream, sessions, request);
  return findEra(upstream, request).then((found) => performIn(found, upstream, sessions, request));
}

function performIn(
  era: Awaited<ReturnType<typeof findEra>>,
  upstream: Known,
  sessions: LegacySessions,
  request: UpstreamRequest,
): Promise<UpstreamAnswer> {
  const stale = (): void => {
    upstream.eras.of(request.account).forget();
  };
  if (era === "legacy") return requestLegacy(upstream.link, sessions, request, stale);
  if (era === "modern") return requestModern(upstream.link, request, stale);
  const { refusal } = era;
  const facts = { upstream: upstream.link.upstream, ...refusal.facts };
  return Promise.resolve({ kind: "failed", outcome: "failed", refusal: { ...refusal, facts }, hop: undefined });
}

function eraWithoutAsking({ pinned, eras }: Known, account: OnAccountOf): "legacy" | "modern" | undefined {
  return pinned === "auto" ? eras.of(account).known?.era : pinned;
}

async function findEra(
  { eras }: Known,
  { account, signal, timeoutMs }: UpstreamRequest,
): Promise<"legacy" | "modern" | Exclude<Result<EraVerdict>, { ok: true }>> {
  const found = await findWithin(eras.of(account), account, { signal, ms: timeoutMs });
  return found.ok ? found.value.era : found;
}

/** A pinned legacy upstream is not asked; a pinned modern one says who it is. */
function verdictOn(
  { link, pinned, eras }: Known,
  account: OnAccountOf,
  signal: Cancellation,
): Promise<Result<EraVerdict>> {
  if (pinned === "legacy") return Promise.resolve(ok({ era: "legacy" }));
  return findWithin(eras.of(account), account, { signal, ms: 2 * link.timeouts.probeMs });
}

async function findWithin(
  era: Era,
  account: OnAccountOf,
  wait: { readonly signal: Cancellation; readonly ms: number },
): Promise<Result<EraVerdict>> {
  const found = await waitWithin(era.find(account), wait);
  if (found === "aborted") return refuse("CLIENT_GONE");
  return found === "timed-out" ? refuse("UPSTREAM_TIMED_OUT", { phase: "probe", ms: wait.ms }) : found;
}

async function identify(
  upstream: Known,
  sessions: LegacySessions,
  account: OnAccountOf,
  signal: Cancellation,
): Promise<Result<UpstreamIdentity>> {
  const { link, pinned, eras } = upstream;
  const ms = 2 * link.timeouts.probeMs;
  if (pinned !== "legacy") {
    const found = await findWithin(eras.of(account), account, { signal, ms });
    if (!found.ok) return found;
    if (found.value.era === "modern") return ok(found.value.identity);
    if (pinned === "modern") return refuse("UPSTREAM_REVISION_UNSUPPORTED", { upstream: link.upstream });
  }
  const acquired = await sessions.acquire(link, account, { signal, ms });
  if (!acquired.ok) return acquired;
  sessions.release(acquired.value);
  return ok(acquired.value.grant.identity);
}

function sampleOf(
  { upstream, method }: UpstreamRequest,
  answer: UpstreamAnswer,
  durationMs: number,
): Parameters<NonNullable<UpstreamsOptions["observe"]>>[0] {
  const failed = answer.kind === "failed";
  return {
    upstream,
    method,
    outcome: failed ? answer.outcome : answer.kind,
    code: failed ? answer.refusal.code : undefined,
    durationMs,
  };
}
