import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { serverInfoMetaKey } from "../model/identifiers.ts";
import type { Hop, UpstreamIdentity } from "./port.ts";

/** What an `initialize` result says of a server. What is absent or misshapen is empty. Not checked: any of it. */
export function identityFromInitialize(result: JsonObject, hop: Hop): UpstreamIdentity {
  return identity(result, hop, readOwn(result, "serverInfo"));
}

/** The same from a `server/discover` result, where `serverInfo` stands in `_meta`. */
export function identityFromDiscover(result: JsonObject, hop: Hop): UpstreamIdentity {
  return identity(result, hop, readOwn(readOwn(result, "_meta"), serverInfoMetaKey));
}

function identity(result: JsonObject, hop: Hop, serverInfo: ReturnType<typeof readOwn>): UpstreamIdentity {
  const capabilities = readOwn(result, "capabilities");
  return {
    hop,
    serverInfo: isJsonObject(serverInfo) ? serverInfo : {},
    capabilities: isJsonObject(capabilities) ? capabilities : {},
    instructions: readOwnString(result, "instructions"),
  };
}
