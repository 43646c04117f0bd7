import type { Policy } from "./compile.ts";
import { explain } from "./explain.ts";
import type { Explanation } from "./explain.ts";
import type { Case, Expectation } from "./read-cases.ts";
import type { RuleSource } from "./rule-source.ts";

/** One thing that a case expects and policy does otherwise. */
export interface CaseDifference {
  readonly field: keyof Expectation;
  readonly expected: string;
  readonly found: string;
}

export interface CaseResult {
  readonly case: Case;
  /** Empty: the case holds. */
  readonly differences: readonly CaseDifference[];
  readonly explanation: Explanation;
}

export interface CasesRun {
  readonly results: readonly CaseResult[];
  /** Rules that decided no case and, of constrains, applied in none, by id. */
  readonly unexercised: readonly RuleSource[];
}

/** Runs cases, and says which rules none of them is about. A case whose expectations fail exercises its rule too. */
export function runCases(policy: Policy, sources: ReadonlyMap<string, RuleSource>, cases: readonly Case[]): CasesRun {
  const results = cases.map((one): CaseResult => {
    const explanation = explain(policy, sources, one.question);
    return { case: one, explanation, differences: differencesOf(one.expect, foundIn(explanation)) };
  });
  const exercised = new Set(results.flatMap(({ explanation }) => rulesOf(explanation)));
  const unexercised = [...sources.values()]
    .filter(({ id }) => !exercised.has(id))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  return { results, unexercised };
}

function rulesOf({ decision, obligations, shaping }: Explanation): readonly string[] {
  return [...(decision.rule === undefined ? [] : [decision.rule]), ...obligations.rules, ...shaping.rules];
}

function foundIn({ decision, listed, obligations, shaping }: Explanation): Expectation {
  return {
    effect: decision.effect,
    // The decision about an exchange that concerns no item names no rule when it allows.
    rule: decision.rule === "" ? undefined : decision.rule,
    reason: decision.effect === "deny" ? decision.reason : undefined,
    listed: listed === undefined ? undefined : listed === "listed",
    scopes: decision.effect === "step-up" ? decision.scopes : [],
    obligations: [...new Set([...obligations.rules, ...shaping.rules])],
  };
}

const compared: readonly (keyof Expectation)[] = ["effect", "rule", "reason", "listed", "scopes", "obligations"];

function differencesOf(expect: Expectation, found: Expectation): readonly CaseDifference[] {
  return compared
    .filter((field) => expect[field] !== undefined)
    .map((field) => ({ field, expected: textOf(expect[field]), found: textOf(found[field]) }))
    .filter(({ expected, found: other }) => expected !== other);
}

function textOf(value: Expectation[keyof Expectation]): string {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : value.toSorted().join(", ") || "none";
}
