import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../../upstream/port.ts";
import { upstreamErrorFor, upstreamResult } from "../../protocol/bridge.ts";
import { withoutKeys } from "../../protocol/hop-meta.ts";
import { isInputRequired, isResumable } from "../../protocol/input-required.ts";
import type { Entry } from "../../catalog/table.ts";
import type { Patience } from "../asking/ask-client.ts";
import { answersFrom } from "../asking/answer-asked.ts";
import { declaredCapabilities } from "../asking/declared-capabilities.ts";
import { throughRounds, type Settled } from "../asking/input-rounds.ts";
import { outcomeOf } from "../asking/judge-input.ts";
import { missingCapability, missingCapabilityRefusal } from "../asking/missing-capability.ts";
import { offerInput } from "../asking/offer-input.ts";
import { throughConnection } from "../connections/through-connection.ts";
import { deadlinesOf } from "../deadlines.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import { forwardedHeaders } from "../forwarded-headers.ts";
import type { Gateway } from "../gateway.ts";
import { relayLog } from "./relay-log.ts";
import { relayProgress } from "./relay-progress.ts";
import { becameTask, keepPromise } from "../tasks/keep-promise.ts";
import { ownNameOf } from "../own-name.ts";

/**
 * Sends the judged call to its upstream and sets `result` or `error`, freed of the upstream's hop. What the upstream
 * asks on the way is put before a legacy client while the call is under way; a modern one gets it as the result. So is
 * what the gateway asks: that the caller's person connects the upstream.
 */
export async function forward(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const entry = x.target?.entry;
  if (entry === undefined || isSettled(x) || entry.connects) return undefined;
  const sent = await throughConnection(x, g, () => send(x, g, entry));
  const { sentAt, answer } = sent;
  const settled = isLegacy(x) ? await throughRounds(x, g, sent) : answer;
  x.upstreamMs = g.now() - sentAt;
  x.hop = settled.hop;
  if (settled.kind === "result" && becameTask(x, settled)) return keepPromise(x, g, settled);
  return receive(x, g, settled);
}

interface Sent {
  readonly sentAt: number;
  readonly request: UpstreamRequest;
  readonly answer: UpstreamAnswer;
  readonly patience: Patience;
}

/** Made anew each time, as its deadlines begin with it. */
async function send(x: Exchange, g: Gateway, entry: Entry): Promise<Sent> {
  const sentAt = g.now();
  const request = requestFor(x, g, entry);
  const patience = { until: sentAt + request.timeoutMs, signal: request.signal };
  return { sentAt, request, answer: await g.upstreams.request(request), patience };
}

/** A subscription has its own step, as a call of the gateway's own tools has. */
function isSettled(x: Exchange): boolean {
  return x.result !== undefined || x.error !== undefined;
}

function isLegacy(x: Exchange): boolean {
  return given(x.classified, "a classified message").era === "legacy";
}

function requestFor(x: Exchange, g: Gateway, entry: Entry): UpstreamRequest {
  const { ownInput } = entry;
  const { upstream, kind } = entry.item;
  const { timeoutMs, deadlines } = deadlinesOf(g, entry.item, x.obligations);
  return {
    upstream,
    method: methodOf(x),
    params: outgoingParams(x, entry),
    account: given(x.account, "an account"),
    forwarded: forwardedHeaders(x, g, upstream),
    name: methodOf(x) === completionMethod ? undefined : readTarget(x, entry),
    inputSchema: isJsonObject(ownInput) ? ownInput : undefined,
    kind,
    signal: x.cancellation,
    onProgress: relayProgress(x),
    ...relayLog(x),
    ...askable(x, g, { upstream, until: g.now() + timeoutMs }),
    timeoutMs,
    deadlines,
  };
}

/** What the upstream is told that the client can do, and who answers it. A modern client is asked by results alone. */
function askable(
  x: Exchange,
  g: Gateway,
  about: { upstream: string; until: number },
): Pick<UpstreamRequest, "clientCapabilities" | "onAsked"> {
  const clientCapabilities = declaredCapabilities(x, g, about.upstream);
  if (clientCapabilities === undefined) return {};
  return isLegacy(x) ? { clientCapabilities, onAsked: answersFrom(x, g, about) } : { clientCapabilities };
}

function readTarget(x: Exchange, entry: Entry): string {
  return ownNameOf(given(x.target, "a target").asked, entry);
}

/** A task that nobody here could follow; and what a call resumes with, which goes on as `input`, opened and judged. */
const notRelayed: readonly string[] = ["task", "inputResponses", "requestState"];

function outgoingParams(x: Exchange, entry: Entry): JsonObject {
  const { kind } = entry.item;
  const params: JsonObject = { ...withoutKeys(paramsOf(x), notRelayed) };
  if (methodOf(x) === completionMethod)
    return { ...params, ...presetContext(entry, params), ref: outgoingReference(readTarget(x, entry), params) };
  params[kind === "tool" || kind === "prompt" ? "name" : "uri"] = readTarget(x, entry);
  if (kind === "tool" || kind === "prompt") params["arguments"] = x.args ?? {};
  if (x.task?.is === "wanted") params["task"] = x.task.task;
  return { ...params, ...inputOf(x) };
}

function inputOf({ input }: Exchange): JsonObject {
  const carried: JsonObject = {};
  if (input?.responses !== undefined) carried["inputResponses"] = input.responses;
  if (input?.state !== undefined) carried["requestState"] = input.state;
  return carried;
}

const completionMethod = "completion/complete";

/** A prompt is completed for the arguments that it would be called with. */
function presetContext({ shaped }: Entry, params: JsonObject): JsonObject {
  if (shaped === undefined || shaped.presets.size === 0) return {};
  const context = readOwn(params, "context");
  const known = readOwn(context, "arguments");
  const args = { ...(isJsonObject(known) ? known : {}), ...Object.fromEntries(shaped.presets) };
  return { context: { ...(isJsonObject(context) ? context : {}), arguments: args } };
}

function outgoingReference(name: string, params: JsonObject): JsonObject {
  const ref = readOwn(params, "ref");
  const key = readOwn(ref, "type") === "ref/prompt" ? "name" : "uri";
  return { ...(isJsonObject(ref) ? ref : {}), [key]: name };
}

function receive(x: Exchange, g: Gateway, answer: Settled): Refusal | undefined {
  switch (answer.kind) {
    case "offered":
      return undefined;
    case "refused":
      return notResumed(x, answer.refusal);
    case "failed":
      x.outcome = isUnconnected(answer.refusal) ? "refused" : answer.outcome;
      return answer.refusal;
    case "error":
      return receiveError(x, answer);
    case "result":
      return receiveResult(x, g, answer);
  }
}

/** Nothing of the call was sent, or the upstream refused it for what the connection does not permit. */
function isUnconnected({ code }: Refusal): boolean {
  return code === "UPSTREAM_CONNECTION_REQUIRED";
}

function notResumed(x: Exchange, refusal: Refusal | undefined): Refusal | undefined {
  if (refusal !== undefined) x.outcome = outcomeOf(refusal);
  return refusal;
}

function receiveError(x: Exchange, { error, hop }: Extract<Settled, { kind: "error" }>): Refusal | undefined {
  x.outcome = "failed";
  if (hop.era === "modern" && error.code === missingCapability) return missingCapabilityRefusal(x, error);
  const { era } = given(x.classified, "a classified message");
  x.error = upstreamErrorFor(era, methodOf(x), error);
  return undefined;
}

function receiveResult(x: Exchange, g: Gateway, answer: Extract<Settled, { kind: "result" }>): Refusal | undefined {
  x.resultBytes = answer.bytes;
  if (answer.hop.era === "modern" && isResumable(methodOf(x)) && isInputRequired(answer.result))
    return notResumed(x, offerInput(x, g, answer.result));
  const freed = upstreamResult(answer.hop, methodOf(x), answer.result);
  if (!freed.ok) {
    x.outcome = "unknown";
    return freed.refusal;
  }
  x.result = freed.value;
  return undefined;
}
