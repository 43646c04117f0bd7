import {
  clientCapabilitiesMetaKey,
  clientInfoMetaKey,
  logLevelMetaKey,
  protocolVersionMetaKey,
  serverInfoMetaKey,
} from "../model/identifiers.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";

/** `_meta` keys that describe one hop and mean nothing on the next (2026-07-28, basic, "`_meta`"). */
const hopKeys: readonly string[] = [
  protocolVersionMetaKey,
  clientInfoMetaKey,
  clientCapabilitiesMetaKey,
  logLevelMetaKey,
  serverInfoMetaKey,
];

/**
 * `value` without the hop's keys in its `_meta`, and without a `_meta` that had nothing else. The same
 * object when there is nothing to remove.
 */
export function withoutHopMeta(value: JsonObject): JsonObject {
  const meta = readOwn(value, "_meta");
  if (!isJsonObject(meta)) return value;
  const kept = withoutKeys(meta, hopKeys);
  if (kept === meta) return value;
  return Object.keys(kept).length > 0 ? { ...value, _meta: kept } : withoutKeys(value, ["_meta"]);
}

/** A copy without `keys`; the same object when it has none of them. */
export function withoutKeys(value: JsonObject, keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(value, key))) return value;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
}
