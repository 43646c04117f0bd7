import type { AuditDraft } from "../../audit/port.ts";
import type { Decision } from "../../model/decision.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import type { Item } from "../../model/item.ts";
import { isJsonObject, readOwn } from "../../model/json.ts";
import type { Principal } from "../../model/principal.ts";
import type { Refusal } from "../../model/refusal.ts";
import { isModernRevision, revisions, type Era } from "../../model/revision.ts";
import { canonicalJson } from "../../protocol/json/canonical.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { methodOf, type Exchange } from "../exchange.ts";
import { policyOf } from "../policy-in-force.ts";
import type { Gateway } from "../gateway.ts";

/** An event on its way: members are added one by one, as a spread of so many costs 8 µs (Node 20). */
type Draft = { -readonly [Name in keyof AuditDraft]: AuditDraft[Name] };

/** What audit learns of an exchange: who, where, what, decided how. Arguments only as keyed digest and the fields policy read. */
export function draftOf(
  x: Exchange,
  g: Gateway,
  fact: { type: AuditDraft["type"]; refusal?: Refusal; durationMs?: number },
): AuditDraft {
  const tenant = x.principal?.tenant ?? "default";
  const draft: Draft = { type: fact.type, ref: x.ref, tenant, server: x.arrival.server.name };
  if (x.principal !== undefined) draft.principal = madeOnce(principals, x.principal, who);
  const presentation = x.view?.table.presentation;
  if (presentation !== undefined) draft.presentation = presentation.id;
  addHops(draft, x);
  addTarget(draft, x, g);
  if (x.decision !== undefined) {
    draft.decision = x.decision;
    draft.read = x.fieldsRead ??= fieldsRead(x, x.decision, g);
  }
  if (x.decision !== undefined || x.hidden !== undefined) addClaims(draft, x, g);
  if (x.listed !== undefined) draft.listed = x.listed;
  addConstrained(draft, x);
  if (x.shadowed !== undefined) draft.shadow = x.shadowed;
  addEnding(draft, x, g, fact);
  return draft;
}

/** The same object for every event: whoever writes events knows what it has written of it before. */
function madeOnce<From extends object, To>(known: WeakMap<From, To>, from: From, make: (from: From) => To): To {
  let made = known.get(from);
  if (made === undefined) known.set(from, (made = make(from)));
  return made;
}

const principals = new WeakMap<Principal, NonNullable<AuditDraft["principal"]>>();
const items = new WeakMap<Item, NonNullable<AuditDraft["item"]>>();

function what({ upstream, kind, name, digest }: Item): NonNullable<AuditDraft["item"]> {
  return { digest, kind, name, upstream };
}

function who({ issuer, kind, subject, clientId, groups, scopes }: Principal): NonNullable<AuditDraft["principal"]> {
  return { clientId, groups, issuer, kind, scopes, subject };
}

/** Of the same principal under the same policy the same object, as of who acts. */
const claimsKept = new WeakMap<Principal, { readonly named: readonly string[]; readonly claims: Claims }>();

type Claims = NonNullable<AuditDraft["claims"]>;

function addClaims(draft: Draft, x: Exchange, g: Gateway): void {
  const named = policyOf(x, g).claims;
  if (named.length === 0 || x.principal === undefined) return;
  const known = claimsKept.get(x.principal);
  if (known?.named === named) {
    draft.claims = known.claims;
    return;
  }
  draft.claims = { held: claimsHeld(x.principal, named, g), named };
  claimsKept.set(x.principal, { named, claims: draft.claims });
}

function claimsHeld({ claims }: Principal, named: readonly string[], g: Gateway): JsonObject {
  const held: JsonObject = {};
  for (const name of named) {
    const value = readOwn(claims, name);
    if (value !== undefined) held[name] = asKept(value, g);
  }
  return held;
}

/** Rules that shaped the item for its principal, and those that bind its use. */
function addConstrained(draft: Draft, x: Exchange): void {
  const shaped = x.target?.entry?.shaped?.rules ?? none;
  const bound = x.obligations?.rules ?? none;
  if (shaped.length + bound.length > 0) draft.constrained = [...new Set([...shaped, ...bound])].sort();
}

const none: readonly string[] = [];

function addHops(draft: Draft, x: Exchange): void {
  if (x.classified === undefined) return;
  const { era } = x.classified;
  draft.method = methodOf(x);
  draft.client = clientOf(era, x.session?.revision ?? x.classified.revision ?? "");
  if (x.hop !== undefined) draft.upstreamHop = x.hop;
}

type Client = NonNullable<AuditDraft["client"]>;

const clients: ReadonlyMap<string, Client> = new Map(
  revisions.map((revision) => [revision, { era: isModernRevision(revision) ? "modern" : "legacy", revision }]),
);

function clientOf(era: Era, revision: string): Client {
  const known = clients.get(revision);
  return known?.era === era ? known : { era, revision };
}

function addTarget(draft: Draft, x: Exchange, g: Gateway): void {
  if (x.target === undefined) return;
  const item = x.target.entry?.item;
  // Whole where something was asked of an upstream: a URI that is cut could be padded until it hides what was read.
  draft.exposedName = item === undefined ? x.target.asked.slice(0, 200) : x.target.asked;
  if (item === undefined) {
    if (x.hidden !== undefined) draft.item = madeOnce(items, x.hidden, what);
    return;
  }
  draft.item = madeOnce(items, item, what);
  if (x.args === undefined) return;
  // Both events of a call carry it: the arguments do not change once they are judged.
  const noted = (x.argumentsNoted ??= note(x.args, g));
  draft.argumentsDigest = noted.digest;
  draft.digestKey = noted.key;
  draft.argumentsBytes = noted.bytes;
}

function note(args: JsonObject, g: Gateway): NonNullable<Exchange["argumentsNoted"]> {
  const text = canonicalJson(args);
  const { digest, key } = g.digest(text);
  return { digest, key, bytes: Buffer.byteLength(text) };
}

function addEnding(draft: Draft, x: Exchange, g: Gateway, fact: { refusal?: Refusal; durationMs?: number }): void {
  if (fact.durationMs !== undefined) {
    draft.durationMs = fact.durationMs;
    draft.outcome = x.outcome;
    if (x.target !== undefined && x.resultText !== undefined) draft.resultDigest = g.digest(x.resultText.text).digest;
  }
  if (fact.refusal !== undefined) draft.refusal = { code: fact.refusal.code, facts: fact.refusal.facts };
  if (x.upstreamMs !== undefined) draft.upstreamMs = x.upstreamMs;
  if (x.resultBytes !== undefined) draft.resultBytes = x.resultBytes;
  if (x.findings.length > 0) draft.findings = [...x.findings];
}

/**
 * The argument fields that policy read or wants kept, by JSON pointer (RFC 6901). A condition that looked at all of the
 * arguments, or at more than a field's worth, leaves their keyed digest alone: evidence keeps no content.
 */
function fieldsRead(x: Exchange, decision: Decision, g: Gateway): JsonObject {
  const fields: JsonObject = {};
  const wanted = x.obligations?.replayFields ?? none;
  for (const pointer of wanted.length === 0 ? decision.read : new Set([...decision.read, ...wanted])) {
    const value = pointer === "" ? undefined : at(x.args ?? {}, pointer);
    if (value === undefined) continue;
    fields[pointer] = asKept(value, g);
  }
  return fields;
}

function asKept(value: Json, g: Gateway): Json {
  const { auditFieldCharsMax } = g.limits;
  if (typeof value === "string" && value.length * escapedCharsMax + 2 <= auditFieldCharsMax) return value;
  const text = writeJson(value);
  return text.length <= auditFieldCharsMax ? value : { digest: g.digest(text).digest };
}

/** A character of a text takes at most so many in JSON (RFC 8259 §7): short ones need not be written to be measured. */
const escapedCharsMax = 6;

function at(value: Json, pointer: string): Json | undefined {
  let here: Json | undefined = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.includes("~") ? part.replaceAll("~1", "/").replaceAll("~0", "~") : part;
    here = Array.isArray(here) ? here[Number(key)] : isJsonObject(here) ? readOwn(here, key) : undefined;
  }
  return here;
}
