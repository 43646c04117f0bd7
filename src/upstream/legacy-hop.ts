import { readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { isLegacyRevision } from "../model/revision.ts";
import type { LegacyRevision } from "../model/revision.ts";
import type { RpcId } from "../model/rpc.ts";
import { errorMessage, notificationMessage, requestMessage, resultMessage } from "../protocol/jsonrpc.ts";
import { writeJson } from "../protocol/json/write.ts";
import { deliver } from "./deliver.ts";
import type { Delivery, Written } from "./deliver.ts";
import { withHopMeta } from "./hop-meta.ts";
import { identityFromInitialize } from "./identity.ts";
import type { Link } from "./link.ts";
import type { AskedAnswer, OnAccountOf, UpstreamIdentity, UpstreamRequest } from "./port.ts";
import { progressMeta } from "./progress.ts";
import { faultOf } from "./verdict.ts";

/** A legacy session as the upstream granted it. Without `id` the upstream keeps none (sessions are optional). */
export interface LegacyGrant {
  readonly id: string | undefined;
  readonly revision: LegacyRevision;
  readonly identity: UpstreamIdentity;
  /** The client capabilities that it was opened with. */
  readonly declared: JsonObject;
}

/** A session with whose it is: what is sent in it shows the credential of that account. */
export interface SessionOf {
  readonly grant: LegacyGrant;
  readonly account: OnAccountOf;
}

/** What the gateway asks for; a server that does not know it answers with one it does (2025-11-25, lifecycle). */
const askedRevision: LegacyRevision = "2025-11-25";

const postHeaders: readonly string[] = [
  "content-type",
  "application/json",
  "accept",
  "application/json, text/event-stream",
  "accept-encoding",
  "identity",
];

/** Headers of a message within a session: the negotiated revision, and the id where there is one. */
export function legacyHeaders({ id, revision }: Pick<LegacyGrant, "id" | "revision">): readonly string[] {
  const session = id === undefined ? [] : ["mcp-session-id", id];
  return [...postHeaders, "mcp-protocol-version", revision, ...session];
}

/** Headers of the GET that takes up a stream after `lastEventId` (2025-11-25, transports, "Resumability"). */
export function resumptionHeaders(
  { id, revision }: Pick<LegacyGrant, "id" | "revision">,
  lastEventId: string,
): string[] {
  const session = id === undefined ? [] : ["mcp-session-id", id];
  const head = ["accept", "text/event-stream", "accept-encoding", "identity", "mcp-protocol-version", revision];
  return [...head, ...session, "last-event-id", lastEventId];
}

export function writeLegacy(
  headers: readonly string[],
  id: string,
  { method, params, onProgress }: Pick<UpstreamRequest, "method" | "params" | "onProgress">,
): Written {
  return {
    headers,
    body: writeJson(requestMessage(id, method, withHopMeta(params, progressMeta(id, { onProgress })))),
  };
}

/**
 * Opens a session: `initialize`, then `notifications/initialized`. The upstream may ask the client for what is
 * `declared`, and for nothing else. Refuses with UPSTREAM_REVISION_UNSUPPORTED for a revision the
 * gateway does not speak, UPSTREAM_ANSWER_INVALID for a session id no header can carry, and whatever the
 * exchange failed with.
 */
export async function openLegacySession(
  link: Link,
  account: OnAccountOf,
  declared: JsonObject,
): Promise<Result<LegacyGrant>> {
  const { reply } = await deliver(link, {
    ...control(link),
    account,
    expectsAnswer: true,
    write: (id) => ({
      headers: postHeaders,
      body: writeJson(requestMessage(id, "initialize", initializeParams(link, declared))),
    }),
  });
  const fault = faultOf(reply);
  if (fault !== undefined) return { ok: false, refusal: fault.refusal };
  if (reply.kind !== "response") return refuse("UPSTREAM_ANSWER_INVALID", { reason: reply.kind });
  if ("error" in reply.response) return initializeRefused(reply.response.error.code);
  const granted = readGrant(link, reply.response.result, { id: reply.sessionId, declared });
  if (!granted.ok) return granted;
  const session = { grant: granted.value, account };
  const told = await notify(link, session, notificationMessage("notifications/initialized", undefined));
  return told.ok ? granted : told;
}

function initializeParams({ clientInfo }: Link, declared: JsonObject): JsonObject {
  return { protocolVersion: askedRevision, capabilities: declared, clientInfo };
}

/** −32601 and −32022 to `initialize` come from servers that have no legacy era. */
function initializeRefused(rpcCode: number): Result<LegacyGrant> {
  const noLegacy = rpcCode === -32601 || rpcCode === -32022;
  return refuse(noLegacy ? "UPSTREAM_REVISION_UNSUPPORTED" : "UPSTREAM_ANSWER_INVALID", {
    method: "initialize",
    rpcCode,
  });
}

function readGrant(
  link: Link,
  result: JsonObject,
  { id, declared }: Pick<LegacyGrant, "id" | "declared">,
): Result<LegacyGrant> {
  const revision = readOwnString(result, "protocolVersion");
  if (revision === undefined || !isLegacyRevision(revision)) return refuse("UPSTREAM_REVISION_UNSUPPORTED", {});
  if (id !== undefined && !isSessionId(id, link)) return refuse("UPSTREAM_ANSWER_INVALID", { reason: "session id" });
  return ok({ id, revision, identity: identityFromInitialize(result, { era: "legacy", revision }), declared });
}

/** Visible ASCII (2025-11-25, transports, "Session Management"), within a bound. */
export function isSessionId(id: string, { limits }: Pick<Link, "limits">): boolean {
  return id.length <= limits.upstreamSessionIdCharsMax && /^[\x21-\x7e]+$/.test(id);
}

/** Sends a message that expects no answer; any 2xx will do, whatever body comes with it. */
async function notify(link: Link, { grant, account }: SessionOf, message: JsonObject): Promise<Result<void>> {
  const { reply } = await deliver(link, {
    ...control(link),
    account,
    expectsAnswer: false,
    write: () => ({ headers: legacyHeaders(grant), body: writeJson(message) }),
  });
  const fault = faultOf(reply);
  return fault === undefined ? ok(undefined) : { ok: false, refusal: fault.refusal };
}

/** Answers a request that the upstream sent to the client, under its own id. */
export function answerUpstream(link: Link, session: SessionOf, id: RpcId, answer: AskedAnswer): Promise<Result<void>> {
  return notify(link, session, "result" in answer ? resultMessage(id, answer.result) : errorMessage(id, answer.error));
}

/** Tells the upstream that nobody waits for `requestId` any more (2025-11-25, "Cancellation"). */
export function cancelLegacy(link: Link, session: SessionOf, requestId: string): Promise<Result<void>> {
  return notify(link, session, notificationMessage("notifications/cancelled", { requestId }));
}

/** Ends a session (2025-11-25, transports, "Session Management"). A server may refuse with 405; nothing depends on it. */
export async function deleteLegacySession(link: Link, { grant, account }: SessionOf): Promise<void> {
  if (grant.id === undefined) return;
  await deliver(link, {
    ...control(link),
    account,
    method: "DELETE",
    expectsAnswer: false,
    write: () => ({ headers: legacyHeaders(grant).slice(2), body: null }),
  });
}

function control(link: Link): Pick<Delivery, "method" | "lane" | "until"> {
  return { method: "POST", lane: "control", until: link.now() + link.timeouts.probeMs };
}
