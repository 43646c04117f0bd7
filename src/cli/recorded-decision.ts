import type { Decision } from "../model/decision.ts";
import { isJsonObject, readOwn, readOwnString, type Json, type JsonObject } from "../model/json.ts";
import { principalKey, type Principal } from "../model/principal.ts";
import type { KnownFields } from "../policy/partial-view.ts";
import type { Subject, SubjectKind } from "../policy/question.ts";
import type { RecordedDecision } from "../policy/replay.ts";

/** What reading evidence needs of a configuration. */
export interface RecordNames {
  readonly issuers: readonly { readonly alias: string; readonly issuer: string }[];
  /** What a token's scopes are worth under the policy in question. */
  readonly held: (scopes: readonly string[]) => readonly string[];
  /** What a server puts before the URIs of an upstream. */
  readonly uriPrefix: (server: string, upstream: string) => string;
}

/** One exchange leaves several events; of these types it leaves exactly one, and an upstream's question one of its own. */
const outcomeTypes: ReadonlySet<string> = new Set([
  "listed",
  "denied",
  "returned",
  "failed",
  "refused",
  "unknown",
  "session",
  "asked",
]);

/**
 * The decision that an event holds, with what it holds of the question. Undefined for events that hold none, or not
 * enough to ask anything: no principal of a configured issuer, no server, an item that was never found, what the
 * gateway itself asked or offers (no rule is about it), and an event that lost its decision to its size.
 */
export function recordedDecision(event: JsonObject, names: RecordNames): RecordedDecision | undefined {
  if (!outcomeTypes.has(text(event, "type"))) return undefined;
  const decision = decisionOf(event);
  const principal = recordedPrincipal(event, names);
  const server = readOwnString(event, "server");
  const asked = isAsked(event) ? askedFeature(event) : itemOf(event);
  if (decision === undefined || principal === undefined || server === undefined || asked === null) return undefined;
  if (asked?.upstream !== undefined && decision.effect === "allow" && decision.rule === "") return undefined;
  const request = requestOf(event);
  if (request === undefined) return undefined;
  const uri = uriOf(event, asked, names);
  const { knowledge, args } = knownOf(event, decision, uri);
  const recorded = { question: { principal, server, item: asked, args, request: request.from }, decision };
  return { ...recorded, knowledge: { ...knowledge, nowMax: request.nowMax }, uri };
}

/** Who acted, as an event names them; undefined where it names nobody, or an issuer that is not configured. */
export function recordedPrincipal(event: JsonObject, names: RecordNames): Principal | undefined {
  const who = readOwn(event, "principal");
  const issuer = names.issuers.find((known) => known.issuer === text(who, "issuer"));
  if (!isJsonObject(who) || issuer === undefined) return undefined;
  const kind = text(who, "kind") === "service" ? "service" : "human";
  const identity = {
    tenant: text(event, "tenant"),
    issuer: issuer.issuer,
    kind,
    subject: text(who, "subject"),
    clientId: text(who, "clientId"),
  } as const;
  return {
    ...identity,
    issuerAlias: issuer.alias,
    groups: textsOf(readOwn(who, "groups")),
    scopes: names.held(textsOf(readOwn(who, "scopes"))),
    claims: heldClaims(event),
    expiresAt: Number.MAX_SAFE_INTEGER,
    key: principalKey(identity),
  };
}

function heldClaims(event: JsonObject): JsonObject {
  const held = readOwn(readOwn(event, "claims"), "held");
  return isJsonObject(held) ? Object.fromEntries(Object.entries(held).filter(([, value]) => isWhole(value))) : {};
}

/** An item hidden from its principal has no decision of its own: nothing allowed it. */
function decisionOf(event: JsonObject): Decision | undefined {
  const decision = readOwn(event, "decision");
  if (!isJsonObject(decision)) {
    const isHidden = text(readOwn(event, "refusal"), "code") === "ITEM_HIDDEN" && readOwn(event, "item") !== undefined;
    return isHidden ? { effect: "deny", reason: "no-rule-allows", read: [] } : undefined;
  }
  const [rule, read] = [readOwnString(decision, "rule"), textsOf(readOwn(decision, "read"))];
  const effect = text(decision, "effect");
  if (effect === "allow") return { effect, rule: rule ?? "", read };
  if (effect === "step-up") {
    const [scopes, missing] = [textsOf(readOwn(decision, "scopes")), textsOf(readOwn(decision, "missing"))];
    return { effect, rule: rule ?? "", scopes, missing, read };
  }
  const reason = reasons.find((one) => one === text(decision, "reason"));
  if (effect !== "deny" || reason === undefined) return undefined;
  return { effect, reason, read, ...(rule === undefined ? {} : { rule }) };
}

const reasons = ["denied-by-rule", "no-rule-allows", "condition-false", "condition-error", "outside-token"] as const;

function isAsked(event: JsonObject): boolean {
  return text(event, "type") === "asked";
}

function askedFeature(event: JsonObject): Subject | null {
  const asked = readOwn(event, "asked");
  const name = text(asked, "feature");
  if (name === "unknown" || readOwn(asked, "by") !== undefined) return null;
  return { upstream: text(asked, "upstream"), kind: "clientFeature", name };
}

const kinds: readonly SubjectKind[] = ["tool", "prompt", "resource", "template"];

/** Undefined: the exchange concerned none. Null: it concerned one that cannot be told. */
export function itemOf(event: JsonObject): Subject | undefined | null {
  const item = readOwn(event, "item");
  if (item === undefined) return readOwn(event, "exposedName") === undefined ? undefined : null;
  const kind = kinds.find((one) => one === text(item, "kind"));
  if (kind === undefined) return null;
  const digest = text(item, "digest");
  return { upstream: text(item, "upstream"), kind, name: text(item, "name"), ...(digest === "" ? {} : { digest }) };
}

function requestOf(event: JsonObject): { from: RecordedDecision["question"]["request"]; nowMax: number } | undefined {
  const nowMax = Date.parse(text(event, "at"));
  if (Number.isNaN(nowMax)) return undefined;
  const took = readOwn(event, "durationMs");
  const client = readOwn(event, "client");
  const era = text(client, "era") === "legacy" ? "legacy" : "modern";
  const now = nowMax - (typeof took === "number" ? took : 0) - batchMs;
  return { from: { now, transport: "http", era, revision: text(client, "revision") }, nowMax };
}

/** An event gets its time when it is recorded, and durations are whole milliseconds: so much earlier it may have begun. */
const batchMs = 2;

/**
 * Arguments and claims as far as they are recorded. A place that policy read and that has no value was empty; a value
 * that was too long for evidence is unknown, and so is everything where a condition looked at all arguments.
 */
function knownOf(
  event: JsonObject,
  decision: Decision,
  uri: string | undefined,
): { knowledge: RecordedDecision["knowledge"]; args: JsonObject | undefined } {
  const claims = knownClaims(event);
  if (isAsked(event)) return { args: undefined, knowledge: { partly: { claims } } };
  if (uri !== undefined && text(event, "method") !== "completion/complete")
    return { args: { uri }, knowledge: { partly: { claims } } };
  if (readOwn(event, "argumentsBytes") === emptyBytes) return { args: {}, knowledge: { partly: { claims } } };
  return { args: undefined, knowledge: { partly: { args: knownArguments(event, decision), claims } } };
}

/** Of `{}`. */
const emptyBytes = 2;

function knownArguments(event: JsonObject, { read }: Decision): KnownFields {
  const values = readOwn(event, "read");
  const known = new Map<string, Json | undefined>();
  // An event that lost them to its size says nothing of what was there.
  if (!isJsonObject(values)) return known;
  for (const pointer of new Set([...read, ...Object.keys(values)])) {
    if (pointer === "") return new Map();
    const value = readOwn(values, pointer);
    if (value === undefined || isWhole(value)) known.set(pointer, value);
  }
  return known;
}

function knownClaims(event: JsonObject): KnownFields {
  const claims = readOwn(event, "claims");
  const held = readOwn(claims, "held");
  const known = new Map<string, Json | undefined>();
  for (const name of textsOf(readOwn(claims, "named"))) {
    const value = readOwn(held, name);
    if (value === undefined || isWhole(value)) known.set(`/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, value);
  }
  return known;
}

/** Evidence has the digest of what is too long, and U+FFFD for what is no well-formed text. */
function isWhole(value: Json): boolean {
  if (isJsonObject(value)) {
    const [only, ...others] = Object.keys(value);
    if (only === "digest" && others.length === 0 && /^[0-9a-f]{64}$/u.test(text(value, "digest"))) return false;
  }
  return !JSON.stringify(value).includes("\ufffd");
}

function uriOf(event: JsonObject, item: Subject | undefined, names: RecordNames): string | undefined {
  const asked = readOwnString(event, "exposedName");
  if (item?.kind !== "template" || asked === undefined) return undefined;
  // Views of applications keep their own names everywhere.
  if (item.name.startsWith("ui://")) return asked;
  return asked.slice(names.uriPrefix(text(event, "server"), item.upstream).length);
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((part) => typeof part === "string") : [];
}

function text(value: Json | undefined, key: string): string {
  return readOwnString(value, key) ?? "";
}
