import type { Decision, Listing } from "../model/decision.ts";
import { limits } from "../model/limits.ts";
import type { Obligations, Shaping } from "../model/obligations.ts";
import { appraise, possibleOutcomes } from "./appraise.ts";
import type { Appraisal, AppraisedRule, Knowledge, PossibleOutcome } from "./appraise.ts";
import type { Policy } from "./compile.ts";
import { decide, decideServer, listing } from "./decide.ts";
import type { Effect } from "./language.ts";
import { noObligations, noShaping, obligationsOf, shapingOf } from "./obligations.ts";
import type { Question, Subject } from "./question.ts";
import { whatMismatches, whoMismatches } from "./rule-account.ts";
import type { Mismatch } from "./rule-account.ts";
import type { RuleSource } from "./rule-source.ts";
import type { Rule } from "./rule.ts";
import { targetOf } from "./what.ts";

/** A question of which the item may be none: may this principal use this server at all? */
export type ExplainQuestion = Omit<Question, "item"> & { readonly item: Subject | undefined };

/** Why a rule decided, or did not. */
export type Standing =
  | { readonly is: "decides" }
  /** It matches, and another one decided. Of a constrain: it applies. */
  | { readonly is: "holds" }
  | { readonly is: "condition-false" }
  | { readonly is: "condition-error" | "condition-unknown"; readonly because: string }
  | { readonly is: "scopes-missing"; readonly missing: readonly string[] }
  | { readonly is: "elsewhere"; readonly mismatches: readonly Mismatch[] };

export interface RuleAccount {
  readonly id: string;
  readonly effect: Effect;
  /** `policies/support.yaml#/rules/0`. */
  readonly path: string;
  readonly when: string | undefined;
  readonly standing: Standing;
}

export interface Explanation {
  /** What `decide` says; unknown arguments count there as a condition that errs. */
  readonly decision: Decision;
  /** Whether the item is shown; undefined where no item is asked about. */
  readonly listed: Listing | undefined;
  /** All that it may come to while arguments are unknown; one entry where that changes nothing. */
  readonly possible: readonly PossibleOutcome[];
  /** The rules that have a say, and those that came nearest to it, at most `limits.explainedRulesMax`. */
  readonly rules: readonly RuleAccount[];
  readonly obligations: Obligations;
  readonly shaping: Shaping;
}

/**
 * Why a principal may or may not use an item: the decision that `decide` takes, every rule that has a say in it, and
 * the rules nearest to having one, with what keeps them from it. `sources` are those of the documents that the policy
 * was compiled from. `knowledge` is of a question that is known in part: `possible` and the rules go by it, while the
 * decision takes what is not known for a condition that errs. Does not say whether the item exists.
 */
export function explain(
  policy: Policy,
  sources: ReadonlyMap<string, RuleSource>,
  question: ExplainQuestion,
  knowledge: Knowledge = {},
): Explanation {
  const { item } = question;
  if (item === undefined) return explainServer(policy, sources, question);
  const about: Question = { ...question, item };
  const decision = decide(policy, about);
  const appraisal = appraise(policy, about, knowledge);
  const obligations = obligationsOf(policy, about);
  const shaping = shapingOf(policy, about);
  return {
    decision,
    listed: listing(policy, about),
    possible: possibleOutcomes(appraisal),
    rules: accounts({
      policy,
      sources,
      question: about,
      decision,
      appraisal,
      laid: [...obligations.rules, ...shaping.rules],
    }),
    obligations,
    shaping,
  };
}

function explainServer(
  policy: Policy,
  sources: ReadonlyMap<string, RuleSource>,
  question: ExplainQuestion,
): Explanation {
  const decision = decideServer(policy, question);
  const { rule } = decision;
  const decisive = policy.serverDenies.filter(({ id }) => id === rule);
  return {
    decision,
    listed: undefined,
    possible: [{ effect: decision.effect, rule, missing: [] }],
    rules: decisive.map((one) => accountOf(one, sources, { is: "decides" })),
    obligations: noObligations,
    shaping: noShaping,
  };
}

interface Asked {
  readonly policy: Policy;
  readonly sources: ReadonlyMap<string, RuleSource>;
  readonly question: Question;
  readonly decision: Decision;
  readonly appraisal: Appraisal;
  /** Ids of constrain rules that apply. */
  readonly laid: readonly string[];
}

function accounts(asked: Asked): readonly RuleAccount[] {
  const { policy, sources, appraisal, decision, laid } = asked;
  const having = [...appraisal.denies, ...appraisal.allows]
    .map((one) => ({ rule: one.rule, standing: standingOf(one, decision) }))
    .sort((one, other) => standingRank(one.standing) - standingRank(other.standing));
  const constrains = policy.itemRules.constrains
    .filter(({ id }) => laid.includes(id))
    .map((rule) => ({ rule, standing: { is: "holds" } as const }));
  const said = [...having, ...constrains].map(({ rule, standing }) => accountOf(rule, sources, standing));
  const near = decision.effect === "allow" ? [] : nearest(asked, new Set(said.map(({ id }) => id)));
  return [...said, ...near].slice(0, limits.explainedRulesMax);
}

function standingOf({ rule, verdict, because, missing }: AppraisedRule, decision: Decision): Standing {
  if (decision.effect === "deny" && decision.rule === rule.id && decision.reason === "denied-by-rule")
    return { is: "decides" };
  if (verdict === "false") return { is: "condition-false" };
  if (verdict !== "true") return { is: `condition-${verdict}`, because: because ?? "" };
  if (missing.length > 0) return { is: "scopes-missing", missing };
  return { is: decision.rule === rule.id ? "decides" : "holds" };
}

const standings: readonly Standing["is"][] = [
  "decides",
  "scopes-missing",
  "condition-error",
  "condition-unknown",
  "condition-false",
  "holds",
  "elsewhere",
];

function standingRank({ is }: Standing): number {
  return standings.indexOf(is);
}

/** Allows that would be about this item for others, or about other items for this principal: fewest mismatches first. */
function nearest({ policy, sources, question, appraisal }: Asked, said: ReadonlySet<string>): readonly RuleAccount[] {
  if (appraisal.outside) return [];
  const target = targetOf(question.server, question.item, policy.factsOf);
  return policy.itemRules.allows
    .filter(({ id }) => !said.has(id))
    .flatMap((rule) => {
      const source = sources.get(rule.id);
      if (source === undefined) return [];
      const who = whoMismatches(source, question.principal);
      const what = whatMismatches(rule, source, target);
      return who.length > 0 && what.length > 0 ? [] : [{ rule, mismatches: [...who, ...what] }];
    })
    .sort((one, other) => distance(one.mismatches) - distance(other.mismatches))
    .slice(0, limits.explainedRulesMax)
    .map(({ rule, mismatches }) => accountOf(rule, sources, { is: "elsewhere", mismatches }));
}

/** A rule about this item for others says more than one about something else. */
function distance(mismatches: readonly Mismatch[]): number {
  return mismatches.reduce((sum, { part, field }) => sum + (part === "who" || field === "lock" ? 1 : 10), 0);
}

function accountOf(rule: Rule, sources: ReadonlyMap<string, RuleSource>, standing: Standing): RuleAccount {
  const source = sources.get(rule.id);
  return { id: rule.id, effect: rule.effect, path: source?.path ?? "", when: source?.when, standing };
}
