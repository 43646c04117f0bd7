import type { AskedOutcome } from "../../audit/event.ts";
import type { AuditDraft } from "../../audit/port.ts";
import type { ClientFeature } from "../../model/client-feature.ts";
import type { Decision } from "../../model/decision.ts";
import type { Finding } from "../../model/finding.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { draftOf } from "../steps/audit-draft.ts";
import type { FromUpstream } from "./judge-asked.ts";

export interface AskedFact {
  readonly asked: Pick<FromUpstream, "upstream" | "method">;
  readonly feature: ClientFeature | undefined;
  readonly decision?: Decision;
  readonly findings?: readonly Finding[];
  readonly outcome: AskedOutcome;
  /** The gateway asked, about the upstream. */
  readonly own?: boolean;
}

/**
 * One event for every request of an upstream to the client, or of the gateway's own, whatever became of it: who was asked by which upstream,
 * during which call, how it was decided and how it ended. Neither the question nor the answer. False where evidence
 * is required and this event is not kept.
 */
export function recordAsked(x: Exchange, g: Gateway, fact: AskedFact): boolean {
  const { asked, feature = "unknown", decision, findings = [], outcome, own = false } = fact;
  const draft: Draft = { ...draftOf(x, g, { type: "asked" }) };
  // Those of the call stand in the events of the call.
  delete draft.decision;
  delete draft.read;
  delete draft.findings;
  draft.method = asked.method.slice(0, methodCharsMax);
  draft.asked = { feature, outcome, upstream: asked.upstream, ...(own ? { by: "gateway" } : {}) };
  if (decision !== undefined) draft.decision = decision;
  if (findings.length > 0) draft.findings = findings;
  return g.evidence.record(draft) || !g.auditRequired;
}

type Draft = { -readonly [Name in keyof AuditDraft]: AuditDraft[Name] };

/** A method is an upstream's own text until it is known. */
const methodCharsMax = 100;
