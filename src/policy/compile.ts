import { limits as defaultLimits } from "../model/limits.ts";
import type { Limits } from "../model/limits.ts";
import { createConditions } from "./condition.ts";
import type { Condition, ConditionLimits, Conditions } from "./condition.ts";
import { digestDocuments } from "./digest.ts";
import { documentFields, effects, namePattern, reservedEffects, ruleFields, scopePattern } from "./language.ts";
import type { Effect, PolicyDocument, PolicyFault } from "./language.ts";
import { at, fault, readMapping, readText, readWords } from "./read-fields.ts";
import type { Notes, Place } from "./read-fields.ts";
import { presetConflicts } from "./preset-conflicts.ts";
import type { PresettingRule } from "./preset-conflicts.ts";
import { readConstraint } from "./read-constrain.ts";
import type { ConstrainLimits } from "./read-constrain.ts";
import { indexRules } from "./rule-index.ts";
import type { RuleIndex } from "./rule-index.ts";
import { isDutyRule, isShapeRule } from "./rule.ts";
import type { DutyRule, Rule, ShapeRule } from "./rule.ts";
import { readWhat } from "./what.ts";
import type { FactsOf } from "./what.ts";
import { readWho } from "./who.ts";

/** A compiled policy: all documents in force together. Immutable; made by `compilePolicies` alone. */
export interface Policy {
  /** SHA-256 (hex) of the documents; it changes when, and only when, something in one of them does. */
  readonly digest: string;
  readonly allows: RuleIndex;
  readonly denies: RuleIndex;
  /** Rules that lay something upon a use, and rules that change an item's shape. A constrain may be in both. */
  readonly duties: RuleIndex<DutyRule>;
  readonly shapes: RuleIndex<ShapeRule>;
  /** Denies that concern exchanges without an item, by rank. */
  readonly serverDenies: readonly Rule[];
  /** All rules by effect, each by rank. */
  readonly itemRules: {
    readonly allows: readonly Rule[];
    readonly denies: readonly Rule[];
    readonly constrains: readonly Rule[];
  };
  readonly factsOf: FactsOf;
  readonly conditions: Conditions;
  /** Scopes that rules name in `who` and `stepUp`; those of conditions are text like any other. */
  readonly scopes: readonly string[];
  /** Claims that rules read in `who` and `when`, sorted: what evidence keeps of a principal's claims. */
  readonly claims: readonly string[];
  readonly ruleCount: number;
}

export interface PolicyContext {
  readonly issuerAliases: readonly string[];
  /** As in `WhoNames`. */
  readonly claims?: readonly string[] | undefined;
  readonly upstreams: readonly string[];
  readonly servers: readonly string[];
  /** Labels and annotations that configuration gives to any item; undefined when that is not known, and not checked. */
  readonly labels?: readonly string[] | undefined;
  readonly annotations?: readonly string[] | undefined;
  /**
   * What operators say of an item, and what the catalog lock does. It is asked for every decision that needs it, so it
   * is quick and may change while the policy is in force. Undefined: nobody says anything, and no lock is kept.
   */
  readonly factsOf?: FactsOf;
  readonly limits?: PolicyLimits;
}

type PolicyLimits = ConditionLimits & ConstrainLimits & Pick<Limits, "policyRulesMax">;

export type Compiled =
  | { readonly ok: true; readonly policy: Policy; readonly warnings: readonly PolicyFault[] }
  | { readonly ok: false; readonly faults: readonly PolicyFault[] };

interface Reading {
  readonly context: PolicyContext;
  readonly limits: PolicyLimits;
  readonly conditions: Conditions;
  /** Where each policy name and rule id was first seen. */
  readonly policyNames: Map<string, string>;
  readonly ruleIds: Map<string, string>;
  readonly rules: Omit<Rule, "rank">[];
  readonly presetting: PresettingPlace[];
}

interface PresettingPlace extends PresettingRule {
  readonly place: Place;
}

/**
 * Compiles policy documents into one policy, or says everything that is wrong with them. A policy with
 * a fault does not load at all: a rule that is left out could be the deny that mattered. No documents
 * make a policy that denies everything. Does not check that an item a rule names exists.
 */
export function compilePolicies(documents: readonly PolicyDocument[], context: PolicyContext): Compiled {
  const limits = context.limits ?? defaultLimits;
  const conditions = createConditions(limits);
  const reading: Reading = {
    context,
    limits,
    conditions,
    policyNames: new Map(),
    ruleIds: new Map(),
    rules: [],
    presetting: [],
  };
  const faults: PolicyFault[] = [];
  const warnings: PolicyFault[] = [];
  for (const document of documents) {
    readDocument({ notes: { file: document.path, faults, warnings }, pointer: "" }, document.value, reading);
  }
  refuseConflicts(reading.presetting);
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
  const constrains = rules.filter((rule) => rule.effect === "constrain");
  return Object.freeze({
    digest,
    allows: indexRules(allows),
    denies: indexRules(denies),
    duties: indexRules(constrains.filter(isDutyRule)),
    shapes: indexRules(constrains.filter(isShapeRule)),
    serverDenies: denies.filter(concernsServer),
    itemRules: { allows, denies, constrains },
    factsOf: reading.context.factsOf,
    conditions: reading.conditions,
    scopes: [...new Set(rules.flatMap(({ who, stepUp }) => [...who.scopes, ...stepUp]))],
    claims: claimsOf(rules, reading.context.claims ?? []),
    ruleCount: rules.length,
  });
}

/** A condition that names no claim, and looks at them all the same, reads all that are mapped. */
function claimsOf(rules: readonly Rule[], mapped: readonly string[]): readonly string[] {
  const read = rules.flatMap(({ who, when }) => [
    ...who.claims,
    ...(when?.claims.named ?? []),
    ...(when?.claims.whole === true ? mapped : []),
  ]);
  return [...new Set(read)].sort();
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
  const rule = { id, effect, what, message };
  const { duties, shape } = readConstraint(place, fields, { rule, limits: reading.limits });
  if (id === undefined || effect === undefined || who === undefined || what === undefined) return;
  reading.rules.push({ id, effect, who, what, when, stepUp, duties, shape, message });
  if (shape !== undefined) reading.presetting.push({ id, who, what, presets: shape.presets, place });
}

function refuseConflicts(presetting: readonly PresettingPlace[]): void {
  const sorted = presetting.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  for (const { parameter, rule, other } of presetConflicts(sorted)) {
    const here = at(at(rule.place, "presets"), parameter);
    const expected = "one value, or rules that cannot both apply";
    const message = `the rules ${other.id} and ${rule.id} preset ${parameter} to different values, and may both apply`;
    fault(here, rule.presets.get(parameter), expected, message);
  }
}

/** A deny that asks about an item, or its condition about one or its arguments, says nothing of exchanges without. */
function concernsServer({ what, when }: Pick<Rule, "what" | "when">): boolean {
  const { upstreams, kind, marks } = what;
  return upstreams === undefined && kind === undefined && marks === undefined && when?.aboutItem !== true;
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
  if (effect !== undefined && effect !== "allow") {
    fault(place, value, "no stepUp", "only an allow can ask for more scopes");
  }
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
