import type { JsonObject } from "../model/json.ts";
import type { Era } from "../model/revision.ts";

/** What a codec needs beside the result itself. */
export interface ResultHints {
  /** The gateway's own `Implementation`, for clients that get it with every result. */
  readonly serverInfo: JsonObject;
  /** How long a client may consider a cacheable result fresh, in milliseconds, 0 or more. */
  readonly ttlMs: number;
}

/** How the gateway speaks to a client of one era. */
export interface ClientCodec {
  readonly era: Era;
  /**
   * A result as this era writes it. It takes one that is freed of its upstream hop (`upstreamResult`) or
   * that the gateway made. Unknown keys survive; the value given is left as it is.
   */
  encodeResult(method: string, result: JsonObject, hints: ResultHints): JsonObject;
}

/** Results with caching hints (2026-07-28, server, "Cacheable Results"). */
export const cacheableMethods: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);
