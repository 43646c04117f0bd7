import type { JsonObject } from "../../model/json.ts";
import { cacheableMethods } from "../client-codec.ts";
import type { ClientCodec } from "../client-codec.ts";
import { withoutHopMeta, withoutKeys } from "../hop-meta.ts";

/**
 * Revisions up to 2025-11-25 know neither result types nor caching hints, and learn who serves them from
 * `initialize`. `ttlMs` and `cacheScope` are removed where they are hints; elsewhere they are somebody's data.
 */
export const legacyCodec: ClientCodec = {
  era: "legacy",
  encodeResult(method, result): JsonObject {
    const hints = cacheableMethods.has(method) ? ["resultType", "ttlMs", "cacheScope"] : ["resultType"];
    return withoutKeys(withoutHopMeta(result), hints);
  },
};
