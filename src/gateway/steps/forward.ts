import { neverCancelled } from "../../model/cancellation.ts";
import { isJsonObject, readOwn, type JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../../upstream/port.ts";
import { upstreamErrorFor, upstreamResult } from "../../protocol/bridge.ts";
import { withoutKeys } from "../../protocol/hop-meta.ts";
import type { Entry } from "../../catalog/table.ts";
import { given, methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { relayProgress } from "./relay-progress.ts";
import { ownNameOf } from "../own-name.ts";

/** Sends the judged call to its upstream and sets `result` or `error`, freed of the upstream's hop. */
export async function forward(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const entry = x.target?.entry;
  if (entry === undefined) return undefined;
  const sentAt = g.now();
  const answer = await g.upstreams.request(requestFor(x, g, entry));
  x.upstreamMs = g.now() - sentAt;
  x.hop = answer.hop;
  return receive(x, answer);
}

function requestFor(x: Exchange, g: Gateway, entry: Entry): UpstreamRequest {
  const { era } = given(x.classified, "a classified message");
  const { ownInput } = entry;
  return {
    upstream: entry.item.upstream,
    method: methodOf(x),
    params: outgoingParams(x, entry),
    account: given(x.account, "an account"),
    name: methodOf(x) === completionMethod ? undefined : readTarget(x, entry),
    inputSchema: isJsonObject(ownInput) ? ownInput : undefined,
    kind: entry.item.kind,
    // On a legacy hop a lost connection is no cancellation (2025-11-25, transport, "Sending messages").
    signal: era === "modern" ? x.arrival.gone : neverCancelled,
    onProgress: relayProgress(x),
    timeoutMs: g.treatments.get(entry.item.upstream)?.callTimeoutMs ?? g.limits.upstreamCallTimeoutMs,
  };
}

function readTarget(x: Exchange, entry: Entry): string {
  return ownNameOf(given(x.target, "a target").asked, entry);
}

/** Answers to questions that were not asked through here, and a task that nobody here could follow: neither is judged. */
const notRelayed: readonly string[] = ["task", "inputResponses", "requestState"];

function outgoingParams(x: Exchange, entry: Entry): JsonObject {
  const { kind } = entry.item;
  const params: JsonObject = { ...withoutKeys(paramsOf(x), notRelayed) };
  if (methodOf(x) === completionMethod) return { ...params, ref: outgoingReference(readTarget(x, entry), params) };
  params[kind === "tool" || kind === "prompt" ? "name" : "uri"] = readTarget(x, entry);
  if (kind === "tool" || kind === "prompt") params["arguments"] = x.args ?? {};
  return params;
}

const completionMethod = "completion/complete";

function outgoingReference(name: string, params: JsonObject): JsonObject {
  const ref = readOwn(params, "ref");
  const key = readOwn(ref, "type") === "ref/prompt" ? "name" : "uri";
  return { ...(isJsonObject(ref) ? ref : {}), [key]: name };
}

function receive(x: Exchange, answer: UpstreamAnswer): Refusal | undefined {
  switch (answer.kind) {
    case "failed":
      x.outcome = answer.outcome;
      return answer.refusal;
    case "error": {
      const { era } = given(x.classified, "a classified message");
      x.outcome = "failed";
      x.error = upstreamErrorFor(era, methodOf(x), answer.error);
      return undefined;
    }
    case "result": {
      const freed = upstreamResult(answer.hop, methodOf(x), answer.result);
      if (!freed.ok) {
        x.outcome = "unknown";
        return freed.refusal;
      }
      x.result = freed.value;
      x.resultBytes = answer.bytes;
      return undefined;
    }
  }
}
