import { isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { isSomeAnswer } from "./asked-answer.ts";
import { withoutHopMeta } from "./hop-meta.ts";

/** What an upstream wants before it goes on (2026-07-28, MRTR, "InputRequiredResult"). */
export interface InputRequired {
  readonly requests: readonly InputRequest[];
  /** To be given back byte for byte; whatever it means is the upstream's own. */
  readonly state: string | undefined;
}

export interface InputRequest {
  readonly key: string;
  readonly method: string;
  readonly params: JsonObject;
}

/** The requests that may be answered with `input_required`, and no others ("Supported Requests"). */
const resumable: ReadonlySet<string> = new Set(["tools/call", "prompts/get", "resources/read"]);

export function isResumable(method: string): boolean {
  return resumable.has(method);
}

export function isInputRequired(result: JsonObject): boolean {
  return readOwn(result, "resultType") === "input_required";
}

/**
 * Reads an `InputRequiredResult`. Refuses with UPSTREAM_ANSWER_INVALID, naming the member: an answer to a method that
 * cannot be resumed, neither requests nor state, more requests than `askedPerRoundMax`, a request of no method, a
 * state over `requestStateBytesMax`. What the requests ask is checked by `readAsked`.
 */
export function readInputRequired(method: string, result: JsonObject): Result<InputRequired> {
  if (!isResumable(method)) return invalid(method, "resultType");
  const requests = readOwn(result, "inputRequests") ?? {};
  const state = readOwn(result, "requestState");
  if (!isJsonObject(requests)) return invalid(method, "inputRequests");
  if (state !== undefined && !isState(state)) return invalid(method, "requestState");
  const read = Object.entries(requests).map(([key, request]) => readRequest(key, request));
  const sound = read.filter((request) => request !== undefined);
  const isSound = sound.length === read.length && sound.length <= limits.askedPerRoundMax;
  if (!isSound || (sound.length === 0 && state === undefined)) return invalid(method, "inputRequests");
  return ok({ requests: sound, state });
}

function readRequest(key: string, request: Json): InputRequest | undefined {
  const method = readOwn(request, "method");
  const params = readOwn(request, "params") ?? {};
  if (typeof method !== "string" || !isJsonObject(params) || key.length > limits.askedIdCharsMax) return undefined;
  return { key, method, params };
}

function isState(state: unknown): state is string {
  return typeof state === "string" && Buffer.byteLength(JSON.stringify(state)) <= limits.requestStateBytesMax;
}

/** What a client's retry brings. */
export interface InputGiven {
  readonly responses: JsonObject | undefined;
  /** The handle that the client was given for the upstream's state. */
  readonly handle: string | undefined;
}

/**
 * Reads what a request resumes with. Refuses with RPC_PARAMS_INVALID when `inputResponses` is no object whose values
 * are answers to some request of a server, has more than `askedPerRoundMax` of them or a key of more than
 * `askedIdCharsMax` characters, or when `requestState` is no string. Not checked: whether anything of it was asked.
 */
export function readInputGiven(params: JsonObject): Result<InputGiven> {
  const responses = readOwn(params, "inputResponses");
  const handle = readOwn(params, "requestState");
  if (handle !== undefined && typeof handle !== "string") return wrong("requestState");
  if (responses === undefined) return ok({ responses, handle });
  if (!isJsonObject(responses) || Object.keys(responses).length > limits.askedPerRoundMax)
    return wrong("inputResponses");
  const freed: JsonObject = {};
  for (const [key, answer] of Object.entries(responses)) {
    if (key.length > limits.askedIdCharsMax || !isSomeAnswer(answer)) return wrong("inputResponses");
    freed[key] = withoutHopMeta(answer);
  }
  return ok({ responses: freed, handle });
}

function wrong(member: string): Refused {
  return refuse("RPC_PARAMS_INVALID", { member });
}

function invalid(method: string, member: string): Refused {
  return refuse("UPSTREAM_ANSWER_INVALID", { method, member });
}
