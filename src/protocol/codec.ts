import { serverInfoMetaKey } from "../model/identifiers.ts";
import type { JsonObject } from "../model/json.ts";
import { isLegacyRevision } from "../model/revision.ts";
import type { Era, LegacyRevision, Revision } from "../model/revision.ts";
import type { ClientCodec } from "./client-codec.ts";
import { legacyCodec } from "./legacy/codec.ts";
import { modernCodec } from "./modern/codec.ts";

/** How the gateway speaks to a client of this era. */
export function codecFor(era: Era): ClientCodec {
  return era === "modern" ? modernCodec : legacyCodec;
}

/**
 * The revision to answer `initialize` with (2025-11-25, lifecycle, "Version Negotiation"): the one requested
 * when it is spoken here, else the newest that has a handshake. That holds for 2026-07-28 too, which no
 * handshake can select; the client then goes on in legacy or gives up.
 */
export function negotiateLegacy(requested: string): LegacyRevision {
  return isLegacyRevision(requested) ? requested : "2025-11-25";
}

/** What a server says of itself; `serverInfo` is its `Implementation`. */
export interface ServerDescription {
  readonly capabilities: JsonObject;
  readonly serverInfo: JsonObject;
  readonly instructions: string | undefined;
}

/** The `InitializeResult` for a client. The session id travels in a header and is no part of it. */
export function initializeResult(description: ServerDescription & { readonly revision: LegacyRevision }): JsonObject {
  const { revision, capabilities, serverInfo, instructions } = description;
  const result: JsonObject = { protocolVersion: revision, capabilities, serverInfo };
  return instructions === undefined ? result : { ...result, instructions };
}

/**
 * The `DiscoverResult` (2026-07-28, discovery) but for what `encodeResult` adds to every result. `supported`
 * must hold a modern revision: clients take a server that offers legacy ones alone for a legacy server.
 */
export function discoverResult(
  description: ServerDescription & { readonly supported: readonly Revision[] },
): JsonObject {
  const { supported, capabilities, serverInfo, instructions } = description;
  const result: JsonObject = {
    supportedVersions: [...supported],
    capabilities,
    _meta: { [serverInfoMetaKey]: serverInfo },
  };
  return instructions === undefined ? result : { ...result, instructions };
}
