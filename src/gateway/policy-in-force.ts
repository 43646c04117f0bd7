import type { AuditEvent } from "../audit/event.ts";
import type { Lock } from "../catalog/lock/lock.ts";
import type { Policy } from "../policy/compile.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";

export interface Candidate {
  readonly policy: Policy;
  readonly lock: Lock | undefined;
}

/** What decides, as one value that is replaced as a whole: no reader ever sees a part of one and a part of another. */
export interface InForce {
  readonly policy: Policy;
  /** The catalog lock; undefined where none is kept. */
  readonly lock: Lock | undefined;
  /** What is tried out beside it, and decides nothing. */
  readonly shadow: Candidate | undefined;
  /** What evidence calls it by. */
  readonly digests: AuditEvent["digests"];
}

/**
 * What an exchange is judged by. A call has the same from what its principal sees to what is laid upon it: what is put
 * in force meanwhile is for the next one. A stream outlives policies, so each of its messages asks for what is in force
 * (design, "The journey"). So does what an upstream asks of a client while a call is under way: it is a decision of its
 * own, and asks `g.inForce()`.
 */
export function inForceOf(x: Exchange, g: Gateway): InForce {
  const column = x.classified?.column;
  if (column === "stream" || column === "listen") return g.inForce();
  return (x.inForce ??= g.inForce());
}

export function policyOf(x: Exchange, g: Gateway): Policy {
  return inForceOf(x, g).policy;
}
