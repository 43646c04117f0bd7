import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import type { Era } from "../model/revision.ts";
import type { RpcError } from "../model/rpc.ts";
import { cacheableMethods } from "./client-codec.ts";
import { withoutHopMeta, withoutKeys } from "./hop-meta.ts";

/**
 * An upstream's result, freed of its hop: without `resultType`, without the upstream's caching hints (an
 * upstream that calls something public is no proof), without who served it. Everything else survives.
 *
 * Refuses with `UPSTREAM_INPUT_REQUIRED` when the upstream asks for input, which nobody behind this hop can
 * give, and with `UPSTREAM_ANSWER_INVALID` when the result's type is unknown on a modern hop (2026-07-28,
 * basic, "ResultType") or its shape is not that of the method. An absent type is `complete`. On a legacy hop
 * `resultType` is a key nobody defined; it is removed all the same, since a modern client would believe it.
 */
export function upstreamResult(hop: { readonly era: Era }, method: string, result: JsonObject): Result<JsonObject> {
  const type = readOwn(result, "resultType");
  if (type === "input_required") return refuse("UPSTREAM_INPUT_REQUIRED", { method });
  if (hop.era === "modern" && type !== undefined && type !== "complete") return invalid(method, "resultType");
  const shape = checkResultShape(method, result);
  if (!shape.ok) return shape;
  const hints = cacheableMethods.has(method) ? ["resultType", "ttlMs", "cacheScope"] : ["resultType"];
  return ok(withoutKeys(withoutHopMeta(result), hints));
}

/** The member that makes a method's result one; its elements are objects in every revision. */
const requiredLists: ReadonlyMap<string, string> = new Map([
  ["tools/list", "tools"],
  ["resources/list", "resources"],
  ["resources/templates/list", "resourceTemplates"],
  ["prompts/list", "prompts"],
  ["tools/call", "content"],
  ["resources/read", "contents"],
  ["prompts/get", "messages"],
]);

/**
 * Whether a result is the kind of result that its method has. It stands against answers such as `{}` that a
 * lost session or a proxy's error page turns into; they must not pass for an empty success.
 *
 * The schema's required list must be there, an array. Of calls, reads and prompts its elements must be
 * objects; of lists they may be anything, so that one bad item does not take the others with it. A tool
 * result with `structuredContent` may lack `content`: the revisions require it, but SDK clients fill it in
 * and so servers omit it. `_meta` must be an object, `isError` a boolean, `nextCursor` a string or `null`,
 * when there.
 *
 * Refuses with `UPSTREAM_ANSWER_INVALID`, naming the member in the fact `member`. Not checked: what the
 * elements hold, a tool's output schema, and methods without a list.
 */
export function checkResultShape(method: string, result: JsonObject): Result<void> {
  const meta = readOwn(result, "_meta");
  if (meta !== undefined && !isJsonObject(meta)) return invalid(method, "_meta");
  if (method === "completion/complete" && !isCompletion(readOwn(result, "completion")))
    return invalid(method, "completion");
  const member = requiredLists.get(method);
  if (member === undefined) return ok(undefined);
  const list = readOwn(result, member);
  if (list === undefined ? !mayLackContent(method, result) : !isListFor(method, list)) return invalid(method, member);
  if (method === "tools/call" && !isBooleanOrAbsent(readOwn(result, "isError"))) return invalid(method, "isError");
  if (method.endsWith("/list") && !isCursor(readOwn(result, "nextCursor"))) return invalid(method, "nextCursor");
  return ok(undefined);
}

function isCompletion(value: Json | undefined): boolean {
  const values = readOwn(value, "values");
  return Array.isArray(values) && values.every((one) => typeof one === "string");
}

function mayLackContent(method: string, result: JsonObject): boolean {
  return method === "tools/call" && Object.hasOwn(result, "structuredContent");
}

function isListFor(method: string, value: Json): boolean {
  return Array.isArray(value) && (method.endsWith("/list") || value.every(isJsonObject));
}

function isBooleanOrAbsent(value: Json | undefined): boolean {
  return value === undefined || typeof value === "boolean";
}

function isCursor(value: Json | undefined): boolean {
  return value === undefined || value === null || typeof value === "string";
}

function invalid(method: string, member: string): Refused {
  return refuse("UPSTREAM_ANSWER_INVALID", { method, member });
}

const invalidParams = -32602;
const internalError = -32603;
const legacyResourceNotFound = -32002;

/**
 * An upstream's error as a client of `clientEra` may get it. The message stays; whoever delivers it cleans
 * it like any upstream text. `data` stays too, but for errors about the hop.
 *
 * - −32020 to −32099 are about headers, versions and capabilities of the hop between gateway and upstream.
 *   The client would take them for its own, so they become −32603. −32042 is among them: it asks the person
 *   to open URLs (2025-11-25, elicitation, "URL mode"), which an upstream must not do that was told of no such
 *   capability, and which nobody here judges.
 * - A missing resource is −32602 in the modern era, −32002 with `data.uri` before it (2026-07-28, resources,
 *   "Error Handling"). A modern −32602 is known to mean it by its `data.uri`.
 * - A modern client never gets −32000 to −32019 (basic, "Error Codes"); they become −32603.
 */
export function upstreamErrorFor(clientEra: Era, method: string, error: RpcError): RpcError {
  const { code, message } = error;
  if (isAboutHop(code)) return { code: internalError, message };
  const translated = clientEra === "modern" ? modernCode(code) : legacyCode(method, error);
  return translated === code ? error : { ...error, code: translated };
}

function isAboutHop(code: number): boolean {
  return code <= -32020 && code >= -32099;
}

function modernCode(code: number): number {
  if (code === legacyResourceNotFound) return invalidParams;
  return code <= -32000 && code >= -32019 ? internalError : code;
}

function legacyCode(method: string, { code, data }: RpcError): number {
  const missing = method === "resources/read" && code === invalidParams && readOwnString(data, "uri") !== undefined;
  return missing ? legacyResourceNotFound : code;
}
