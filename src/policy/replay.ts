import type { Decision } from "../model/decision.ts";
import { appraise, outcomeKey, possibleOutcomes, serverOutcomes } from "./appraise.ts";
import type { Knowledge, PossibleOutcome } from "./appraise.ts";
import { asOutcome, changeBetween, type Change } from "./change.ts";
import type { Policy } from "./compile.ts";
import { shapingOf } from "./obligations.ts";
import { readQuestion } from "./decide-read.ts";
import type { Question, Subject } from "./question.ts";
import { pointerTo } from "./read-notes.ts";

/** A decision that evidence holds, as far as it holds what was asked. */
export interface RecordedDecision {
  /** `args` are undefined, or `{}` where it is known that there were none. */
  readonly question: Omit<Question, "item"> & { readonly item: Subject | undefined };
  readonly knowledge: Knowledge;
  /** Of a read that a template carried: the URI, under the upstream's own name for it. */
  readonly uri: string | undefined;
  readonly decision: Decision;
}

/** What another policy makes of a decision. `undecidable`: it depends on what evidence does not hold. */
export type ReplayedChange = Change | "undecidable";

export interface Replayed {
  readonly change: ReplayedChange;
  readonly before: readonly PossibleOutcome[];
  readonly after: readonly PossibleOutcome[];
}

/** What a policy makes of a decision that was recorded, under another policy or the same. */
export function replay(recorded: RecordedDecision, policy: Policy): Replayed {
  return compared([asOutcome(recorded.decision)], outcomesUnder(policy, recorded));
}

/** What the step from one policy to another makes of it, whatever was in force when it was recorded. */
export function replayBoth(from: Reading, to: Reading): Replayed {
  return compared(outcomesUnder(from.policy, from.recorded), outcomesUnder(to.policy, to.recorded));
}

/** A decision as one policy reads it: what a token's scopes are worth depends on the scopes that rules name. */
export interface Reading {
  readonly policy: Policy;
  readonly recorded: RecordedDecision;
}

function compared(before: readonly PossibleOutcome[], after: readonly PossibleOutcome[]): Replayed {
  return { change: changeOf(before, after), before, after };
}

function changeOf(before: readonly PossibleOutcome[], after: readonly PossibleOutcome[]): ReplayedChange {
  const [[one], [other]] = [before, after];
  const isSure = [before, after].every((outcomes) => new Set(outcomes.map(outcomeKey)).size === 1);
  return isSure && one !== undefined && other !== undefined ? changeBetween(one, other) : "undecidable";
}

function outcomesUnder(policy: Policy, recorded: RecordedDecision): readonly PossibleOutcome[] {
  const { question, knowledge, uri, decision } = recorded;
  const { item } = question;
  // What a token is bound to is not recorded, and no policy changes it.
  if (decision.effect === "deny" && decision.reason === "outside-token") return [asOutcome(decision)];
  if (item === undefined) return serverOutcomes(policy, question, knowledge);
  const asked = withPresets(policy, { about: { ...question, item }, knowledge });
  const outcomes = possibleOutcomes(appraise(policy, asked.about, asked.knowledge));
  return uri === undefined ? outcomes : throughTemplate(outcomes, uriOutcomes(policy, { ...asked, uri }));
}

interface Asked {
  readonly about: Question;
  readonly knowledge: Knowledge;
}

/** Conditions see arguments as they would be sent, and so the values that this policy presets, whatever was sent then. */
function withPresets(policy: Policy, { about, knowledge }: Asked): Asked {
  const { presets } = shapingOf(policy, about);
  const { partly } = knowledge;
  if (presets.size === 0) return { about, knowledge };
  if (about.args !== undefined)
    return { about: { ...about, args: { ...about.args, ...Object.fromEntries(presets) } }, knowledge };
  const known = new Map(partly?.args);
  for (const [name, value] of presets) known.set(pointerTo("", name), value);
  return { about, knowledge: { ...knowledge, partly: { ...partly, args: known } } };
}

function uriOutcomes(
  policy: Policy,
  { about, knowledge, uri }: { about: Question; knowledge: Knowledge; uri: string },
): readonly PossibleOutcome[] {
  const { claims } = knowledge.partly ?? {};
  const partly = claims === undefined ? undefined : { claims };
  return possibleOutcomes(appraise(policy, readQuestion(about, uri), { ...knowledge, partly }));
}

/** As `decideRead` joins the two: a deny of the URI by some rule counts, and that no rule allows it is no objection. */
function throughTemplate(
  template: readonly PossibleOutcome[],
  uri: readonly PossibleOutcome[],
): readonly PossibleOutcome[] {
  const objections = uri.filter(({ effect, rule }) => effect === "deny" && rule !== undefined);
  return template.flatMap((outcome) => {
    if (outcome.effect === "deny" || objections.length === 0) return [outcome];
    return objections.length === uri.length ? objections : [outcome, ...objections];
  });
}
