import type { Refusal } from "../../model/refusal.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { serverDecision } from "../steps/decide.ts";
import type { StreamEnd } from "./live-stream.ts";

/** Whether whoever opened a stream may still have it; `unknown` while something that must be asked does not answer. */
export type Admission = "admitted" | "unknown" | StreamEnd;

/**
 * Looks at everything again that opened the stream: the token with its expiry, its issuer's keys and the deny
 * list, the session, the policy in force. A session that is listened to is in use, so looking keeps it alive. Sets `session`
 * to what it is by now.
 */
export async function readmit(x: Exchange, g: Gateway): Promise<Admission> {
  const { authorization, server } = x.arrival;
  // A proof is for one request (RFC 9449 §4.2): that of the stream was checked as it came, and there is no other.
  const asked = { authorization, resource: server.resource, shown: "before", now: g.now() } as const;
  const who = await g.authenticate(asked);
  if (!who.ok) return isOutage(who.refusal) ? "unknown" : "not-admitted";
  if (x.session !== undefined) {
    const found = await g.sessions.find({ id: x.session.id, principal: who.value, server: server.name });
    if (!found.ok) return isOutage(found.refusal) ? "unknown" : "session-over";
    x.session = found.value;
  }
  return isDecided(x, g) ? "admitted" : "not-admitted";
}

/** The part that needs nobody else, for every message: the token's time and the policy in force. */
export function mayReceive(x: Exchange, g: Gateway): boolean {
  const { expiresAt } = given(x.principal, "a principal");
  return g.now() < (expiresAt + g.limits.clockLeewaySeconds) * 1000 && isDecided(x, g);
}

function isDecided(x: Exchange, g: Gateway): boolean {
  return serverDecision(x, g).effect === "allow";
}

const outages: ReadonlySet<string> = new Set(["STORE_UNAVAILABLE", "AUTH_ISSUER_UNAVAILABLE"]);

function isOutage({ code }: Refusal): boolean {
  return outages.has(code);
}
