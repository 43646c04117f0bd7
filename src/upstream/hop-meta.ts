import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { withoutHopKeys, withoutKeys } from "../protocol/hop-meta.ts";

/**
 * `params` with `own` in its `_meta`, and with what the caller's `_meta` had beyond its hop; without `_meta`
 * when that leaves nothing. The client's progress token goes too: the tokens of two clients must never meet at
 * an upstream (design, decision 2), so an exchange that wants reports has one of its own.
 */
export function withHopMeta(params: JsonObject, own: JsonObject): JsonObject {
  if (!Object.hasOwn(params, "_meta")) return Object.keys(own).length === 0 ? params : { ...params, _meta: own };
  const received = readOwn(params, "_meta");
  const kept = isJsonObject(received) ? withoutHopKeys(received, ["progressToken"]) : {};
  const meta: JsonObject = { ...kept, ...own };
  return Object.keys(meta).length === 0 ? withoutKeys(params, ["_meta"]) : { ...params, _meta: meta };
}
