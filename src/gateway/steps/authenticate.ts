import { CallerToken } from "../../model/caller-token.ts";
import type { Principal } from "../../model/principal.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { Result } from "../../model/result.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Sets `principal` and `callerToken`. Headers only: strangers never reach the JSON parser. */
export function authenticate(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const { authorization, server, shown } = x.arrival;
  const verdict = g.authenticate({ authorization, resource: server.resource, shown, now: g.now() });
  return verdict instanceof Promise ? verdict.then((late) => admit(x, late)) : admit(x, verdict);
}

function admit(x: Exchange, verdict: Result<Principal>): Refusal | undefined {
  if (!verdict.ok) return verdict.refusal;
  x.principal = verdict.value;
  x.callerToken = tokenOf(x.arrival.authorization);
  return undefined;
}

/** Of a header that was verified: one scheme and one token. */
function tokenOf([header = ""]: readonly string[]): CallerToken | undefined {
  const space = header.indexOf(" ");
  const token = space < 0 ? "" : header.slice(space).trim();
  return token === "" ? undefined : new CallerToken(token);
}
