import type { Obligations } from "../model/obligations.ts";
import type { Policy } from "../policy/compile.ts";
import { readQuestion } from "../policy/decide-read.ts";
import { noObligations, obligationsOf } from "../policy/obligations.ts";
import type { Question } from "../policy/question.ts";
import { given, type Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { ownNameOf } from "./own-name.ts";
import { inForceOf } from "./policy-in-force.ts";
import { shadowDuties } from "./shadow.ts";
import { questionAbout } from "./steps/question.ts";

/**
 * Sets `obligations` of an exchange that policy allows to use an item. The gateway's own tools, and exchanges that
 * concern no item, have none.
 */
export function layDuties(x: Exchange, g: Gateway): void {
  const { target } = x;
  if (target?.entry === undefined || target.entry.connects) return;
  const { policy, shadow } = inForceOf(x, g);
  if (policy.duties.isEmpty && shadow === undefined) return;
  const question = questionAbout(x, target.entry.item, g.now(), x.args);
  const uri =
    target.entry.item.kind === "template" ? ownNameOf(target.asked, given(target.entry, "a target")) : undefined;
  layDutiesOf(x, g, { policy, question, uri });
}

/** The same where the question is there already. `uri`: what a template carries. */
export function layDutiesOf(
  x: Exchange,
  g: Gateway,
  { policy, question, uri }: { policy: Policy; question: Question; uri?: string | undefined },
): void {
  const own = obligationsOf(policy, question);
  // A read that a template carries is also a read of that URI, for what binds it as for what denies it.
  x.obligations = uri === undefined ? own : both(own, obligationsOf(policy, readQuestion(question, uri)));
  shadowDuties(x, g, question);
}

function both(one: Obligations, other: Obligations): Obligations {
  if (one === noObligations) return other;
  if (other === noObligations) return one;
  const known = new Set(one.rules);
  return {
    rules: [...new Set([...one.rules, ...other.rules])].sort(),
    limits: [...one.limits, ...other.limits.filter(({ rule }) => !known.has(rule))],
    resultBytesMax: tighter(one.resultBytesMax, other.resultBytesMax),
    deadlineMs: tighter(one.deadlineMs, other.deadlineMs),
    auditRequired: one.auditRequired || other.auditRequired,
    replayFields: [...new Set([...one.replayFields, ...other.replayFields])].sort(),
  };
}

/** The smaller of two bounds, of which either may be none. */
function tighter(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
