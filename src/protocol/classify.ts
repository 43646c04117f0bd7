import type { Json } from "../model/json.ts";
import { isLegacyRevision, isModernRevision, modernRevisions, revisions } from "../model/revision.ts";
import type { Era, Revision } from "../model/revision.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import type { RpcMessage, RpcNotification, RpcRequest, RpcResponse } from "../model/rpc.ts";
import { readMessage } from "./jsonrpc.ts";
import { hasLookAlike } from "./look-alike.ts";
import { clientMethods } from "./methods.ts";
import type { Column } from "./methods.ts";
import { trimOws } from "./modern/header-value.ts";
import { claimedVersion, claimsVersion, readModernMeta } from "./modern/meta.ts";
import type { ModernMeta } from "./modern/meta.ts";
import { checkStandardHeaders, checkVolunteeredHeaders } from "./modern/standard-headers.ts";
import type { McpHeaders } from "./modern/standard-headers.ts";

export type { McpHeaders } from "./modern/standard-headers.ts";

export interface Classified {
  readonly era: Era;
  readonly column: Column;
  readonly message: RpcMessage;
  /** Modern: the version claimed. Legacy: the header's, undefined without one and for `initialize`. */
  readonly revision: Revision | undefined;
  /** For modern requests alone. */
  readonly meta: ModernMeta | undefined;
  /** The `Mcp-Param-*` headers, to be held to the arguments once the tool is known. Empty in legacy. */
  readonly paramHeaders: Readonly<Record<string, string>>;
}

interface Posted<M extends RpcMessage> {
  readonly headers: McpHeaders;
  readonly message: M;
  /** `MCP-Protocol-Version` without white space around it. */
  readonly version: string | undefined;
}

/**
 * Decides era and column of a message that a client posted. The body is believed first: a request whose
 * `_meta` claims a version is modern, and its headers must agree (2026-07-28, versioning, "Backward
 * Compatibility"; Streamable HTTP, "Server Validation"). `initialize` is legacy unless all of a modern
 * `_meta` comes with it. The rungs stand in order; the pair is what the caller answers with:
 *
 * | refused | when | JSON-RPC code, HTTP status |
 * |---|---|---|
 * | `RPC_BATCH_REFUSED` | the value is an array; who serves 2025-03-26 takes it apart before | −32600, 400 |
 * | `RPC_MESSAGE_INVALID` | no JSON-RPC message; a request's method without id | −32600, 400 |
 * | `RPC_PARAMS_INVALID` | `params` is no object, or has a member that looks like one that is judged | −32602, 200 |
 * | `RPC_RESPONSE_UNEXPECTED` | a response under a modern version header | −32600, 400 |
 * | `HEADER_MISMATCH` | `initialize` under a modern version header; a header missing, repeated or unlike the body | −32020, 400 |
 * | `REVISION_UNSUPPORTED` | a version nobody here speaks; facts `supported`, `requested` | −32022, 400 |
 * | `META_INVALID` | modern, and `_meta` lacks what it must hold | −32602, 400 |
 * | `RPC_METHOD_UNKNOWN` | no such method in this era, fact `era` | −32601; modern 404, legacy 200 |
 *
 * Not checked: the session, the revision that it negotiated, and `Mcp-Param-*`, which need more than the
 * message. The headers decide nothing that the body decides too.
 */
export function classify(input: { readonly headers: McpHeaders; readonly message: Json }): Result<Classified> {
  if (isBatch(input.message)) return refuse("RPC_BATCH_REFUSED", { elements: input.message.length });
  const read = readMessage(input.message);
  if (!read.ok) return read;
  const { headers } = input;
  const version = headers.protocolVersion === undefined ? undefined : trimOws(headers.protocolVersion);
  const message = read.value;
  if (message.kind === "response") return classifyResponse({ headers, message, version });
  if (message.params !== undefined && hasLookAlike(message.params))
    return refuse("RPC_PARAMS_INVALID", { reason: "look-alike" });
  if (message.kind === "notification") return classifyNotification({ headers, message, version });
  return classifyRequest({ headers, message, version });
}

/** True for a JSON-RPC batch (JSON-RPC 2.0 §6), which MCP has in revision 2025-03-26 alone. */
export function isBatch(value: Json): value is Json[] {
  return Array.isArray(value);
}

function classifyResponse({ message, version }: Posted<RpcResponse>): Result<Classified> {
  if (version !== undefined && isModernRevision(version)) return refuse("RPC_RESPONSE_UNEXPECTED");
  const revision = readLegacyVersion(version);
  if (!revision.ok) return revision;
  return ok({
    era: "legacy",
    column: "notification",
    message,
    revision: revision.value,
    meta: undefined,
    paramHeaders: {},
  });
}

function classifyRequest(posted: Posted<RpcRequest>): Result<Classified> {
  const { headers, message, version } = posted;
  if (message.method === "initialize" && !carriesModernMeta(message)) {
    if (version !== undefined && isModernRevision(version)) {
      return refuse("HEADER_MISMATCH", { header: "mcp-protocol-version", problem: "initialize" });
    }
    // Its body negotiates; a version header here means nothing yet, whatever it says.
    const agreed = checkVolunteeredHeaders(headers, message);
    return agreed.ok ? placed({ era: "legacy", message, revision: undefined, meta: undefined }) : agreed;
  }
  const modern = claimsVersion(message.params) || (version !== undefined && isModernRevision(version));
  return modern ? classifyModernRequest(posted) : classifyLegacy(posted);
}

/**
 * The version is judged before the rest of `_meta`: what a version unknown here requires of `_meta` is
 * unknown too.
 */
function classifyModernRequest({ headers, message }: Posted<RpcRequest>): Result<Classified> {
  const claimed = claimedVersion(message.params);
  const agreed = claimed === undefined ? ok(undefined) : checkStandardHeaders(headers, message, claimed);
  if (!agreed.ok) return agreed;
  const revision = claimed !== undefined && isModernRevision(claimed) ? claimed : undefined;
  if (claimed !== undefined && revision === undefined) return unsupported(claimed);
  const meta = readModernMeta(message.params);
  if (!meta.ok) return meta;
  return placed({ era: "modern", message, revision, meta: meta.value, paramHeaders: headers.params });
}

/** The modern revision requires no metadata on notifications; a claim or a header suffices to make one modern. */
function classifyNotification(posted: Posted<RpcNotification>): Result<Classified> {
  const { headers, message, version } = posted;
  if (!message.method.startsWith("notifications/")) return refuse("RPC_MESSAGE_INVALID", { reason: "id-missing" });
  const claimed = claimedVersion(message.params);
  if (claimed === undefined && claimsVersion(message.params)) {
    return refuse("META_INVALID", { key: "protocolVersion", problem: "wrong-type" });
  }
  const modern = claimed ?? (version !== undefined && isModernRevision(version) ? version : undefined);
  if (modern === undefined) return classifyLegacy(posted);
  const agreed = checkStandardHeaders(headers, message, modern);
  if (!agreed.ok) return agreed;
  if (!isModernRevision(modern)) return unsupported(modern);
  return placed({ era: "modern", message, revision: modern, meta: undefined });
}

function classifyLegacy({ headers, message, version }: Posted<RpcRequest | RpcNotification>): Result<Classified> {
  const revision = readLegacyVersion(version);
  if (!revision.ok) return revision;
  const agreed = checkVolunteeredHeaders(headers, message);
  if (!agreed.ok) return agreed;
  return placed({ era: "legacy", message, revision: revision.value, meta: undefined });
}

/** Absent is fine: 2025-03-26 has no such header, and not every later client sends it. */
function readLegacyVersion(version: string | undefined): Result<Revision | undefined> {
  if (version === undefined || isLegacyRevision(version)) return ok(version);
  return unsupported(version);
}

interface Place extends Pick<Classified, "era" | "revision" | "meta"> {
  readonly message: RpcRequest | RpcNotification;
  readonly paramHeaders?: Readonly<Record<string, string>>;
}

/** Named one by one: the rest of a pattern and its spread cost 2 µs per request (Node 20). */
function placed({ era, message, revision, meta, paramHeaders = {} }: Place): Result<Classified> {
  if (message.kind === "notification")
    return ok({ era, column: "notification", message, revision, meta, paramHeaders });
  const method = clientMethods(era).get(message.method);
  if (method === undefined || method.column === "notification") return refuse("RPC_METHOD_UNKNOWN", { era });
  return ok({ era, column: method.column, message, revision, meta, paramHeaders });
}

function carriesModernMeta({ params }: RpcRequest): boolean {
  const claimed = claimedVersion(params);
  return claimed !== undefined && isModernRevision(claimed) && readModernMeta(params).ok;
}

/**
 * A legacy revision that is claimed per request is known but cannot be served that way, so only the modern
 * ones are offered in return; any other unknown version is offered all of them, newest first.
 */
function unsupported(requested: string): Refused {
  const supported = isLegacyRevision(requested) ? modernRevisions : revisions;
  return refuse("REVISION_UNSUPPORTED", { supported, requested: requested.slice(0, 64) });
}
