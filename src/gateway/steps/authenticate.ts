import type { Refusal } from "../../model/refusal.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Sets `principal`. Headers only: strangers never reach the JSON parser. */
export async function authenticate(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const { authorization, server } = x.arrival;
  const verdict = await g.authenticate({ authorization, resource: server.resource, now: g.now() });
  if (!verdict.ok) return verdict.refusal;
  x.principal = verdict.value;
  return undefined;
}
