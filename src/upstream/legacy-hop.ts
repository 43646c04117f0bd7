import { readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { isLegacyRevision } from "../model/revision.ts";
import type { LegacyRevision } from "../model/revision.ts";
import type { RpcRequest } from "../model/rpc.ts";
import { errorMessage, notificationMessage, requestMessage, resultMessage } from "../protocol/jsonrpc.ts";
import { writeJson } from "../protocol/json/write.ts";
import { deliver } from "./deliver.ts";
import type { Delivery, Written } from "./deliver.ts";
import { withHopMeta } from "./hop-meta.ts";
import { identityFromInitialize } from "./identity.ts";
import type { Link } from "./link.ts";
import type { UpstreamIdentity, UpstreamRequest } from "./port.ts";
import { progressMeta } from "./progress.ts";
import { faultOf } from "./verdict.ts";

/** A legacy session as the upstream granted it. Without `id` the upstream keeps none (sessions are optional). */
export interface LegacyGrant {
  readonly id: string | undefined;
  readonly revision: LegacyRevision;
  readonly identity: UpstreamIdentity;
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
 * Opens a session: `initialize`, then `notifications/initialized`. No client capability is declared, so the
 * upstream has nothing to ask the client for. Refuses with UPSTREAM_REVISION_UNSUPPORTED for a revision the
 * gateway does not speak, UPSTREAM_ANSWER_INVALID for a session id no header can carry, and whatever the
 * exchange failed with.
 */
export async function openLegacySession(link: Link): Promise<Result<LegacyGrant>> {
  const { reply } = await deliver(link, {
    ...control(link),
    expectsAnswer: true,
    write: (id) => ({
      headers: postHeaders,
      body: writeJson(requestMessage(id, "initialize", initializeParams(link))),
    }),
  });
  const fault = faultOf(reply);
  if (fault !== undefined) return { ok: false, refusal: fault.refusal };
  if (reply.kind !== "response") return refuse("UPSTREAM_ANSWER_INVALID", { reason: reply.kind });
  if ("error" in reply.response) return initializeRefused(reply.response.error.code);
  const granted = readGrant(link, reply.response.result, reply.sessionId);
  if (!granted.ok) return granted;
  const told = await notify(link, granted.value, notificationMessage("notifications/initialized", undefined));
  return told.ok ? granted : told;
}

function initializeParams({ clientInfo }: Link): JsonObject {
  return { protocolVersion: askedRevision, capabilities: {}, clientInfo };
}

/** −32601 and −32022 to `initialize` come from servers that have no legacy era. */
function initializeRefused(rpcCode: number): Result<LegacyGrant> {
  const noLegacy = rpcCode === -32601 || rpcCode === -32022;
  return refuse(noLegacy ? "UPSTREAM_REVISION_UNSUPPORTED" : "UPSTREAM_ANSWER_INVALID", {
    method: "initialize",
    rpcCode,
  });
}

function readGrant(link: Link, result: JsonObject, id: string | undefined): Result<LegacyGrant> {
  const revision = readOwnString(result, "protocolVersion");
  if (revision === undefined || !isLegacyRevision(revision)) return refuse("UPSTREAM_REVISION_UNSUPPORTED", {});
  if (id !== undefined && !isSessionId(id, link)) return refuse("UPSTREAM_ANSWER_INVALID", { reason: "session id" });
  return ok({ id, revision, identity: identityFromInitialize(result, { era: "legacy", revision }) });
}

/** Visible ASCII (2025-11-25, transports, "Session Management"), within a bound. */
export function isSessionId(id: string, { limits }: Pick<Link, "limits">): boolean {
  return id.length <= limits.upstreamSessionIdCharsMax && /^[\x21-\x7e]+$/.test(id);
}

/** Sends a message that expects no answer; any 2xx will do, whatever body comes with it. */
async function notify(link: Link, grant: LegacyGrant, message: JsonObject): Promise<Result<void>> {
  const { reply } = await deliver(link, {
    ...control(link),
    expectsAnswer: false,
    write: () => ({ headers: legacyHeaders(grant), body: writeJson(message) }),
  });
  const fault = faultOf(reply);
  return fault === undefined ? ok(undefined) : { ok: false, refusal: fault.refusal };
}

/**
 * Answers a request that the upstream sent to the client, so that it is not left hanging. `ping` is answered
 * (2025-11-25, "Ping"); nothing else can be asked of a client that declared no capability.
 */
export function answerUpstreamRequest(
  link: Link,
  grant: LegacyGrant,
  { id, method }: RpcRequest,
): Promise<Result<void>> {
  const unsupported = { code: -32601, message: "Method not found" };
  return notify(link, grant, method === "ping" ? resultMessage(id, {}) : errorMessage(id, unsupported));
}

/** Tells the upstream that nobody waits for `requestId` any more (2025-11-25, "Cancellation"). */
export function cancelLegacy(link: Link, grant: LegacyGrant, requestId: string): Promise<Result<void>> {
  return notify(link, grant, notificationMessage("notifications/cancelled", { requestId }));
}

/** Ends a session (2025-11-25, transports, "Session Management"). A server may refuse with 405; nothing depends on it. */
export async function deleteLegacySession(link: Link, grant: LegacyGrant): Promise<void> {
  if (grant.id === undefined) return;
  await deliver(link, {
    ...control(link),
    method: "DELETE",
    expectsAnswer: false,
    write: () => ({ headers: legacyHeaders(grant).slice(2), body: null }),
  });
}

function control(link: Link): Pick<Delivery, "method" | "lane" | "until"> {
  return { method: "POST", lane: "control", until: link.now() + link.timeouts.probeMs };
}
