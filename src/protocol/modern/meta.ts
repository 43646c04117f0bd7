import { isJsonObject, readOwn } from "../../model/json.ts";
import type { JsonObject } from "../../model/json.ts";
import {
  clientCapabilitiesMetaKey,
  clientInfoMetaKey,
  logLevelMetaKey,
  protocolVersionMetaKey,
} from "../../model/identifiers.ts";
import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Refused, Result } from "../../model/result.ts";
import type { RpcId } from "../../model/rpc.ts";
import { isRpcId } from "../jsonrpc.ts";

/** What a modern request says of itself in `_meta` (2026-07-28, basic, "Per-request protocol fields"). */
export interface ModernMeta {
  readonly protocolVersion: string;
  /** What the client calls itself. Unverified: for display and logs, never for a decision. */
  readonly clientInfo: JsonObject | undefined;
  readonly clientCapabilities: JsonObject;
  readonly logLevel: string | undefined;
  readonly progressToken: RpcId | undefined;
}

const logLevels = new Set(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);

/** True when the parameters claim a protocol version of their own, well-formed or not. */
export function claimsVersion(params: JsonObject | undefined): boolean {
  return readOwn(readOwn(params, "_meta"), protocolVersionMetaKey) !== undefined;
}

/** The version that `_meta` claims, when it is a string. */
export function claimedVersion(params: JsonObject | undefined): string | undefined {
  const claimed = readOwn(readOwn(params, "_meta"), protocolVersionMetaKey);
  return typeof claimed === "string" ? claimed : undefined;
}

/**
 * Reads the per-request fields. Refuses with `META_INVALID` (−32602, HTTP 400), naming the key in the fact
 * `key`, when protocol version or client capabilities are missing, or when one of the five has the wrong
 * type. Not checked: whether the version is supported, what the capabilities hold, and other keys.
 */
export function readModernMeta(params: JsonObject | undefined): Result<ModernMeta> {
  const meta = readOwn(params, "_meta");
  if (!isJsonObject(meta)) return invalid("_meta", meta === undefined);
  const protocolVersion = readOwn(meta, protocolVersionMetaKey);
  if (typeof protocolVersion !== "string") return invalid(protocolVersionMetaKey, protocolVersion === undefined);
  const clientCapabilities = readOwn(meta, clientCapabilitiesMetaKey);
  if (!isJsonObject(clientCapabilities)) return invalid(clientCapabilitiesMetaKey, clientCapabilities === undefined);
  return readOptional(meta, { protocolVersion, clientCapabilities });
}

function readOptional(
  meta: JsonObject,
  { protocolVersion, clientCapabilities }: Pick<ModernMeta, "protocolVersion" | "clientCapabilities">,
): Result<ModernMeta> {
  const clientInfo = readOwn(meta, clientInfoMetaKey);
  if (clientInfo !== undefined && !isImplementation(clientInfo)) return invalid(clientInfoMetaKey, false);
  const logLevel = readOwn(meta, logLevelMetaKey);
  if (logLevel !== undefined && !isLogLevel(logLevel)) return invalid(logLevelMetaKey, false);
  const progressToken = readOwn(meta, "progressToken");
  if (progressToken !== undefined && !isRpcId(progressToken)) return invalid("progressToken", false);
  return ok({ protocolVersion, clientInfo, clientCapabilities, logLevel, progressToken });
}

function isImplementation(value: unknown): value is JsonObject {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    "version" in value &&
    typeof value.name === "string" &&
    typeof value.version === "string"
  );
}

function isLogLevel(value: unknown): value is string {
  return typeof value === "string" && logLevels.has(value);
}

function invalid(key: string, missing: boolean): Refused {
  return refuse("META_INVALID", { key, problem: missing ? "missing" : "wrong-type" });
}
