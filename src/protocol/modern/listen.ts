import { subscriptionIdMetaKey } from "../../model/identifiers.ts";
import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import type { RpcId } from "../../model/rpc.ts";

/** Which notifications a client opts in to (2026-07-28, subscriptions, "Notification Filter"). */
export interface ListenFilter {
  readonly tools: boolean;
  readonly prompts: boolean;
  readonly resources: boolean;
  /** URIs whose updates are wanted, each once. */
  readonly uris: readonly string[];
}

/**
 * The filter of a `subscriptions/listen` request. Refuses RPC_PARAMS_INVALID when `notifications` is missing or a
 * member of it has the wrong type, and when it names more than `urisMax` resources. Members that are not known are
 * passed over, and so are notifications that no filter names.
 */
export function readListenFilter(params: JsonObject, urisMax: number): Result<ListenFilter> {
  const filter = readOwn(params, "notifications");
  if (!isJsonObject(filter)) return refuse("RPC_PARAMS_INVALID", { member: "notifications" });
  const wrong = Object.values(flags).find((name) => !isFlag(readOwn(filter, name)));
  if (wrong !== undefined) return refuse("RPC_PARAMS_INVALID", { member: wrong });
  const uris = readOwn(filter, "resourceSubscriptions") ?? [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === "string"))
    return refuse("RPC_PARAMS_INVALID", { member: "resourceSubscriptions" });
  if (uris.length > urisMax) return refuse("RPC_PARAMS_INVALID", { member: "resourceSubscriptions", urisMax });
  const wants = (kind: keyof typeof flags): boolean => readOwn(filter, flags[kind]) === true;
  return ok({
    tools: wants("tools"),
    prompts: wants("prompts"),
    resources: wants("resources"),
    uris: [...new Set(uris)],
  });
}

const flags = {
  tools: "toolsListChanged",
  prompts: "promptsListChanged",
  resources: "resourcesListChanged",
} as const;

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
}

/** The filter as the acknowledgement says it: what is not honoured is left out (subscriptions, "Acknowledgment"). */
export function writeListenFilter(filter: ListenFilter): JsonObject {
  const written: JsonObject = {};
  for (const kind of ["tools", "prompts", "resources"] as const) if (filter[kind]) written[flags[kind]] = true;
  if (filter.uris.length > 0) written["resourceSubscriptions"] = [...filter.uris];
  return written;
}

/** Parameters of a message on the stream of the request `id`, whose JSON type stays (subscriptions, "Receiving Notifications"). */
export function onSubscription(id: RpcId, params: JsonObject): JsonObject {
  const meta = readOwn(params, "_meta");
  return { ...params, _meta: { ...(isJsonObject(meta) ? meta : {}), [subscriptionIdMetaKey]: id } };
}
