import { limits as defaultLimits } from "../model/limits.ts";
import type { Limits } from "../model/limits.ts";
import { createConditions } from "./condition.ts";
import type { Condition, ConditionLimits, Conditions } from "./condition.ts";
import { digestDocuments } from "./digest.ts";
import { documentFields, effects, namePattern, reservedEffects, ruleFields, scopePattern } from "./language.ts";
import type { Effect, PolicyDocument, PolicyFault } from "./language.ts";
import { at, fault, readMapping, readText, readWords } from "./read-fields.ts";
import type { Notes, Place } from "./read-fields.ts";
import { indexRules } from "./rule-index.ts";
import type { RuleIndex } from "./rule-index.ts";
import type { Rule } from "./rule.ts";
import { readWhat } from "./what.ts";
import { readWho } from "./who.ts";

/** A compiled policy: all documents in force together. Immutable; made by `compilePolicies` alone. */
export interface Policy {
  /** SHA-256 (hex) of the documents; it changes when, and only when, something in one of them does. */
  readonly digest: string;
  readonly allows: RuleIndex;
  readonly denies: RuleIndex;
  /** Denies that concern exchanges without an item, by rank. */
  readonly serverDenies: readonly Rule[];
  /** The rules of `allows` and `denies`, by rank. */
  readonly itemRules: { readonly allows: readonly Rule[]; readonly denies: readonly Rule[] };
  readonly conditions: Conditions;
  /** Scopes that rules name in `who` and `stepUp`; those of conditions are text like any other. */
  readonly scopes: readonly string[];
  readonly ruleCount: number;
}

export interface PolicyContext {
  readonly issuerAliases: readonly string[];
  /** As in `WhoNames`. */
  readonly claims?: readonly string[] | undefined;
  readonly upstreams: readonly string[];
  readonly servers: readonly string[];
  readonly limits?: ConditionLimits & Pick<Limits, "policyRulesMax">;
}

export type Compiled =
  | { readonly ok: true; readonly policy: Policy; readonly warnings: readonly PolicyFault[] }
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

interface Reading {
  readonly context: PolicyContext;
  readonly conditions: Conditions;
  /** Where each policy name and rule id was first seen. */
  readonly policyNames: Map<string, string>;
  readonly ruleIds: Map<string, string>;
  readonly rules: Omit<Rule, "rank">[];
}

/**
 * Compiles policy documents into one policy, or says everything that is wrong with them. A policy with
 * a fault does not load at all: a rule that is left out could be the deny that mattered. No documents
 * make a policy that denies everything. Does not check that an item a rule names exists.
 */
export function compilePolicies(documents: readonly PolicyDocument[], context: PolicyContext): Compiled {
  const limits = context.limits ?? defaultLimits;
  const conditions = createConditions(limits);
  const reading: Reading = { context, conditions, policyNames: new Map(), ruleIds: new Map(), rules: [] };
  const faults: PolicyFault[] = [];
  const warnings: PolicyFault[] = [];
  for (const document of documents) {
    readDocument({ notes: { file: document.path, faults, warnings }, pointer: "" }, document.value, reading);
  }
  if (reading.rules.length > limits.policyRulesMax) {
    const notes: Notes = { file: documents[0]?.path ?? "", faults, warnings };
    const expected = `at most ${limits.policyRulesMax}`;
    fault({ notes, pointer: "" }, reading.rules.length, expected, "all documents together hold too many rules");
  }
  if (faults.length > 0) return { ok: false, faults };
  const digest = digestDocuments(documents.map((document) => document.value));
  return { ok: true, policy: policyOf(reading, digest), warnings };
}

function policyOf(reading: Reading, digest: string): Policy {
  const sorted = reading.rules.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  const rules = sorted.map((rule, rank): Rule => ({ ...rule, rank }));
  const allows = rules.filter((rule) => rule.effect === "allow");
  const denies = rules.filter((rule) => rule.effect === "deny");
  return Object.freeze({
    digest,
    allows: indexRules(allows),
    denies: indexRules(denies),
    serverDenies: denies.filter(concernsServer),
    itemRules: { allows, denies },
    conditions: reading.conditions,
    scopes: [...new Set(rules.flatMap(({ who, stepUp }) => [...who.scopes, ...stepUp]))],
    ruleCount: rules.length,
  });
}

function readDocument(place: Place, value: unknown, reading: Reading): void {
  const fields = readMapping(place, value, documentFields);
  if (fields === undefined) return;
  const name = readName(at(place, "policy"), fields.get("policy"), "a policy name");
  if (name !== undefined) claim(at(place, "policy"), name, reading.policyNames);
  if (fields.has("description")) readText(at(place, "description"), fields.get("description"), "a sentence");
  const rules = fields.get("rules");
  if (!Array.isArray(rules)) {
    fault(at(place, "rules"), rules, "a list of rules", "a policy document has `rules`");
    return;
  }
  rules.forEach((rule: unknown, index) => {
    readRule(at(at(place, "rules"), index), rule, reading);
  });
}

function readName(place: Place, value: unknown, expected: string): string | undefined {
  if (typeof value === "string" && namePattern.test(value)) return value;
  fault(place, value, expected, `expected ${expected}: 1 to 128 letters, digits, dots, dashes or underscores`);
  return undefined;
}

/** Ids are unique across all documents: audit events and refusals name a rule by its id alone. */
function claim(place: Place, name: string, taken: Map<string, string>): void {
  const first = taken.get(name);
  if (first !== undefined) fault(place, name, "a name of its own", `this name is taken by ${first}`);
  else taken.set(name, `${place.notes.file}#${place.pointer}`);
}

function readRule(place: Place, value: unknown, reading: Reading): void {
  const { context } = reading;
  const fields = readMapping(place, value, ruleFields);
  if (fields === undefined) return;
  const id = readName(at(place, "id"), fields.get("id"), "a rule id");
  if (id !== undefined) claim(at(place, "id"), id, reading.ruleIds);
  const effect = readEffect(at(place, "effect"), fields.get("effect"));
  const who = readWho(at(place, "who"), fields.get("who"), context);
  const what = readWhat(at(place, "what"), fields.get("what"), context);
  const when = readWhen(at(place, "when"), fields.get("when"), reading.conditions);
  const stepUp = readStepUp(at(place, "stepUp"), fields.get("stepUp"), effect);
  const message = readSentence(at(place, "message"), fields.get("message"));
  readSentence(at(place, "note"), fields.get("note"));
  if (id === undefined || effect === undefined || who === undefined || what === undefined) return;
  reading.rules.push({ id, effect, who, what, when, stepUp, message });
}

/** A deny whose condition asks about an item or its arguments says nothing of exchanges that have neither. */
function concernsServer({ what, when }: Pick<Rule, "what" | "when">): boolean {
  return what.upstreams === undefined && what.kind === undefined && when?.aboutItem !== true;
}

function readEffect(place: Place, value: unknown): Effect | undefined {
  const effect = effects.find((known) => known === value);
  if (effect !== undefined) return effect;
  const reserved = reservedEffects.find((known) => known === value);
  const message = reserved === undefined ? "this is no effect" : `the effect \`${reserved}\` comes later`;
  fault(place, value, effects.join(" or "), message);
  return undefined;
}

function readWhen(place: Place, value: unknown, conditions: Conditions): Condition | undefined {
  if (value === undefined) return undefined;
  const text = readText(place, value, "a CEL expression");
  if (text === undefined) return undefined;
  const compiled = conditions.compile(text);
  for (const problem of compiled.problems ?? []) fault(place, text, "a condition that loads", problem);
  return compiled.condition;
}

function readStepUp(place: Place, value: unknown, effect: Effect | undefined): readonly string[] {
  if (value === undefined) return [];
  if (effect === "deny") fault(place, value, "no stepUp", "only an allow can ask for more scopes");
  const scopes = at(place, "scopes");
  const words = readMapping(place, value, ["scopes"]);
  const all = words === undefined ? undefined : readMapping(scopes, words.get("scopes"), ["all"]);
  if (all === undefined) return [];
  const list = all.get("all");
  if (!Array.isArray(list)) {
    fault(at(scopes, "all"), list, "a list of scopes", "expected {scopes: {all: [...]}}");
    return [];
  }
  const wanted = readWords(at(scopes, "all"), list, false)?.words ?? [];
  for (const word of wanted) {
    if (!scopePattern.test(word)) fault(at(scopes, "all"), word, "a scope", "this is no scope (RFC 6749 §3.3)");
  }
  return [...new Set(wanted)].sort();
}

function readSentence(place: Place, value: unknown): string | undefined {
  return value === undefined ? undefined : readText(place, value, "a sentence");
}
