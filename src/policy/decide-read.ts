import type { Decision } from "../model/decision.ts";
import type { Policy } from "./compile.ts";
import { decide } from "./decide.ts";
import type { Question } from "./question.ts";

/**
 * Decides a read that a template carries. It is also a read of that URI, the upstream's own name for it: a deny of the
 * URI counts, though the template is allowed. That no rule allows the URI is no objection.
 */
export function decideRead(policy: Policy, question: Question, uri: string): Decision {
  const decision = decide(policy, question);
  if (decision.effect === "deny") return decision;
  const onUri = decide(policy, readQuestion(question, uri));
  return isObjection(onUri) ? onUri : decision;
}

/** The question about the URI itself. */
export function readQuestion(question: Question, uri: string): Question {
  return { ...question, item: { upstream: question.item.upstream, kind: "resource", name: uri }, args: {} };
}

function isObjection(onUri: Decision): boolean {
  return onUri.effect === "deny" && onUri.reason !== "no-rule-allows" && onUri.reason !== "outside-token";
}
