import { readOwn } from "../model/json.ts";
import { isAtLeast, isLogLevel } from "../model/log-level.ts";
import type { RpcNotification } from "../model/rpc.ts";
import type { UpstreamRequest } from "./port.ts";

/**
 * Hands on a log message of the level that the exchange asks for, or a more severe one. Others reach nobody: a
 * legacy session may have been told a lower level for an exchange beside this one, and a level that no revision
 * knows compares with nothing.
 */
export function takeLog(
  { method, params }: RpcNotification,
  { onLog, logLevel }: Pick<UpstreamRequest, "onLog" | "logLevel">,
): void {
  if (onLog === undefined || logLevel === undefined) return;
  if (method !== "notifications/message" || params === undefined) return;
  const level = readOwn(params, "level");
  if (isLogLevel(level) && isAtLeast(level, logLevel)) onLog(params);
}
