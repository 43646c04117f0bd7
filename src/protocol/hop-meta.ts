import {
  clientCapabilitiesMetaKey,
  clientInfoMetaKey,
  logLevelMetaKey,
  metaPrefix,
  protocolVersionMetaKey,
  serverInfoMetaKey,
  subscriptionIdMetaKey,
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
  subscriptionIdMetaKey,
];

/**
 * `meta` without the hop's keys, without those under the gateway's own prefix, which no peer may write (a
 * forged refusal would carry a reference that leads to somebody else's evidence), and without `further`.
 * The same object when there is nothing to remove.
 */
export function withoutHopKeys(meta: JsonObject, further: readonly string[] = []): JsonObject {
  const gone = Object.keys(meta).filter(
    (key) => key.startsWith(metaPrefix) || hopKeys.includes(key) || further.includes(key),
  );
  return gone.length === 0 ? meta : withoutKeys(meta, gone);
}

/** `value` with its `_meta` so freed, and without a `_meta` that had nothing else. */
export function withoutHopMeta(value: JsonObject): JsonObject {
  const meta = readOwn(value, "_meta");
  if (!isJsonObject(meta)) return value;
  const kept = withoutHopKeys(meta);
  if (kept === meta) return value;
  return Object.keys(kept).length > 0 ? { ...value, _meta: kept } : withoutKeys(value, ["_meta"]);
}

/** A copy without `keys`; the same object when it has none of them. */
export function withoutKeys(value: JsonObject, keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(value, key))) return value;
  const kept: JsonObject = {};
  for (const [key, child] of Object.entries(value)) if (!keys.includes(key)) kept[key] = child;
  return kept;
}
