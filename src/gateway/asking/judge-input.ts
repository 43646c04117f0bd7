import type { ClientFeature } from "../../model/client-feature.ts";
import type { Decision } from "../../model/decision.ts";
import type { Outcome } from "../../model/outcome.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Result } from "../../model/result.ts";
import { ok } from "../../model/result.ts";
import type { AskedRequest } from "../../protocol/asked-request.ts";
import type { InputRequired } from "../../protocol/input-required.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { judgeAsked, type Judgement } from "./judge-asked.ts";
import { recordAsked } from "./record-asked.ts";

export interface JudgedInput {
  readonly key: string;
  readonly request: AskedRequest;
  readonly judged: Extract<Judgement, { verdict: "pass" }>;
}

/**
 * Judges every request of an `input_required` result. One that may not be asked refuses the whole: the upstream, which
 * waits for nothing, would be given less than it needs. Refuses UPSTREAM_INPUT_REQUIRED for what the client did not
 * declare or what cannot be shown, CLIENT_FEATURE_DENIED for what policy denies, and to a modern client that lacks
 * scopes alone SCOPE_INSUFFICIENT. What is refused leaves its event here.
 */
export function judgeInput(
  x: Exchange,
  g: Gateway,
  { upstream, required }: { upstream: string; required: InputRequired },
): Result<readonly JudgedInput[]> {
  const passed: JudgedInput[] = [];
  for (const { key, method, params } of required.requests) {
    const judged = judgeAsked(x, g, { upstream, method, params });
    if (judged.verdict !== "pass") {
      recordAsked(x, g, { asked: { upstream, method }, ...judged, outcome: judged.verdict });
      return { ok: false, refusal: refusalOf(x, judged) };
    }
    passed.push({ key, request: judged.request, judged });
  }
  return ok(passed);
}

/**
 * The outcome of a call that was not resumed for this refusal. What policy denies, or a connection is missing for, is refused; an upstream that waits
 * for input has not carried the call out; one whose question nobody can read may have done anything.
 */
export function outcomeOf({ code }: Refusal): Outcome {
  if (notSent.has(code)) return "refused";
  return code === "UPSTREAM_ANSWER_INVALID" ? "unknown" : "failed";
}

const notSent: ReadonlySet<string> = new Set([
  "CLIENT_FEATURE_DENIED",
  "SCOPE_INSUFFICIENT",
  "UPSTREAM_CONNECTION_REQUIRED",
]);

function refusalOf(x: Exchange, judged: Exclude<Judgement, { verdict: "pass" }>): Refusal {
  const { feature = "unknown" } = judged;
  switch (judged.verdict) {
    case "unsupported":
      return refuse("UPSTREAM_INPUT_REQUIRED", { feature, reason: "undeclared" }).refusal;
    case "malformed":
      return refuse("UPSTREAM_INPUT_REQUIRED", { feature, reason: judged.fault }).refusal;
    case "denied":
      return deniedFeature(x, judged);
  }
}

/** What policy's answer about a feature is refused with, whether it is asked for or answered. */
export function deniedFeature(
  x: Exchange,
  { feature, decision }: { feature: ClientFeature; decision: Exclude<Decision, { effect: "allow" }> },
): Refusal {
  if (decision.effect === "step-up" && x.classified?.era === "modern") {
    const { rule, scopes, missing } = decision;
    return refuse("SCOPE_INSUFFICIENT", { rule, scopes, missing, feature }).refusal;
  }
  const reason = decision.effect === "deny" ? decision.reason : "scopes-missing";
  const message = decision.effect === "deny" ? decision.message : undefined;
  const facts = { feature, reason, rule: decision.rule ?? "" };
  return refuse("CLIENT_FEATURE_DENIED", facts, message === undefined ? {} : { message }).refusal;
}
