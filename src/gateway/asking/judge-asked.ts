import type { ClientFeature } from "../../model/client-feature.ts";
import type { Decision } from "../../model/decision.ts";
import type { Finding } from "../../model/finding.ts";
import { readOwn, type Json, type JsonObject } from "../../model/json.ts";
import { decide } from "../../policy/decide.ts";
import { readAsked, type AskedRequest } from "../../protocol/asked-request.ts";
import { declaredFeatures, featureOf } from "../../protocol/client-features.ts";
import { withoutPatterns } from "../../protocol/elicitation-form.ts";
import { digestOf } from "../../protocol/json/canonical.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { cleanAsked } from "../../sanitize/clean-asked.ts";
import type { Checker } from "../../schema/checker.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { questionAboutFeature } from "../steps/question.ts";
import { capabilitiesOf } from "./declared-capabilities.ts";

/** A request of an upstream to the client behind an exchange. */
export interface FromUpstream {
  readonly upstream: string;
  readonly method: string;
  readonly params: JsonObject;
}

export type Judgement =
  | {
      readonly verdict: "pass";
      /** As it may be put before the client. */
      readonly request: AskedRequest;
      readonly feature: ClientFeature;
      readonly decision: Decision;
      readonly findings: readonly Finding[];
    }
  | {
      readonly verdict: "denied";
      readonly feature: ClientFeature;
      readonly decision: Exclude<Decision, { effect: "allow" }>;
      readonly findings: readonly Finding[];
    }
  /** The client did not declare it, or no client can. */
  | { readonly verdict: "unsupported"; readonly feature: ClientFeature | undefined }
  | {
      readonly verdict: "malformed";
      readonly feature: ClientFeature;
      /** Words of the gateway's own, for the upstream. */
      readonly fault: string;
      readonly findings: readonly Finding[];
    };

/**
 * Judges what an upstream asks: whether the client said it can do that, whether the request has its method's shape
 * and is safe to show once its text is cleaned, and whether policy lets this upstream ask it of this principal, with
 * the parameters as they would be sent.
 */
export function judgeAsked(x: Exchange, g: Gateway, { upstream, method, params }: FromUpstream): Judgement {
  const feature = featureOf(method, params);
  if (feature === undefined || !declaredFeatures(capabilitiesOf(x)).has(feature))
    return { verdict: "unsupported", feature };
  const read = readAsked(method, params);
  if ("fault" in read) return { verdict: "malformed", feature, fault: read.fault, findings: [] };
  const { params: cleaned, findings, unsafe } = cleanAsked(method, read.params);
  const request = { ...read, params: cleaned };
  if (unsafe) {
    const fault = "the request holds hidden or overlong text that cannot be shown";
    return { verdict: "malformed", feature, fault, findings };
  }
  const decision = decide(g.inForce().policy, questionAboutFeature(x, { upstream, feature, params: cleaned }, g.now()));
  if (decision.effect !== "allow") return { verdict: "denied", feature, decision, findings };
  // A form is compiled only where it may be asked.
  const fault = faultOf(g, request);
  if (fault !== undefined) return { verdict: "malformed", feature, fault, findings };
  return { verdict: "pass", request, feature, decision, findings };
}

function faultOf(g: Gateway, request: AskedRequest): string | undefined {
  if (writeJson(request.params).length > g.limits.askedCharsMax) return "the request is too large";
  const form = formOf(g, request);
  return form === undefined || form.usable ? undefined : "requestedSchema cannot be checked";
}

/** What holds an accepted form's content to the form; undefined for what is no form. */
export function formOf(g: Gateway, { feature, params }: AskedRequest): Checker | undefined {
  const asked = feature === "elicitation" ? readOwn(params, "requestedSchema") : undefined;
  const schema = asked === undefined ? undefined : withoutPatterns(asked);
  return schema === undefined ? undefined : g.asking.forms.for(digestOf(schema), schema);
}

/** True when `content` is what the form asked for. Formats are not asserted (see `Checker`). */
export function fitsForm(g: Gateway, request: AskedRequest, content: Json): boolean {
  const form = formOf(g, request);
  return form === undefined || (form.usable && form.check(content).length === 0);
}
