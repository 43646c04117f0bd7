import { serverInfoMetaKey } from "../../model/identifiers.ts";
import { isJsonObject, readOwn } from "../../model/json.ts";
import type { JsonObject } from "../../model/json.ts";
import { cacheableMethods } from "../client-codec.ts";
import type { ClientCodec } from "../client-codec.ts";

/**
 * Revision 2026-07-28: every result has a `resultType`, says who serves it, and where the revision asks for
 * caching hints it has them. The scope is always `private`: what one principal may see says nothing of
 * what the next may, whatever an upstream calls public.
 */
export const modernCodec: ClientCodec = {
  era: "modern",
  encodeResult(method, result, { serverInfo, ttlMs }): JsonObject {
    const meta = readOwn(result, "_meta");
    const encoded: JsonObject = {
      resultType: "complete",
      ...result,
      _meta: { ...(isJsonObject(meta) ? meta : {}), [serverInfoMetaKey]: serverInfo },
    };
    return cacheableMethods.has(method) ? { ...encoded, ttlMs, cacheScope: "private" } : encoded;
  },
};
