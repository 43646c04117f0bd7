import type { Cancellation } from "../model/cancellation.ts";
import type { JsonObject } from "../model/json.ts";
import { ok } from "../model/result.ts";
import { refuse } from "../model/refusal.ts";
import type { Result } from "../model/result.ts";
import { createEra } from "./era.ts";
import type { Era, EraVerdict } from "./era.ts";
import { createLegacySessions } from "./legacy-sessions.ts";
import type { LegacySessions } from "./legacy-sessions.ts";
import { requestLegacy } from "./legacy.ts";
import { createLink } from "./create-link.ts";
import type { Link } from "./link.ts";
import { requestModern } from "./modern.ts";
import type { UpstreamOptions, UpstreamsOptions } from "./options.ts";
import type { OnAccountOf, UpstreamAnswer, UpstreamIdentity, UpstreamRequest, Upstreams } from "./port.ts";
import { createSessionStore } from "./session-store.ts";
import { waitWithin } from "./single-flight.ts";

/** One upstream and what is remembered of it. */
interface Known {
  readonly link: Link;
  readonly pinned: "auto" | "legacy" | "modern";
  readonly era: Era;
}

/**
 * The upstreams of a configuration, as the port describes them. Throws for a URL, an address setting or a
 * credential header that cannot be used; a request to an upstream that is not configured rejects, as it is a
 * fault of the caller. Nothing is dialled before the first request. `close` ends timers and connections.
 */
export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { records, limits, now, log } = options;
  const nextId = createIds(options.randomId());
  const clientInfo: JsonObject = { name: options.gatewayInfo.name, version: options.gatewayInfo.version };
  const known = new Map<string, Known>();
  for (const [name, upstream] of Object.entries(options.upstreams)) {
    known.set(name, knownOf(createLink({ name, upstream, limits, now, log, nextId, clientInfo }), upstream));
  }
  const sessions = createLegacySessions(createSessionStore(records, limits.upstreamSessionIdleMs, log), limits, now);
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
      const answer = await perform(find(request.upstream), sessions, request);
      if (options.observe !== undefined) options.observe(sampleOf(request, answer, performance.now() - startedAt));
      return answer;
    },
    identify: (name, account, signal) => identify(find(name), sessions, account, signal),
    async endSessions(tenant, clientSession) {
      const links = [...known.values()].filter(maySpeakLegacy).map(({ link }) => link);
      await sessions.end(links, tenant, clientSession);
    },
    async close() {
      clearInterval(sweeper);
      sessions.clear();
      await Promise.all([...known.values()].map(({ link }) => link.pools.close()));
    },
  };
}

function knownOf(link: Link, { era: pinned = "auto" }: UpstreamOptions): Known {
  return { link, pinned, era: createEra(link) };
}

function maySpeakLegacy({ pinned, era }: Known): boolean {
  return pinned === "legacy" || (pinned === "auto" && era.known?.era !== "modern");
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
  const era = eraWithoutAsking(upstream);
  if (era !== undefined) return performIn(era, upstream, sessions, request);
  return findEra(upstream, request.signal, request.timeoutMs).then((found) =>
    performIn(found, upstream, sessions, request),
  );
}

function performIn(
  era: Awaited<ReturnType<typeof findEra>>,
  upstream: Known,
  sessions: LegacySessions,
  request: UpstreamRequest,
): Promise<UpstreamAnswer> {
  const stale = (): void => {
    upstream.era.forget();
  };
  if (era === "legacy") return requestLegacy(upstream.link, sessions, request, stale);
  if (era === "modern") return requestModern(upstream.link, request, stale);
  const { refusal } = era;
  const facts = { upstream: upstream.link.upstream, ...refusal.facts };
  return Promise.resolve({ kind: "failed", outcome: "failed", refusal: { ...refusal, facts }, hop: undefined });
}

function eraWithoutAsking({ pinned, era }: Known): "legacy" | "modern" | undefined {
  return pinned === "auto" ? era.known?.era : pinned;
}

async function findEra(
  { era }: Known,
  signal: Cancellation,
  ms: number,
): Promise<"legacy" | "modern" | Exclude<Result<EraVerdict>, { ok: true }>> {
  const found = await findWithin(era, signal, ms);
  return found.ok ? found.value.era : found;
}

async function findWithin(era: Era, signal: Cancellation, ms: number): Promise<Result<EraVerdict>> {
  const found = await waitWithin(era.find(), { signal, ms });
  if (found === "aborted") return refuse("CLIENT_GONE");
  return found === "timed-out" ? refuse("UPSTREAM_TIMED_OUT", { phase: "probe", ms }) : found;
}

async function identify(
  upstream: Known,
  sessions: LegacySessions,
  account: OnAccountOf,
  signal: Cancellation,
): Promise<Result<UpstreamIdentity>> {
  const { link, pinned, era } = upstream;
  const ms = 2 * link.timeouts.probeMs;
  if (pinned !== "legacy") {
    const found = await findWithin(era, signal, ms);
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
