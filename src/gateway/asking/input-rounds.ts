import { readOwn, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { ok, type Refused, type Result } from "../../model/result.ts";
import { isInputRequired, isResumable, readInputRequired, type InputRequired } from "../../protocol/input-required.ts";
import type { Hop, UpstreamAnswer, UpstreamRequest } from "../../upstream/port.ts";
import { methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { askClient, type ClientAnswer, type Patience } from "./ask-client.ts";
import { judgeInput, type JudgedInput } from "./judge-input.ts";
import { recordAsked } from "./record-asked.ts";

/** What a call came to once every question was answered, or why it went no further. */
export type Settled =
  | UpstreamAnswer
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly hop: Hop | undefined }
  /** The gateway's own question stands in the result. */
  | { readonly kind: "offered"; readonly hop: undefined };

/**
 * Carries a legacy client's call through the questions of a modern upstream (2026-07-28, MRTR): each round's requests
 * are put before the client at once, as a server of its own era would, and the call is sent again with the answers
 * and the upstream's state. At most `askedRoundsMax` rounds, within the deadline of the call. Nothing of the state
 * reaches the client, so nothing of it is sealed.
 */
export async function throughRounds(
  x: Exchange,
  g: Gateway,
  first: { readonly request: UpstreamRequest; readonly answer: Settled; readonly patience: Patience },
): Promise<Settled> {
  const { request, patience } = first;
  let { answer } = first;
  for (let round = 1; asksInput(x, answer); round += 1) {
    const { hop } = answer;
    if (round > g.limits.askedRoundsMax) return refused(hop, tooOften(g));
    const input = await gather(x, g, { upstream: request.upstream, result: answer.result, patience });
    if (!input.ok) return refused(hop, input.refusal);
    const timeoutMs = patience.until - g.now();
    if (timeoutMs <= 0) return refused(hop, refuse("CLIENT_INPUT_ABSENT", { why: "timed-out" }).refusal);
    answer = await g.upstreams.request({ ...request, params: { ...request.params, ...input.value }, timeoutMs });
  }
  return answer;
}

/** An upstream of the legacy era that answers so knows no such thing, and its answer is judged as a result. */
function asksInput(x: Exchange, answer: Settled): answer is Extract<UpstreamAnswer, { kind: "result" }> {
  if (answer.kind !== "result" || answer.hop.era !== "modern") return false;
  return isResumable(methodOf(x)) && isInputRequired(answer.result);
}

function refused(hop: Hop, refusal: Refusal): Settled {
  return { kind: "refused", refusal, hop };
}

function tooOften({ limits }: Gateway): Refusal {
  return refuse("UPSTREAM_INPUT_REQUIRED", { reason: "rounds", roundsMax: limits.askedRoundsMax }).refusal;
}

/** What the next attempt carries on top of the first one's parameters. */
async function gather(
  x: Exchange,
  g: Gateway,
  { upstream, result, patience }: { upstream: string; result: JsonObject; patience: Patience },
): Promise<Result<JsonObject>> {
  const required = readInputRequired(methodOf(x), result);
  if (!required.ok) return required;
  const judged = judgeInput(x, g, { upstream, required: required.value });
  if (!judged.ok) return judged;
  const answers = await Promise.all(judged.value.map((input) => answerTo(x, g, { upstream, input, patience })));
  const responses: JsonObject = {};
  for (const { key, answer } of answers) {
    if (answer.kind === "error") return notGiven(answer);
    responses[key] = answer.result;
  }
  return ok(resumedWith(required.value, responses));
}

function notGiven({ outcome }: ClientAnswer): Refused {
  return outcome === "withdrawn" ? refuse("CLIENT_GONE") : refuse("CLIENT_INPUT_ABSENT", { why: outcome });
}

/** A client must not send a state that it was not given, and no answers where nothing was asked. */
function resumedWith({ requests, state }: InputRequired, responses: JsonObject): JsonObject {
  const carried: JsonObject = requests.length === 0 ? {} : { inputResponses: responses };
  if (state !== undefined) carried["requestState"] = state;
  return carried;
}

async function answerTo(
  x: Exchange,
  g: Gateway,
  { upstream, input, patience }: { upstream: string; input: JudgedInput; patience: Patience },
): Promise<{ key: string; answer: ClientAnswer }> {
  const { feature, decision, findings } = input.judged;
  const request = { ...input.request, params: legacyParams(g, input) };
  const answer = await askClient(x, g, { request, patience });
  const asked = { upstream, method: request.method };
  const kept = recordAsked(x, g, { asked, feature, decision, findings, outcome: answer.outcome });
  return { key: input.key, answer: kept ? answer : { ...unkept, outcome: answer.outcome } };
}

const unkept = { kind: "error", error: { code: -32603, message: "The gateway cannot keep evidence now." } } as const;

/** 2025-11-25 requires an `elicitationId`, which 2026-07-28 does not have. */
function legacyParams(g: Gateway, { request: { feature, params } }: JudgedInput): JsonObject {
  if (feature !== "elicitation_url" || readOwn(params, "elicitationId") !== undefined) return params;
  return { ...params, elicitationId: g.asking.newId() };
}
