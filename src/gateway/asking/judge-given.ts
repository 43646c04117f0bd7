import type { AskedKinds, ClientFeature } from "../../model/client-feature.ts";
import type { Decision } from "../../model/decision.ts";
import type { JsonObject } from "../../model/json.ts";
import { isJsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { decide, listing } from "../../policy/decide.ts";
import { answeredFeatures, readAnswer } from "../../protocol/asked-answer.ts";
import { declaredFeatures, methodOfFeature } from "../../protocol/client-features.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { policyOf } from "../policy-in-force.ts";
import { questionAboutFeature } from "../steps/question.ts";
import { outcomeOf } from "./ask-client.ts";
import { capabilitiesOf } from "./declared-capabilities.ts";
import { deniedFeature } from "./judge-input.ts";
import { recordAsked, type AskedFact } from "./record-asked.ts";

/** Answers that a modern client brings of its own accord, in a request. */
export interface Given {
  readonly upstream: string;
  /** Each of them an answer to some request of a server. */
  readonly responses: JsonObject;
  /** What is known to have been asked. */
  readonly asked: AskedKinds;
  /** Nothing else was asked: what has another key is left out ("Error Handling": it is to be ignored). */
  readonly complete: boolean;
}

export interface JudgedGiven {
  /** What may be sent on. */
  readonly responses: JsonObject;
  /** What evidence is to have of it. Whoever sends the answers on records them first. */
  readonly facts: readonly AskedFact[];
}

/**
 * Judges the `inputResponses` of a request (2026-07-28, MRTR, and the tasks extension) as uses of the client features
 * that they answer. What was asked has its kind and was decided with its parameters, so that policy in force may only
 * deny it for all of them. An answer whose request is not known is judged by its shape and declared by the client, and
 * a rule that would read the request does not allow it.
 *
 * Refuses CLIENT_FEATURE_DENIED for what policy denies, SCOPE_INSUFFICIENT where scopes alone are missing, and
 * RPC_PARAMS_INVALID for an answer that is not one to what was asked, or of a feature that the client does not
 * declare; the refused answer leaves its event here. Not checked: a form's content against the form.
 */
export function judgeGiven(x: Exchange, g: Gateway, given: Given): Result<JudgedGiven> {
  const responses: JsonObject = {};
  const facts: AskedFact[] = [];
  for (const [key, response] of Object.entries(given.responses)) {
    if (!isJsonObject(response)) return refuse("RPC_PARAMS_INVALID", { member: "inputResponses" });
    const judged = judgeOne(x, g, { given, key, response });
    facts.push(...judged.facts);
    if (judged.verdict === "refused") {
      for (const fact of judged.facts) recordAsked(x, g, fact);
      return { ok: false, refusal: judged.refusal };
    }
    if (judged.verdict === "pass") responses[key] = judged.response;
  }
  return ok({ responses, facts });
}

/** False where evidence is required and cannot be kept. */
export function recordGiven(x: Exchange, g: Gateway, { facts }: Pick<JudgedGiven, "facts">): boolean {
  return !facts.map((fact) => recordAsked(x, g, fact)).includes(false);
}

type Judged =
  | { readonly verdict: "pass"; readonly response: JsonObject; readonly facts: readonly AskedFact[] }
  | { readonly verdict: "left out"; readonly facts: readonly AskedFact[] }
  | { readonly verdict: "refused"; readonly refusal: Refusal; readonly facts: readonly AskedFact[] };

interface One {
  readonly given: Given;
  readonly key: string;
  readonly response: JsonObject;
}

function judgeOne(x: Exchange, g: Gateway, { given, key, response }: One): Judged {
  const { upstream, asked, complete } = given;
  const feature = asked.get(key);
  if (feature !== undefined) return judgeAsAsked(x, g, { upstream, feature, response });
  if (!complete) return judgeByShape(x, g, { upstream, response });
  const [[shape] = []] = answeredFeatures(response);
  return { verdict: "left out", facts: [factOf(upstream, shape, { outcome: "unasked" })] };
}

interface OfFeature {
  readonly upstream: string;
  readonly feature: ClientFeature;
  readonly response: JsonObject;
}

function judgeAsAsked(x: Exchange, g: Gateway, { upstream, feature, response }: OfFeature): Judged {
  const answer = readAnswer({ feature }, response);
  if (answer === undefined) return unfit([factOf(upstream, feature, { outcome: "unfit" })]);
  const question = questionAboutFeature(x, { upstream, feature }, g.now());
  const decision = decide(policyOf(x, g), question);
  if (decision.effect === "allow") return passed({ upstream, feature, response: answer }, decision);
  // Which parameters it depends on was decided when it was asked, and stands in the event of then.
  if (decision.effect === "deny" && listing(policyOf(x, g), question) === "listed")
    return passed({ upstream, feature, response: answer });
  return denied(x, { upstream, feature, decision });
}

function passed({ upstream, feature, response }: OfFeature, decision?: Decision): Judged {
  const outcome = outcomeOf({ method: methodOfFeature(feature) }, response);
  return { verdict: "pass", response, facts: [factOf(upstream, feature, { outcome, decision })] };
}

/** An answer that reads as one to several methods must be let through as each. */
function judgeByShape(x: Exchange, g: Gateway, of: { upstream: string; response: JsonObject }): Judged {
  let { response } = of;
  const facts: AskedFact[] = [];
  for (const features of answeredFeatures(of.response)) {
    const judged = judgeAsOneOf(x, g, { upstream: of.upstream, features, response });
    if (judged.verdict !== "pass") return judged;
    facts.push(...judged.facts);
    ({ response } = judged);
  }
  return facts.length === 0 ? unfit([]) : { verdict: "pass", response, facts };
}

function judgeAsOneOf(
  x: Exchange,
  g: Gateway,
  { upstream, features, response }: { upstream: string; features: readonly ClientFeature[]; response: JsonObject },
): Judged {
  const declared = declaredFeatures(capabilitiesOf(x));
  const decided = features
    .filter((feature) => declared.has(feature))
    .map((feature) => ({
      feature,
      decision: decide(policyOf(x, g), questionAboutFeature(x, { upstream, feature }, g.now())),
    }));
  for (const { feature, decision } of decided) {
    const answer = decision.effect === "allow" ? readAnswer({ feature }, response) : undefined;
    if (answer !== undefined) return passed({ upstream, feature, response: answer }, decision);
  }
  const [first] = [...decided].sort((one, other) => rank(one.decision) - rank(other.decision));
  if (first === undefined) return unfit([factOf(upstream, features[0], { outcome: "unsupported" })]);
  const { feature, decision } = first;
  return decision.effect === "allow" ? unfit([]) : denied(x, { upstream, feature, decision });
}

/** Of two denials the one that the client can do something about. */
function rank({ effect }: Decision): number {
  return effect === "step-up" ? 0 : 1;
}

function denied(
  x: Exchange,
  of: { upstream: string; feature: ClientFeature; decision: Exclude<Decision, { effect: "allow" }> },
): Judged {
  const { upstream, feature, decision } = of;
  const facts = [factOf(upstream, feature, { outcome: "denied", decision })];
  return { verdict: "refused", refusal: deniedFeature(x, of), facts };
}

function unfit(facts: readonly AskedFact[]): Judged {
  const { refusal } = refuse("RPC_PARAMS_INVALID", { member: "inputResponses" });
  return { verdict: "refused", refusal, facts };
}

function factOf(
  upstream: string,
  feature: ClientFeature | undefined,
  { outcome, decision }: { outcome: AskedFact["outcome"]; decision?: Decision | undefined },
): AskedFact {
  const method = feature === undefined ? "" : methodOfFeature(feature);
  return { asked: { upstream, method }, feature, outcome, ...(decision === undefined ? {} : { decision }) };
}
