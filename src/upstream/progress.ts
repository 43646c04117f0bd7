import { readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { RpcNotification } from "../model/rpc.ts";
import { withoutKeys } from "../protocol/hop-meta.ts";
import type { UpstreamRequest } from "./port.ts";

/** What of an exchange's `_meta` asks for progress. */
export function progressMeta(id: string, { onProgress }: Pick<UpstreamRequest, "onProgress">): JsonObject {
  return onProgress === undefined ? {} : { progressToken: id };
}

/**
 * Hands on a report that names this exchange's own token (basic, "Progress"): the id of the attempt, which no
 * other exchange of this process has. Other notifications, and reports under any other token, reach nobody.
 */
export function takeProgress(
  { method, params }: RpcNotification,
  id: string,
  { onProgress }: Pick<UpstreamRequest, "onProgress">,
): void {
  if (onProgress === undefined || method !== "notifications/progress" || params === undefined) return;
  if (readOwn(params, "progressToken") === id) onProgress(withoutKeys(params, ["progressToken"]));
}
