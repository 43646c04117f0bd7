import type { Entry } from "../../catalog/table.ts";
import { isJsonObject, readOwn } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { readAnswer } from "../../protocol/asked-answer.ts";
import type { InputGiven } from "../../protocol/input-required.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { outcomeOf as answeredAs } from "../asking/ask-client.ts";
import { recordAsked } from "../asking/record-asked.ts";
import { sealState, type OpenedState } from "../asking/request-state.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** The gateway's own question among `inputRequests`; an upstream's never stand beside it. */
const inputKey = "connect";
const feature = "elicitation_url";
const method = "elicitation/create";

/**
 * Sets `result` and `asksInput`: asks a modern client to open the page (2026-07-28, MRTR and elicitation, "URL mode").
 * What the call itself resumes with goes along, sealed, as nothing of it has reached the upstream. False where that
 * is more than a client can be given to carry; a refusal where evidence cannot be kept.
 */
export function offerConnection(
  x: Exchange,
  g: Gateway,
  of: { readonly upstream: string; readonly url: string; readonly message: string },
): boolean | Refusal {
  const entry = given(x.target?.entry, "a target");
  const { responses, state } = x.input ?? { responses: undefined, state: undefined };
  const carried = writeJson([state ?? "", responses ?? {}]);
  if (Buffer.byteLength(carried) > g.limits.requestStateBytesMax) return false;
  const held = { state, asked: new Map([[inputKey, feature] as const]), connects: { responses } };
  const { upstream, url, message } = of;
  const asked = { upstream, method };
  if (!recordAsked(x, g, { asked, feature, outcome: "offered", own: true })) return refuse("AUDIT_UNAVAILABLE").refusal;
  x.result = {
    resultType: "input_required",
    inputRequests: { [inputKey]: { method, params: { mode: "url", message, url } } },
    requestState: sealState(x, g, { entry, held }),
  };
  x.asksInput = true;
  return true;
}

/**
 * Sets `input` to what the call itself resumes with, and `connecting`, as a client comes back from the page. Refuses
 * UPSTREAM_CONNECTION_REQUIRED when the person declined, and RPC_PARAMS_INVALID for an answer to something else.
 */
export function takeConnection(
  x: Exchange,
  g: Gateway,
  of: { readonly entry: Entry; readonly given: InputGiven; readonly opened: OpenedState },
): Refusal | undefined {
  const { entry, opened } = of;
  const { upstream } = entry.item;
  const answer = readOwn(of.given.responses, inputKey);
  const read = isJsonObject(answer) ? readAnswer({ feature }, answer) : undefined;
  if (read === undefined) return refuse("RPC_PARAMS_INVALID", { member: "inputResponses" }).refusal;
  const outcome = answeredAs({ method }, read);
  if (!recordAsked(x, g, { asked: { upstream, method }, feature, outcome, own: true }))
    return refuse("AUDIT_UNAVAILABLE").refusal;
  if (outcome !== "accepted") return refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream, reason: outcome }).refusal;
  const responses = opened.connects?.responses;
  const { state } = opened;
  x.input = responses === undefined && state === undefined ? undefined : { responses, state };
  x.connecting = true;
  return undefined;
}
