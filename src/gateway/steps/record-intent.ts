import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { inForceOf } from "../policy-in-force.ts";
import { draftOf } from "./audit-draft.ts";

/**
 * Where audit is required, by configuration or by policy for this use: no record, no forward. Writes `attempted` for exchanges that reach an upstream, and
 * for streams, whose outcome is recorded at their end.
 */
export function recordIntent(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const column = x.classified?.column;
  if (x.target?.entry === undefined && column !== "stream" && column !== "listen") return undefined;
  const kept = g.evidence.record(draftOf(x, g, { type: "attempted" }), inForceOf(x, g).digests);
  if (!g.auditRequired)
    return x.obligations?.auditRequired === true ? g.evidence.settledEverywhere().then(refuseUnless) : undefined;
  return kept ? g.evidence.settled().then(refuseUnless) : refuseUnless(false);
}

function refuseUnless(kept: boolean): Refusal | undefined {
  return kept ? undefined : refuse("AUDIT_UNAVAILABLE").refusal;
}
