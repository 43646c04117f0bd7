import { appraise, possibleOutcomes } from "./appraise.ts";
import type { PossibleOutcome } from "./appraise.ts";
import type { Policy } from "./compile.ts";
import type { Question } from "./question.ts";

/** What somebody may do with an item before its arguments are known; `-if`: some arguments, and not others. */
export type Grade = "allow" | "allow-if" | "step-up" | "step-up-if" | "deny";

export interface Cell {
  readonly grade: Grade;
  /** The rule that grants it, or that denies; undefined where no rule has a say. */
  readonly rule: string | undefined;
  /** Scopes that are missing, of a step-up. */
  readonly missing: readonly string[];
}

/**
 * The most that policy lets a principal do with an item, for a review of who can do what. `question.args` is not looked
 * at. A condition on time is about `question.request.now`.
 */
export function gradeOf(policy: Policy, question: Omit<Question, "args">): Cell {
  const outcomes = possibleOutcomes(appraise(policy, { ...question, args: undefined }));
  const best = bestOf(outcomes, "allow") ?? bestOf(outcomes, "step-up");
  if (best === undefined) return { grade: "deny", rule: outcomes[0]?.rule, missing: [] };
  const { effect, rule, missing } = best;
  const isSure = outcomes.every((one) => one.effect === effect);
  return { grade: gradeIn(effect, isSure), rule, missing };
}

function bestOf(outcomes: readonly PossibleOutcome[], effect: "allow" | "step-up"): Best | undefined {
  const found = outcomes.find((outcome) => outcome.effect === effect);
  return found === undefined ? undefined : { effect, rule: found.rule, missing: found.missing };
}

interface Best {
  readonly effect: "allow" | "step-up";
  readonly rule: string | undefined;
  readonly missing: readonly string[];
}

function gradeIn(effect: Best["effect"], isSure: boolean): Grade {
  return isSure ? effect : `${effect}-if`;
}
