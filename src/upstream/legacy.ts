import { refuse } from "../model/refusal.ts";
import type { RefusalCode } from "../model/refusal.ts";
import { deliver } from "./deliver.ts";
import type { Delivered } from "./deliver.ts";
import { answerUpstreamRequest, cancelLegacy, legacyHeaders, writeLegacy } from "./legacy-hop.ts";
import type { HeldSession, LegacySessions } from "./legacy-sessions.ts";
import type { Link } from "./link.ts";
import type { UpstreamAnswer, UpstreamRequest } from "./port.ts";
import { takeProgress } from "./progress.ts";
import type { Reply } from "./reply.ts";
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
  const until = link.now() + Math.min(request.timeoutMs, link.timeouts.callMs);
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
  const wait = { signal: request.signal, ms: Math.max(1, until - link.now()) };
  const acquired = await sessions.acquire(link, request.account, wait);
  if (!acquired.ok) return failedBefore(link, acquired.refusal);
  const session = acquired.value;
  const { reply, id } = await exchange(link, session, request, until);
  sessions.release(session);
  if (isSessionLost(reply)) {
    sessions.lose(session);
    return "session-lost";
  }
  if (wasGivenUp(reply)) void tell(link, "cancel", cancelLegacy(link, session.grant, id));
  return toAnswer(reply, { upstream: link.upstream, method: request.method, hop: session.grant.identity.hop });
}

function exchange(link: Link, { grant }: HeldSession, request: UpstreamRequest, until: number): Promise<Delivered> {
  const headers = legacyHeaders(grant);
  return deliver(link, {
    method: "POST",
    lane: "calls",
    expectsAnswer: true,
    until,
    signal: request.signal,
    write: (id) => writeLegacy(headers, id, request),
    onNotification: (notification, id) => {
      takeProgress(notification, id, request);
    },
    onRequest: (asked) => void tell(link, "answer", answerUpstreamRequest(link, grant, asked)),
  });
}

/**
 * A 404 means that the session is gone (2025-11-25, transports, "Session Management"), unless it answers this
 * very request with −32601. Many servers say 400 with −32000 and no id instead, as the examples they were
 * made from do. Neither was executed: the request never reached a session.
 */
function isSessionLost(reply: Reply): boolean {
  if (reply.kind === "response") {
    return reply.status === 404 && !("error" in reply.response && reply.response.error.code === -32601);
  }
  if (reply.kind !== "status") return false;
  return reply.status === 404 || (reply.status === 400 && reply.error?.code === -32000);
}

/** Sent, and no longer waited for. */
function wasGivenUp(reply: Reply): boolean {
  const code = reply.kind === "none" && reply.sent ? reply.refusal.code : undefined;
  return code === "CLIENT_GONE" || code === "UPSTREAM_TIMED_OUT";
}

function meansOtherEra(code: RefusalCode): boolean {
  return code === "UPSTREAM_REVISION_UNSUPPORTED" || code === "UPSTREAM_STATUS_UNEXPECTED";
}

function failedBefore(link: Link, refusal: Extract<UpstreamAnswer, { kind: "failed" }>["refusal"]): UpstreamAnswer {
  const facts = { upstream: link.upstream, ...refusal.facts };
  return { kind: "failed", outcome: "failed", refusal: { ...refusal, facts }, hop: undefined };
}

/** For what is sent beside the exchange: its failure changes nothing but is seen. */
async function tell(link: Link, what: string, sent: ReturnType<typeof cancelLegacy>): Promise<void> {
  const told = await sent;
  if (!told.ok) link.log("upstream-notice-failed", { upstream: link.upstream, what, code: told.refusal.code });
}
