import type { Principal } from "../../model/principal.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { Result } from "../../model/result.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Sets `principal`. Headers only: strangers never reach the JSON parser. */
export function authenticate(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const { authorization, server } = x.arrival;
  const verdict = g.authenticate({ authorization, resource: server.resource, now: g.now() });
  return verdict instanceof Promise ? verdict.then((late) => admit(x, late)) : admit(x, verdict);
}

function admit(x: Exchange, verdict: Result<Principal>): Refusal | undefined {
  if (!verdict.ok) return verdict.refusal;
  x.principal = verdict.value;
  return undefined;
}
