import { ExactNumber, isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import type { RpcError, RpcId, RpcMessage, RpcResponse } from "../model/rpc.ts";

/**
 * Reads one JSON-RPC 2.0 message as MCP has it (basic, "Messages"). Refused as `RPC_MESSAGE_INVALID`, with
 * a fact `reason`:
 *
 * - a `jsonrpc` other than `"2.0"`; a `method` that is no non-empty string;
 * - an id that is neither string nor integer. `null`, `true` and `1.5` are refused, as is a result without
 *   id; an error may lack it or have `null`, for its sender may not have been able to read one;
 * - both `result` and `error`, or either next to `method`; a result that is no object; an error whose
 *   `code` is no integer or whose `message` is no string;
 * - members that JSON-RPC does not define. `Method` next to `method` is how two readers come to see two
 *   messages, and the SDKs' servers refuse such members too.
 *
 * `params` that are no object are refused as `RPC_PARAMS_INVALID`: MCP has no positional parameters.
 *
 * Not checked: whether the method exists, and what its parameters or results hold.
 */
export function readMessage(value: Json): Result<RpcMessage> {
  if (!isJsonObject(value)) return invalid("not-an-object");
  if (readOwn(value, "jsonrpc") !== "2.0") return invalid("version");
  if (Object.hasOwn(value, "method")) return readMethod(value);
  if (Object.hasOwn(value, "result")) return readResult(value);
  if (Object.hasOwn(value, "error")) return readError(value);
  return invalid("neither-method-nor-answer");
}

/** The id to echo in an error about `value`, when `value` has a valid one. For whatever failed to be read. */
export function idOf(value: Json): RpcId | undefined {
  const id = readOwn(value, "id");
  return isRpcId(id) ? id : undefined;
}

/** Same JSON type and same value: `1` and `"1"` are different ids. Exact numbers compare by their digits. */
export function sameId(left: RpcId | undefined, right: RpcId | undefined): boolean {
  if (left instanceof ExactNumber && right instanceof ExactNumber) return left.source === right.source;
  return left !== undefined && left === right;
}

export function resultMessage(id: RpcId, result: JsonObject): JsonObject {
  return { jsonrpc: "2.0", id, result };
}

/** Without an id when none could be read (basic, "Error Responses"). */
export function errorMessage(id: RpcId | undefined, { code, message, data }: RpcError): JsonObject {
  const error: JsonObject = data === undefined ? { code, message } : { code, message, data };
  return id === undefined ? { jsonrpc: "2.0", error } : { jsonrpc: "2.0", id, error };
}

export function requestMessage(id: RpcId, method: string, params: JsonObject | undefined): JsonObject {
  return params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params };
}

export function notificationMessage(method: string, params: JsonObject | undefined): JsonObject {
  return params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
}

/**
 * A string of no more than `rpcIdCharsMax` characters, for ids are kept, and some cross to other replicas; or an
 * integer. An `ExactNumber` counts when its digits spell one.
 */
export function isRpcId(value: Json | undefined): value is RpcId {
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.source);
  if (typeof value === "string") return value.length <= limits.rpcIdCharsMax;
  return typeof value === "number" && Number.isInteger(value);
}

const methodMembers = new Set(["jsonrpc", "id", "method", "params"]);
const resultMembers = new Set(["jsonrpc", "id", "result"]);
const errorMembers = new Set(["jsonrpc", "id", "error"]);

function readMethod(value: JsonObject): Result<RpcMessage> {
  if (Object.hasOwn(value, "result") || Object.hasOwn(value, "error")) return invalid("method-and-answer");
  if (!hasOnly(value, methodMembers)) return invalid("unknown-member");
  const method = readOwn(value, "method");
  if (typeof method !== "string" || method === "") return invalid("method");
  const id = readOwn(value, "id");
  if (id !== undefined && !isRpcId(id)) return invalid("id");
  const params = readOwn(value, "params");
  if (params !== undefined && !isJsonObject(params)) return refuse("RPC_PARAMS_INVALID", { reason: "not-an-object" });
  return ok(id === undefined ? { kind: "notification", method, params } : { kind: "request", id, method, params });
}

function readResult(value: JsonObject): Result<RpcResponse> {
  if (Object.hasOwn(value, "error")) return invalid("result-and-error");
  if (!hasOnly(value, resultMembers)) return invalid("unknown-member");
  const id = readOwn(value, "id");
  if (!isRpcId(id)) return invalid("id");
  const result = readOwn(value, "result");
  return isJsonObject(result) ? ok({ kind: "response", id, result }) : invalid("result");
}

function readError(value: JsonObject): Result<RpcResponse> {
  if (!hasOnly(value, errorMembers)) return invalid("unknown-member");
  const id = readOwn(value, "id") ?? undefined;
  if (id !== undefined && !isRpcId(id)) return invalid("id");
  const error = readOwn(value, "error");
  const code = readOwn(error, "code");
  const message = readOwn(error, "message");
  if (typeof code !== "number" || !Number.isInteger(code) || typeof message !== "string") return invalid("error");
  const data = readOwn(error, "data");
  return ok({ kind: "response", id, error: data === undefined ? { code, message } : { code, message, data } });
}

function hasOnly(value: JsonObject, members: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => members.has(key));
}

function invalid(reason: string): Refused {
  return refuse("RPC_MESSAGE_INVALID", { reason });
}
