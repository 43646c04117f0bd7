import { readOwnString } from "../../model/json.ts";
import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Refused, Result } from "../../model/result.ts";
import type { RpcNotification, RpcRequest } from "../../model/rpc.ts";
import { decodeHeaderValue, encodeHeaderValue, trimOws } from "./header-value.ts";

/** What a request says in its MCP headers, each value as received. */
export interface McpHeaders {
  /** `MCP-Protocol-Version`. */
  readonly protocolVersion?: string | undefined;
  /** `Mcp-Method`. */
  readonly method?: string | undefined;
  /** `Mcp-Name`. */
  readonly name?: string | undefined;
  /** `Mcp-Session-Id`. */
  readonly sessionId?: string | undefined;
  /** Every `Mcp-Param-*` header by the rest of its name, in lower case: `region`. */
  readonly params: Readonly<Record<string, string>>;
  /**
   * Lower-case names of MCP headers that came more than once; none may. Only raw headers tell: joined by a
   * comma, two values look like one that has a comma in it, and readers on the way may have taken either.
   */
  readonly repeated?: readonly string[];
}

/** Which parameter `Mcp-Name` mirrors (2026-07-28, Streamable HTTP, "Standard Request Headers"). */
const nameSources: ReadonlyMap<string, "name" | "uri" | "taskId"> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  // The tasks extension, "Streamable HTTP: Routing Headers".
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** The value of `Mcp-Name` for a tool's or prompt's name or a resource's URI. */
export function encodeMcpName(name: string): string {
  return encodeHeaderValue(name);
}

/**
 * Holds `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` of a modern message to its body: `claimed` is
 * the version in the body's `_meta`. On a request all must be there, `Mcp-Name` where the method has one;
 * the revision requires none on a notification, so there only those present are compared. Values compare
 * case-sensitively, `Mcp-Name` after decoding.
 *
 * Refuses with `HEADER_MISMATCH` (−32020, HTTP 400), naming the header in the fact `header`. Not checked:
 * whether the version is supported; `Mcp-Name` on methods that have none; `Mcp-Param-*`.
 */
export function checkStandardHeaders(
  headers: McpHeaders,
  message: RpcRequest | RpcNotification,
  claimed: string,
): Result<void> {
  const version = headers.protocolVersion;
  if (version === undefined && message.kind === "request") return mismatch("mcp-protocol-version", "missing");
  if (version !== undefined && trimOws(version) !== claimed) return mismatch("mcp-protocol-version", "differs");
  if (headers.method === undefined && message.kind === "request") return mismatch("mcp-method", "missing");
  if (headers.name === undefined && message.kind === "request" && bodyName(message) !== undefined) {
    return mismatch("mcp-name", "missing");
  }
  return checkVolunteeredHeaders(headers, message);
}

/**
 * The part that holds in every era: whatever MCP header was sent agrees with the body and was sent once.
 * Legacy revisions know neither `Mcp-Method` nor `Mcp-Name`, but a proxy on the way may have believed them.
 */
export function checkVolunteeredHeaders(headers: McpHeaders, message: RpcRequest | RpcNotification): Result<void> {
  const repeated = headers.repeated?.[0];
  if (repeated !== undefined) return mismatch(repeated, "repeated");
  if (headers.method !== undefined && trimOws(headers.method) !== message.method)
    return mismatch("mcp-method", "differs");
  if (headers.name === undefined || !nameSources.has(message.method)) return ok(undefined);
  const decoded = decodeHeaderValue(headers.name);
  if (decoded === undefined) return mismatch("mcp-name", "malformed");
  return decoded === bodyName(message) ? ok(undefined) : mismatch("mcp-name", "differs");
}

function bodyName({ method, params }: RpcRequest | RpcNotification): string | undefined {
  const source = nameSources.get(method);
  return source === undefined ? undefined : readOwnString(params, source);
}

function mismatch(header: string, problem: "missing" | "differs" | "malformed" | "repeated"): Refused {
  return refuse("HEADER_MISMATCH", { header, problem });
}
