import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Sets `session`: the legacy session that the header names, when it belongs to this principal. */
export async function ownSession(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const id = x.arrival.headers["mcp-session-id"];
  if (id === undefined || id === "") return refuse("SESSION_MISSING").refusal;
  const principal = given(x.principal, "a principal");
  const found = await g.sessions.find({ id, principal, server: x.arrival.server.name });
  if (!found.ok) return found.refusal;
  x.session = found.value;
  return undefined;
}
