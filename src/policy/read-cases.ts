import type { Decision } from "../model/decision.ts";
import { isJsonObject } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import type { Era } from "../model/revision.ts";
import { subjectKinds } from "./language.ts";
import type { PolicyDocument, PolicyFault } from "./language.ts";
import { at, fault, readMapping, readText, readWords } from "./read-fields.ts";
import type { Notes, Place } from "./read-fields.ts";
import { readJson } from "./read-presets.ts";
import { readPrincipal } from "./read-principal.ts";
import type { PrincipalNames } from "./read-principal.ts";
import type { Question, Subject } from "./question.ts";

/** One question, and what must become of it. */
export interface Case {
  /** `policies/support.cases.yaml#/0`. */
  readonly path: string;
  readonly name: string;
  readonly question: Omit<Question, "item"> & { readonly item: Subject | undefined };
  readonly expect: Expectation;
}

/** Whatever is undefined may be anything. Lists are compared without their order. */
export interface Expectation {
  readonly effect: Decision["effect"];
  readonly rule: string | undefined;
  readonly reason: string | undefined;
  readonly listed: boolean | undefined;
  /** All scopes that a step-up names. */
  readonly scopes: readonly string[] | undefined;
  /** Ids of the constrain rules that apply. */
  readonly obligations: readonly string[] | undefined;
}

export interface CaseNames extends PrincipalNames {
  readonly upstreams: readonly string[];
  readonly servers: readonly string[];
}

export type ReadCases =
  | { readonly ok: true; readonly cases: readonly Case[] }
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

export const caseFields: readonly string[] = ["case", "principal", "server", "item", "args", "at", "era", "expect"];
export const expectFields: readonly string[] = ["effect", "rule", "reason", "listed", "scopes", "obligations"];
export const itemFields: readonly string[] = ["upstream", ...subjectKinds, "digest"];
export const caseEffects: readonly Decision["effect"][] = ["allow", "step-up", "deny"];
export const caseReasons: readonly string[] = [
  "denied-by-rule",
  "no-rule-allows",
  "condition-false",
  "condition-error",
];

/** A Wednesday at noon: a case that does not say when comes out alike on every day. */
const caseMoment = "2026-01-07T12:00:00Z";

/**
 * Reads a file of cases: a list of questions, each with what must become of it. `args` that are left out are not known
 * yet, as when items are listed; `args: {}` are none. Does not ask whether the items exist.
 */
export function readCases({ path, value }: PolicyDocument, names: CaseNames): ReadCases {
  const notes: Notes = { file: path, faults: [], warnings: [] };
  const place: Place = { notes, pointer: "" };
  if (!Array.isArray(value)) {
    fault(place, value, "a list of cases", "a file of cases is a list");
    return { ok: false, faults: notes.faults };
  }
  const cases = value.map((one: unknown, index) => readCase(at(place, index), one, names));
  if (notes.faults.length > 0) return { ok: false, faults: notes.faults };
  return { ok: true, cases: cases.filter((one) => one !== undefined) };
}

function readCase(place: Place, value: unknown, names: CaseNames): Case | undefined {
  const fields = readMapping(place, value, caseFields);
  if (fields === undefined) return undefined;
  const name = readText(at(place, "case"), fields.get("case"), "what the case shows");
  const principal = readPrincipal(at(place, "principal"), fields.get("principal"), names);
  const expect = readExpectation(at(place, "expect"), fields.get("expect"));
  const question = readQuestion(place, fields, { names, principal });
  if (name === undefined || expect === undefined || question === undefined) return undefined;
  return { path: `${place.notes.file}#${place.pointer}`, name, question, expect };
}

function readQuestion(
  place: Place,
  fields: ReadonlyMap<string, unknown>,
  { names, principal }: { readonly names: CaseNames; readonly principal: Principal | undefined },
): Case["question"] | undefined {
  const server = readKnown(at(place, "server"), fields.get("server"), names.servers);
  const item = fields.has("item") ? readItem(at(place, "item"), fields.get("item"), names) : undefined;
  const args = fields.has("args") ? readArguments(at(place, "args"), fields.get("args")) : undefined;
  const now = readMoment(at(place, "at"), fields.get("at") ?? caseMoment);
  const era = readEra(at(place, "era"), fields.get("era"));
  if (principal === undefined || server === undefined) return undefined;
  const revision = era === "modern" ? "2026-07-28" : "2025-11-25";
  return { principal, server, item, args, request: { now, transport: "http", era, revision } };
}

function readKnown(place: Place, value: unknown, known: readonly string[]): string | undefined {
  const found = known.find((one) => one === value);
  if (found === undefined) fault(place, value, `one of ${known.join(", ")}`, "this is not configured");
  return found;
}

/** An item, in the words of `what`: `{ upstream: crm, tool: export_all }`. */
export function readItem(place: Place, value: unknown, names: Pick<CaseNames, "upstreams">): Subject | undefined {
  const fields = readMapping(place, value, itemFields);
  if (fields === undefined) return undefined;
  const upstream = readKnown(at(place, "upstream"), fields.get("upstream"), names.upstreams);
  const [kind, ...others] = subjectKinds.filter((one) => fields.has(one));
  if (kind === undefined || others.length > 0) {
    fault(place, value, `one of ${subjectKinds.join(", ")}`, "an item is of one kind");
    return undefined;
  }
  const name = readText(at(place, kind), fields.get(kind), "a name");
  const digest = fields.has("digest") ? readText(at(place, "digest"), fields.get("digest"), "a digest") : undefined;
  return upstream === undefined || name === undefined ? undefined : { upstream, kind, name, digest };
}

export function readArguments(place: Place, value: unknown): JsonObject {
  const read = readJson(place, value, limits.jsonDepthMax);
  if (isJsonObject(read)) return read;
  if (read !== undefined) fault(place, value, "a mapping of argument to value", "arguments are a mapping");
  return {};
}

const momentPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since the epoch of an ISO 8601 time with its zone; undefined for anything else. */
export function momentIn(text: string): number | undefined {
  const now = momentPattern.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(now) ? undefined : now;
}

function readMoment(place: Place, value: unknown): number {
  const now = typeof value === "string" ? momentIn(value) : undefined;
  if (now === undefined) fault(place, value, `a time with its zone, as ${caseMoment}`, "this is no moment");
  return now ?? NaN;
}

function readEra(place: Place, value: unknown): Era {
  if (value === undefined || value === "modern") return "modern";
  if (value !== "legacy") fault(place, value, "legacy or modern", "a request is of one era");
  return "legacy";
}

function readExpectation(place: Place, value: unknown): Expectation | undefined {
  const fields = readMapping(place, value, expectFields);
  if (fields === undefined) return undefined;
  const effect = caseEffects.find((known) => known === fields.get("effect"));
  if (effect === undefined) {
    fault(at(place, "effect"), fields.get("effect"), caseEffects.join(", "), "a case expects an effect");
    return undefined;
  }
  const text = (name: string): string | undefined =>
    fields.has(name) ? readText(at(place, name), fields.get(name), "a text") : undefined;
  const reason = text("reason");
  if (reason !== undefined && !caseReasons.includes(reason))
    fault(at(place, "reason"), reason, caseReasons.join(", "), "no decision has this reason");
  return {
    effect,
    rule: text("rule"),
    reason,
    listed: readListed(at(place, "listed"), fields.get("listed")),
    scopes: readList(at(place, "scopes"), fields.get("scopes")),
    obligations: readList(at(place, "obligations"), fields.get("obligations")),
  };
}

function readListed(place: Place, value: unknown): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  fault(place, value, "true or false", "an item is listed or not");
  return undefined;
}

/** An empty list is an expectation too: that there are none. */
function readList(place: Place, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length === 0) return [];
  return readWords(place, value, false)?.words;
}
