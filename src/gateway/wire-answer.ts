import { challengeAlgorithms, challengeError, challengeText } from "../auth/challenge.ts";
import type { JsonObject } from "../model/json.ts";
import { metaPrefix, serverInfoMetaKey } from "../model/identifiers.ts";
import type { Fact, Refusal, RefusalCode } from "../model/refusal.ts";
import type { Era } from "../model/revision.ts";
import type { RpcError, RpcId } from "../model/rpc.ts";
import type { Outcome } from "../model/outcome.ts";
import { errorMessage, resultMessage } from "../protocol/jsonrpc.ts";
import { capabilitiesAt } from "../protocol/required-capabilities.ts";
import { writeJson } from "../protocol/json/write.ts";
import type { VirtualServer } from "./gateway.ts";
import { wireRules, type WireRule } from "./wire-rules.ts";

/** What goes back to the client: one HTTP answer with an optional JSON text, as UTF-8 where that was made beforehand. */
export interface Answer<Body extends string | Buffer = string | Buffer> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Body | undefined;
  /** An event stream that is open already ends without the body. */
  readonly endsStream?: true;
}

/** What is known about the exchange when it is refused. Everything may still be missing. */
export interface RefusalContext {
  readonly ref: string;
  readonly era: Era | undefined;
  readonly id: RpcId | undefined;
  readonly method: string | undefined;
  /** The name or URI the caller asked for, echoed for unknown items. */
  readonly asked: string | undefined;
  readonly outcome: Outcome;
  /** The caller waits for a task, in whose place no result of the tool may stand. */
  readonly asTask?: boolean;
  /** What the gateway says of itself in results of the modern era (2026-07-28, basic, "`_meta`"). */
  readonly serverInfo?: JsonObject;
  /** The protected resource, when the path names one: where a challenge sends the client. */
  readonly resource:
    Pick<VirtualServer, "metadataUrl" | "minimalScopes" | "scopePrefix" | "proofAlgorithms"> | undefined;
  /** Every Authorization header received: a challenge is of the scheme that its client speaks. Default: none. */
  readonly authorization?: readonly string[];
}

/**
 * The only place that decides what strangers see of a refusal. Facts stay inside, except those a
 * protocol demands (supported revisions, scopes of a step-up) and sentences written for callers.
 */
export function answerRefusal(refusal: Refusal, context: RefusalContext): Answer<string> {
  const rule = wireRules[refusal.code];
  return {
    status: statusOf(rule, refusal, context),
    headers: headersOf(rule, refusal, context),
    body: writeJson(messageFor(refusal, context)),
  };
}

/** The answer to a request of which nothing is known but that it is refused. */
export function answerStranger(refusal: Refusal, ref: string): Answer<string> {
  const nothing = { era: undefined, id: undefined, method: undefined, asked: undefined, resource: undefined };
  return answerRefusal(refusal, { ...nothing, ref, outcome: "refused" });
}

/** The JSON-RPC message alone, for an element of a batch or a stream. */
export function messageFor(refusal: Refusal, context: RefusalContext): JsonObject {
  const rule = wireRules[refusal.code];
  if (rule.form === "unknown-item") return errorMessage(context.id, unknownItem(context));
  const inBand = context.era !== "modern" || rule.modernStatus === undefined;
  if (rule.form === "call" && inBand && isToolCall(context) && context.id !== undefined)
    return resultMessage(context.id, toolError(refusal, rule, context));
  return errorMessage(context.id, rpcError(refusal, rule, context));
}

function isToolCall({ method, asTask }: RefusalContext): boolean {
  return method === "tools/call" && asTask !== true;
}

/**
 * A method that is unknown is refused before the message has a place in the journey; the refusal says in which
 * era. A GET that is refused in band is answered like one that finds no stream (2025-11-25, transports, "Listening
 * for Messages from the Server"): every client takes 405 for an answer, and what is no stream for a broken one.
 */
function statusOf(rule: WireRule, refusal: Refusal, context: RefusalContext): number {
  if (context.method === "GET" && rule.status === 200) return 405;
  const era = context.era ?? refusal.facts["era"];
  return era === "modern" ? (rule.modernStatus ?? rule.status) : rule.status;
}

function headersOf(rule: WireRule, refusal: Refusal, context: RefusalContext): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json", "cache-control": "no-store" };
  if (rule.status === 503 || rule.status === 429) headers["retry-after"] = "2";
  if (rule.status === 405) headers["allow"] = listOf(refusal.facts["allow"]).join(", ");
  else if (statusOf(rule, refusal, context) === 405) headers["allow"] = "POST, DELETE";
  if ((rule.form === "challenge" || rule.form === "step-up") && context.resource !== undefined)
    headers["www-authenticate"] = challengeFor(refusal, context.resource, context.authorization);
  return headers;
}

function challengeFor(
  refusal: Refusal,
  resource: NonNullable<RefusalContext["resource"]>,
  authorization: readonly string[] = [],
): string {
  const isStepUp = refusal.code === "SCOPE_INSUFFICIENT";
  const error = challengeError(refusal.code);
  return challengeText({
    algs: challengeAlgorithms(authorization, resource.proofAlgorithms),
    resourceMetadataUrl: resource.metadataUrl,
    scopes: asAsked(isStepUp ? stepUpScopes(refusal, resource) : resource.minimalScopes, resource),
    error,
    description: error === undefined ? undefined : wireRules[refusal.code].text,
  });
}

/** With the least that is useful: some clients hold what the latest challenge names and nothing else. */
function stepUpScopes({ facts }: Refusal, resource: RefusalContext["resource"]): string[] {
  return [...new Set([...listOf(facts["scopes"]), ...(resource?.minimalScopes ?? [])])];
}

/** As clients have to ask the server's issuer for them. */
function asAsked(scopes: readonly string[], resource: RefusalContext["resource"]): string[] {
  return scopes.map((scope) => `${resource?.scopePrefix ?? ""}${scope}`);
}

function listOf(fact: Fact | undefined): readonly string[] {
  return Array.isArray(fact) ? fact.filter((part): part is string => typeof part === "string") : [];
}

/**
 * Equal bytes for "does not exist" and "not for you", once the requested name is substituted. The
 * reference is left out of the text and random, so it tells the two apart no more than the clock does.
 */
function unknownItem(context: RefusalContext): RpcError {
  const asked = (context.asked ?? "").slice(0, 200);
  const isResource = context.method?.startsWith("resources/") === true;
  const data: JsonObject = { refusal: "ITEM_UNKNOWN", ref: context.ref };
  if (isResource) data["uri"] = context.asked ?? "";
  return {
    code: isResource && context.era !== "modern" ? -32002 : -32602,
    message: isResource ? "Resource not found" : `Unknown ${nouns.get(context.method ?? "") ?? "tool"}: ${asked}`,
    data,
  };
}

const nouns: ReadonlyMap<string, string> = new Map([
  ["prompts/get", "prompt"],
  ["completion/complete", "reference"],
]);

function toolError(refusal: Refusal, rule: WireRule, context: RefusalContext): JsonObject {
  const isModern = context.era === "modern";
  return {
    content: [{ type: "text", text: sentence(refusal, rule, context) }],
    isError: true,
    _meta: {
      [`${metaPrefix}refusal`]: { code: refusal.code, ref: context.ref, outcome: context.outcome },
      ...(isModern && context.serverInfo !== undefined ? { [serverInfoMetaKey]: context.serverInfo } : {}),
    },
    ...(isModern ? { resultType: "complete" } : {}),
  };
}

function sentence(refusal: Refusal, rule: WireRule, context: RefusalContext): string {
  const unknown =
    context.outcome === "unknown" ? " Whether the call was carried out is unknown: check before you repeat it." : "";
  const detail = refusal.message === undefined ? "" : ` ${refusal.message}`;
  return `${rule.text}${detail}${unknown} (${refusal.code}, ref ${context.ref})`;
}

function rpcError(refusal: Refusal, rule: WireRule, context: RefusalContext): RpcError {
  const data: JsonObject = { refusal: toldCode(refusal.code), ref: context.ref };
  if (context.outcome === "unknown") data["outcome"] = "unknown";
  if (refusal.code === "REVISION_UNSUPPORTED") {
    data["supported"] = [...listOf(refusal.facts["supported"])];
    data["requested"] = typeof refusal.facts["requested"] === "string" ? refusal.facts["requested"] : "";
  }
  if (refusal.code === "SCOPE_INSUFFICIENT")
    data["scopes"] = asAsked(stepUpScopes(refusal, context.resource), context.resource);
  if (refusal.code === "CLIENT_CAPABILITY_MISSING" && context.era === "modern")
    data["requiredCapabilities"] = capabilitiesAt(listOf(refusal.facts["required"]));
  const message = rule.form === "call" && refusal.message !== undefined ? `${rule.text} ${refusal.message}` : rule.text;
  return { code: rpcCodeFor(rule, context), message, data };
}

/** Whose session it is stays inside: another principal's is answered like one that does not exist. */
function toldCode(code: RefusalCode): RefusalCode {
  return code === "SESSION_NOT_YOURS" ? "SESSION_UNKNOWN" : code;
}

/** Codes -32000 to -32019 are never emitted in the modern era. */
function rpcCodeFor(rule: WireRule, context: RefusalContext): number {
  if (context.era === "modern" && rule.modernRpcCode !== undefined) return rule.modernRpcCode;
  const reserved = rule.rpcCode <= -32000 && rule.rpcCode >= -32019;
  return reserved && context.era === "modern" ? -32600 : rule.rpcCode;
}
