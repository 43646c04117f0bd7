import type { AuditDraft } from "../../audit/port.ts";
import { refuse, type Refusal, type RefusalCode } from "../../model/refusal.ts";
import { columnOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { inForceOf } from "../policy-in-force.ts";
import { draftOf } from "./audit-draft.ts";

/**
 * Exactly one outcome for every exchange of a known principal, refused ones too. Refusals of strangers
 * are aggregated, so that nobody can fill the evidence from outside. Returns what the caller is refused
 * with: where audit is required and cannot keep this event, nothing that stayed inside is answered.
 */
export function recordOutcome(x: Exchange, g: Gateway, refusal: Refusal | undefined): Refusal | undefined {
  x.release?.();
  x.underWay?.leave();
  if (refusal !== undefined && x.outcome === "returned") x.outcome = "refused";
  const durationMs = g.now() - x.startedAt;
  const final = keep(x, g, { refusal, durationMs }) ? refusal : refuse("AUDIT_UNAVAILABLE").refusal;
  observe(x, g, { refusal: final, durationMs });
  return final;
}

/** False when required evidence is not kept; a call that reached its upstream is answered all the same. */
function keep(x: Exchange, g: Gateway, of: { refusal: Refusal | undefined; durationMs: number }): boolean {
  const { refusal, durationMs } = of;
  if (x.principal === undefined) {
    if (refusal !== undefined) x.ref = g.strangers.note(refusal.code, x.arrival.address);
    return true;
  }
  const ending = refusal === undefined ? { durationMs } : { durationMs, refusal };
  const kept = g.evidence.record(draftOf(x, g, { type: typeOf(x, refusal), ...ending }), inForceOf(x, g).digests);
  return kept || !g.auditRequired || refusal !== undefined || x.account !== undefined;
}

function typeOf(x: Exchange, refusal: Refusal | undefined): AuditDraft["type"] {
  if (refusal !== undefined) {
    if (x.outcome === "refused") return isDecision(refusal) ? "denied" : "refused";
    return x.outcome === "unknown" ? "unknown" : "failed";
  }
  if (x.listed !== undefined) return "listed";
  if (x.classified?.column === "initialize" || x.classified?.column === "delete") return "session";
  return x.outcome === "failed" ? "failed" : "returned";
}

const decisions: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "POLICY_DENIED",
  "SCOPE_INSUFFICIENT",
  "ITEM_HIDDEN",
  "CLIENT_FEATURE_DENIED",
]);

function isDecision(refusal: Refusal): boolean {
  return decisions.has(refusal.code);
}

function observe(x: Exchange, g: Gateway, of: { refusal: Refusal | undefined; durationMs: number }): void {
  const server = x.arrival.server.name;
  g.observe({
    server,
    column: columnOf(x),
    era: x.classified?.era ?? "none",
    outcome: x.outcome,
    code: of.refusal?.code ?? "none",
    durationMs: of.durationMs,
  });
  if (of.refusal === undefined) return;
  const { code, facts, cause } = of.refusal;
  g.logRefusal({ ref: x.ref, server, code, ...facts }, cause);
}
