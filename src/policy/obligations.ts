import type { Json } from "../model/json.ts";
import type { Obligations, Shaping } from "../model/obligations.ts";
import type { Principal } from "../model/principal.ts";
import type { Policy } from "./compile.ts";
import type { Question, Subject } from "./question.ts";
import type { DutyRule, ShapeRule } from "./rule.ts";
import { targetOf } from "./what.ts";

/** Where no constrain rule applies. */
export const noObligations: Obligations = Object.freeze({
  rules: Object.freeze([]),
  limits: Object.freeze([]),
  resultBytesMax: undefined,
  deadlineMs: undefined,
  auditRequired: false,
  replayFields: Object.freeze([]),
});

/** Where no constrain rule changes the item's shape. */
export const noShaping: Shaping = Object.freeze({
  rules: Object.freeze([]),
  presets: new Map<string, Json>(),
  unknownArguments: undefined,
  removeFields: Object.freeze([]),
});

/**
 * What is laid upon one use of one item, should it be allowed. A rule whose condition errs, or asks for arguments that
 * are not known, applies: to constrain is the safe side. `args` are the arguments as they will be sent, presets
 * included. Does not decide: ask `decide` first, of the same policy.
 */
export function obligationsOf(policy: Policy, question: Question): Obligations {
  if (policy.duties.isEmpty) return noObligations;
  const target = targetOf(question.server, question.item, policy.factsOf);
  const matching = policy.duties.matching(question.principal, target);
  if (matching.length === 0) return noObligations;
  const turn = policy.conditions.begin(question, target.facts);
  const rules = matching.filter((rule) => turn.verdict(rule) !== "false");
  const read = turn.read();
  return rules.length === 0 && read.length === 0 ? noObligations : tightestOf(rules, read);
}

function tightestOf(rules: readonly DutyRule[], read: readonly string[]): Obligations {
  const duties = rules.map((rule) => rule.duties);
  return {
    rules: rules.map((rule) => rule.id),
    limits: duties.flatMap((one) => one.limits),
    resultBytesMax: least(duties.map((one) => one.resultBytesMax)),
    deadlineMs: least(duties.map((one) => one.deadlineMs)),
    auditRequired: duties.some((one) => one.auditRequired),
    replayFields: union([read, ...duties.map((one) => one.replayFields)]),
  };
}

export interface ShapeQuestion {
  readonly principal: Principal;
  /** The virtual server the request came to. */
  readonly server: string;
  readonly item: Subject;
}

/** What becomes of an item's shape for one principal at one server, whatever the arguments and the time. */
export function shapingOf(policy: Policy, { principal, server, item }: ShapeQuestion): Shaping {
  if (policy.shapes.isEmpty) return noShaping;
  const rules = policy.shapes.matching(principal, targetOf(server, item, policy.factsOf));
  return rules.length === 0 ? noShaping : strictestOf(rules);
}

function strictestOf(rules: readonly ShapeRule[]): Shaping {
  const shapes = rules.map((rule) => rule.shape);
  return {
    rules: rules.map((rule) => rule.id),
    // No two rules that apply together name two values: `presetConflicts`.
    presets: new Map(shapes.flatMap((shape) => [...shape.presets])),
    unknownArguments: (["reject", "strip", "pass"] as const).find((word) =>
      shapes.some((shape) => shape.unknownArguments === word),
    ),
    removeFields: union(shapes.map((shape) => shape.removeFields)),
  };
}

function least(numbers: readonly (number | undefined)[]): number | undefined {
  const given = numbers.filter((number) => number !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}

function union(lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())].sort();
}
