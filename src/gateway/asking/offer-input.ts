import type { JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { withoutHopMeta, withoutKeys } from "../../protocol/hop-meta.ts";
import { readInputRequired } from "../../protocol/input-required.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { judgeInput } from "./judge-input.ts";
import { recordAsked } from "./record-asked.ts";
import { sealState } from "./request-state.ts";

/**
 * Sets `result` and `asksInput`: a modern upstream's `input_required` for a modern client (2026-07-28, MRTR), its
 * requests judged and cleaned and its state sealed together with what they ask. The call ends here; whether the client
 * calls again is its own affair. Where the upstream gave no state the client gets one all the same, of the gateway's
 * own: by it the answers are known for what was asked, and the upstream is given none.
 */
export function offerInput(x: Exchange, g: Gateway, result: JsonObject): Refusal | undefined {
  const entry = given(given(x.target, "a target").entry, "an entry");
  const { upstream } = entry.item;
  const required = readInputRequired(methodOf(x), result);
  if (!required.ok) return required.refusal;
  const judged = judgeInput(x, g, { upstream, required: required.value });
  if (!judged.ok) return judged.refusal;
  const offered: JsonObject = { ...withoutKeys(withoutHopMeta(result), rewritten), resultType: "input_required" };
  const requests: JsonObject = {};
  for (const { key, request } of judged.value) requests[key] = { method: request.method, params: request.params };
  if (judged.value.length > 0) offered["inputRequests"] = requests;
  const asked = new Map(judged.value.map(({ key, request: { feature } }) => [key, feature]));
  offered["requestState"] = sealState(x, g, { entry, held: { state: required.value.state, asked } });
  const kept = judged.value.map(({ request: { method }, judged: { feature, decision, findings } }) =>
    recordAsked(x, g, { asked: { upstream, method }, feature, decision, findings, outcome: "offered" }),
  );
  if (kept.includes(false)) return refuse("AUDIT_UNAVAILABLE").refusal;
  x.result = offered;
  x.asksInput = true;
  return undefined;
}

/** Made anew; caching hints would have a question cached. */
const rewritten: readonly string[] = ["inputRequests", "requestState", "resultType", "ttlMs", "cacheScope"];
