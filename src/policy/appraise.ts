import type { Decision } from "../model/decision.ts";
import { noFacts } from "../model/item-facts.ts";
import type { Policy } from "./compile.ts";
import type { Turn, Verdict } from "./condition.ts";
import { isOutside } from "./decide.ts";
import type { Partly } from "./partial-view.ts";
import type { Question } from "./question.ts";
import { pointerTo } from "./read-notes.ts";
import type { RuleIndex } from "./rule-index.ts";
import type { Rule } from "./rule.ts";
import { targetOf, whatMatches } from "./what.ts";
import type { Target } from "./what.ts";

/** What is known only in part of a question that was asked once. */
export interface Knowledge {
  readonly partly?: Partly | undefined;
  /** The question was asked at `request.now` or later, up to this moment (milliseconds since the epoch). */
  readonly nowMax?: number | undefined;
}

/** A rule whose `who` and `what` match, and what its condition says. */
export interface AppraisedRule {
  readonly rule: Rule;
  readonly verdict: Verdict;
  /** Why it is an error or unknown. */
  readonly because: string | undefined;
  /** Scopes of the rule that the principal lacks. */
  readonly missing: readonly string[];
}

/** Every rule that has a say in a question, by rank: `decide` stops at the first that settles it. */
export interface Appraisal {
  /** The principal's token is bound to other items, so that no rule matters. */
  readonly outside: boolean;
  readonly denies: readonly AppraisedRule[];
  readonly allows: readonly AppraisedRule[];
}

/** What a question may come to. */
export interface PossibleOutcome {
  readonly effect: Decision["effect"];
  /** The rule that would decide; undefined where none has a say. */
  readonly rule: string | undefined;
  /** Of a step-up: what is missing. */
  readonly missing: readonly string[];
}

/**
 * Evaluates all rules that match a question, with only that known which is known: arguments that are undefined or not
 * among `knowledge.partly`, claims likewise, and a moment that is only known to lie between two. What depends on
 * anything else is `unknown`. A rule that names a claim nobody recorded may match, so it is unknown too.
 */
export function appraise(policy: Policy, question: Question, knowledge: Knowledge = {}): Appraisal {
  if (isOutside(question)) return { outside: true, denies: [], allows: [] };
  const target = targetOf(question.server, question.item, policy.factsOf);
  const turns = turnsOf(policy, { question, knowledge, target });
  const of = { question, target, partly: knowledge.partly, turns };
  return {
    outside: false,
    denies: appraised(policy.denies, policy.itemRules.denies, of),
    allows: appraised(policy.allows, policy.itemRules.allows, of),
  };
}

/**
 * As `appraise`, of an exchange that concerns no item: it is allowed unless a deny says otherwise, so there are no
 * allows among what comes back.
 */
export function serverOutcomes(
  policy: Policy,
  question: Omit<Question, "item" | "args">,
  knowledge: Knowledge = {},
): readonly PossibleOutcome[] {
  const { principal, server } = question;
  const turns = momentsOf(question, knowledge).map((request) =>
    policy.conditions.begin(
      { principal, server, request, item: undefined, args: undefined, partly: knowledge.partly },
      () => noFacts,
    ),
  );
  const concerns = ({ what }: Rule): boolean => what.servers?.includes(server) ?? true;
  const denies = policy.serverDenies.filter(concerns).flatMap((rule) => {
    const one = appraiseRule(rule, { question, turns });
    if (rule.who.matches(principal)) return [one];
    return isPerhaps(rule, question, knowledge.partly) ? [asPerhaps(one)] : [];
  });
  const open: PossibleOutcome = { effect: "allow", rule: undefined, missing: [] };
  const sure = denies.find(({ verdict }) => verdict === "true" || verdict === "error");
  const perhaps = denies.find(({ verdict }) => verdict === "unknown");
  return sure !== undefined ? [denied(sure)] : perhaps === undefined ? [open] : [open, denied(perhaps)];
}

interface Asked {
  readonly question: Question;
  readonly target: Target;
  readonly partly: Partly | undefined;
  readonly turns: readonly Turn[];
}

function turnsOf(
  policy: Policy,
  { question, knowledge, target }: { question: Question; knowledge: Knowledge; target: Target },
): readonly Turn[] {
  return momentsOf(question, knowledge).map((request) =>
    policy.conditions.begin({ ...question, request, partly: knowledge.partly }, target.facts),
  );
}

function momentsOf({ request }: Pick<Question, "request">, { nowMax }: Knowledge): readonly Question["request"][] {
  return nowMax === undefined ? [request] : [request, { ...request, now: nowMax }];
}

function appraised(index: RuleIndex, all: readonly Rule[], asked: Asked): readonly AppraisedRule[] {
  const { question, target } = asked;
  const sure = index.matching(question.principal, target).map((rule) => appraiseRule(rule, asked));
  const mayMatch = (rule: Rule): boolean =>
    isPerhaps(rule, question, asked.partly) && whatMatches(rule.what, rule.effect, target);
  const perhaps = all.filter(mayMatch).map((rule) => asPerhaps(appraiseRule(rule, asked)));
  return [...sure, ...perhaps].sort((one, other) => one.rule.rank - other.rule.rank);
}

/** Whether only a claim that nobody recorded can say that the rule matches. */
function isPerhaps({ who }: Rule, { principal }: Pick<Question, "principal">, partly: Partly | undefined): boolean {
  const known = partly?.claims;
  if (known === undefined || who.claims.length === 0) return false;
  return who.claims.some((claim) => !known.has(pointerTo("", claim))) && who.mayMatch(principal);
}

function asPerhaps(rule: AppraisedRule): AppraisedRule {
  const because = "it depends on a claim that is not known";
  return rule.verdict === "false" ? rule : { ...rule, verdict: "unknown", because };
}

function appraiseRule(
  rule: Rule,
  { question, turns }: { readonly question: Pick<Question, "principal">; readonly turns: readonly Turn[] },
): AppraisedRule {
  const said = turns.map((turn) => ({ verdict: turn.verdict(rule), because: turn.because() }));
  const [first, last] = [said[0], said.at(-1)];
  const isSame = first?.verdict === last?.verdict;
  const verdict = isSame ? (first?.verdict ?? "unknown") : "unknown";
  const because = isSame ? first?.because : "it depends on the moment, which is not known exactly";
  const missing = rule.stepUp.filter((scope) => !question.principal.scopes.includes(scope));
  return { rule, verdict, because, missing };
}

/** Everything that a question can come to, whatever the unknown is. One entry: that is what it comes to. */
export function possibleOutcomes({ outside, denies, allows }: Appraisal): readonly PossibleOutcome[] {
  if (outside) return [denied(undefined)];
  const sure = denies.find(({ verdict }) => verdict === "true" || verdict === "error");
  if (sure !== undefined) return [denied(sure)];
  const perhaps = denies.find(({ verdict }) => verdict === "unknown");
  return distinct([...allowedOutcomes(allows), ...(perhaps === undefined ? [] : [denied(perhaps)])]);
}

function allowedOutcomes(allows: readonly AppraisedRule[]): readonly PossibleOutcome[] {
  const complete = allows.filter(({ missing }) => missing.length === 0);
  const sure = complete.find(({ verdict }) => verdict === "true");
  if (sure !== undefined) return [asOutcome("allow", sure)];
  const perhaps = complete.filter(({ verdict }) => verdict === "unknown");
  return [...perhaps.map((rule) => asOutcome("allow", rule)), ...steppedOutcomes(allows)];
}

/** Step-up takes the rule that lacks fewest, of equals the first: an unknown one counts where it would be taken. */
function steppedOutcomes(allows: readonly AppraisedRule[]): readonly PossibleOutcome[] {
  const incomplete = allows.filter(({ missing }) => missing.length > 0);
  const sorted = incomplete.toSorted((one, other) => one.missing.length - other.missing.length);
  const sureAt = sorted.findIndex(({ verdict }) => verdict === "true");
  const candidates = sureAt < 0 ? sorted : sorted.slice(0, sureAt + 1);
  const possible = candidates
    .filter(({ verdict }) => verdict === "true" || verdict === "unknown")
    .map((rule) => asOutcome("step-up", rule));
  return sureAt < 0 ? [...possible, denied(closest(allows))] : possible;
}

/** The rule that a default deny names. */
function closest(allows: readonly AppraisedRule[]): AppraisedRule | undefined {
  return allows.find(({ verdict }) => verdict === "false") ?? allows.find(({ verdict }) => verdict !== "true");
}

function denied(rule: AppraisedRule | undefined): PossibleOutcome {
  return { effect: "deny", rule: rule?.rule.id, missing: [] };
}

function asOutcome(effect: "allow" | "step-up", { rule, missing }: AppraisedRule): PossibleOutcome {
  return { effect, rule: rule.id, missing };
}

function distinct(outcomes: readonly PossibleOutcome[]): readonly PossibleOutcome[] {
  const seen = new Map<string, PossibleOutcome>();
  for (const outcome of outcomes) {
    // A deny by no rule at all and one by a rule differ for a read that a template carries (`decideRead`).
    const key = `${outcomeKey(outcome)} ${outcome.rule === undefined}`;
    if (!seen.has(key)) seen.set(key, outcome);
  }
  return [...seen.values()];
}

/** What two outcomes have in common that are the same to the caller. */
export function outcomeKey({ effect, missing }: Pick<PossibleOutcome, "effect" | "missing">): string {
  return [effect, ...missing].join(" ");
}
