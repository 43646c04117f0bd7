import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { negotiateLegacy } from "../../protocol/codec.ts";
import { given, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Opens the legacy session, bound to the principal, and names it in `Mcp-Session-Id`. */
export async function openSession(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const params = paramsOf(x);
  const opened = await g.sessions.open({
    principal: given(x.principal, "a principal"),
    server: x.arrival.server.name,
    revision: negotiateLegacy(readOwnString(params, "protocolVersion") ?? ""),
    clientInfo: objectOf(readOwn(params, "clientInfo")),
    clientCapabilities: objectOf(readOwn(params, "capabilities")),
  });
  if (!opened.ok) return opened.refusal;
  x.session = opened.value;
  x.headers["mcp-session-id"] = opened.value.id;
  return undefined;
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
