import { refuse } from "../model/refusal.ts";
import type { RefusalCode } from "../model/refusal.ts";
import { seen } from "./asking.ts";
import { declaredFor } from "./declared.ts";
import { exchangeLegacy } from "./legacy-exchange.ts";
import { cancelLegacy } from "./legacy-hop.ts";
import type { LegacySessions } from "./legacy-sessions.ts";
import { ensureLogLevel } from "./log-level.ts";
import type { Link } from "./link.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./port.ts";
import type { Reply } from "./reply.ts";
import { callMsOf } from "./deadlines.ts";
import { toAnswer } from "./verdict.ts";

/**
 * One request within the account's session. When the upstream has forgotten the session it did not execute
 * the request: a new session is opened, once, and the request is sent again. An abort or a timeout is told to
 * the upstream with `notifications/cancelled` and its own id. `stale` is called when no session can be opened
 * because the upstream no longer speaks this era.
 */
export async function requestLegacy(
  link: Link,
  sessions: LegacySessions,
  request: UpstreamRequest,
  stale: () => void,
): Promise<UpstreamAnswer> {
  const until = link.now() + callMsOf(link, request);
  const first = await attempt(link, sessions, request, until);
  const last = first === "session-lost" ? await attempt(link, sessions, request, until) : first;
  if (last === "session-lost") return failedBefore(link, refuse("UPSTREAM_SESSION_LOST").refusal);
  if (last.kind === "failed" && last.hop === undefined && meansOtherEra(last.refusal.code)) stale();
  return last;
}

async function attempt(
  link: Link,
  sessions: LegacySessions,
  request: UpstreamRequest,
  until: number,
): Promise<UpstreamAnswer | "session-lost"> {
  const declared = declaredFor(request.account, request.clientCapabilities);
  const wanted = { signal: request.signal, ms: Math.max(1, until - link.now()), declared };
  const acquired = await sessions.acquire(link, request.account, wanted);
  if (!acquired.ok) return failedBefore(link, acquired.refusal);
  const session = acquired.value;
  if (request.logLevel !== undefined) {
    await ensureLogLevel(link, sessions, session, { logLevel: request.logLevel, signal: request.signal, until });
  }
  const { reply, id } = await exchangeLegacy(link, session, request, until);
  sessions.release(session);
  if (isSessionLost(reply)) {
    sessions.lose(session);
    return "session-lost";
  }
  if (wasGivenUp(reply)) void seen(link, "cancel", cancelLegacy(link, session, id));
  return toAnswer(reply, { upstream: link.upstream, method: request.method, hop: session.grant.identity.hop });
}

/**
 * A 404 means that the session is gone (2025-11-25, transports, "Session Management"), unless it answers this
 * very request, by its id, with anything but what servers say of an unknown session. Many servers say 400 with −32000 and no id instead, as the examples they were
 * made from do. Neither was executed: the request never reached a session.
 */
export function isSessionLost(reply: Reply): boolean {
  if (reply.kind === "response") {
    return reply.status === 404 && "error" in reply.response && ofUnknownSession.has(reply.response.error.code);
  }
  if (reply.kind !== "status") return false;
  return reply.status === 404 || (reply.status === 400 && reply.error?.code === -32000);
}

const ofUnknownSession: ReadonlySet<number> = new Set([-32000, -32001]);

/** Sent, and no longer waited for. */
function wasGivenUp(reply: Reply): boolean {
  const code = reply.kind === "none" && reply.sent ? reply.refusal.code : undefined;
  return code === "CLIENT_GONE" || code === "UPSTREAM_TIMED_OUT";
}

export function meansOtherEra(code: RefusalCode): boolean {
  return code === "UPSTREAM_REVISION_UNSUPPORTED" || code === "UPSTREAM_STATUS_UNEXPECTED";
}

function failedBefore(link: Link, refusal: Extract<UpstreamAnswer, { kind: "failed" }>["refusal"]): UpstreamAnswer {
  const facts = { upstream: link.upstream, ...refusal.facts };
  return { kind: "failed", outcome: "failed", refusal: { ...refusal, facts }, hop: undefined };
}
