import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import { pointedAt, refersToDefinitionsAlone, withoutUnusedDefinitions } from "./schema-references.ts";

export type Presets = ReadonlyMap<string, Json>;

/**
 * The input schema for arguments to which the presets are added afterwards: it names none of them, and accepts what the
 * schema accepts with them. Alternatives that a preset rules out are gone, and requirements that it brings are stated.
 *
 * Undefined where that cannot be told: an alternative or a condition says of a preset more than its type, `const` or
 * `enum`; names of arguments are bound by a pattern or schema; a reference leads elsewhere than to a definition.
 * Does not check the values against what the schema says of them outside alternatives: that is for the call.
 */
export function withoutPresets(schema: JsonObject, presets: Presets): JsonObject | undefined {
  const rest = reduce(schema, {
    root: schema,
    presets,
    budget: { left: limits.simplifiedSubschemasMax },
    exact: false,
  });
  if (!isJsonObject(rest)) return undefined;
  if (canonicalJson(rest) === canonicalJson(schema)) return schema;
  return refersToDefinitionsAlone(rest) ? withoutUnusedDefinitions(rest) : undefined;
}

interface Reduction {
  readonly root: JsonObject;
  readonly presets: Presets;
  /** How many subschemas may still be looked at. */
  readonly budget: { left: number };
  /** Whether it decides which alternative holds: then what a preset's value comes to has to be known. */
  readonly exact: boolean;
}

/** What is left of a schema about the arguments once the presets are there; undefined: nobody can tell. */
function reduce(schema: Json, of: Reduction): Json | undefined {
  of.budget.left -= 1;
  if (of.budget.left < 0) return undefined;
  if (!isJsonObject(schema)) return schema;
  let rest: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const reduced = (rules.get(keyword) ?? kept)(value, { keyword, schema, of });
    if (reduced === undefined || reduced === false) return reduced;
    rest = joined(rest, reduced);
  }
  return rest;
}

/** Two keywords may come to the same one, such as requirements. */
function joined(rest: JsonObject, more: JsonObject): JsonObject {
  const both = { ...rest, ...more };
  for (const keyword of ["required", "allOf"]) {
    const [one, other] = [readOwn(rest, keyword), readOwn(more, keyword)];
    if (!Array.isArray(one) || !Array.isArray(other)) continue;
    both[keyword] = keyword === "required" ? [...new Set([...one, ...other])] : [...one, ...other];
  }
  return both;
}

interface At {
  readonly keyword: string;
  /** The schema that has the keyword. */
  readonly schema: JsonObject;
  readonly of: Reduction;
}

/** What a keyword comes to: keywords in its place, false where nothing can hold any more, undefined where nobody can tell. */
type Rule = (value: Json, at: At) => JsonObject | false | undefined;

const kept: Rule = (value, { keyword }) => ({ [keyword]: value });

/** It binds all arguments at once, the presets among them. */
const unclear: Rule = () => undefined;

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ["properties", properties],
  ["required", required],
  ["additionalProperties", additionalProperties],
  ["patternProperties", (value, at) => (at.of.exact ? undefined : kept(value, at))],
  ["unevaluatedProperties", (value, at) => (at.of.exact ? undefined : kept(value, at))],
  ["propertyNames", unclear],
  ["minProperties", (value, { keyword, of }) => fewer(keyword, value, of)],
  ["maxProperties", (value, { keyword, of }) => fewer(keyword, value, of)],
  ["dependentRequired", dependent],
  ["dependentSchemas", dependent],
  ["dependencies", dependent],
  ["allOf", allOf],
  ["anyOf", alternatives],
  ["oneOf", alternatives],
  ["not", negated],
  ["if", conditional],
  ["then", conditional],
  ["else", conditional],
  ["$ref", referred],
  ["$dynamicRef", unclear],
  ["$recursiveRef", unclear],
  ["const", unclear],
  ["enum", unclear],
  ["default", example],
  ["examples", () => ({})],
]);

function properties(value: Json, { keyword, of }: At): JsonObject | false | undefined {
  if (!isJsonObject(value)) return { [keyword]: value };
  const others: [string, Json][] = [];
  for (const [name, schema] of Object.entries(value)) {
    if (!of.presets.has(name)) {
      others.push([name, schema]);
      continue;
    }
    const holds = of.exact ? accepts(schema, of.presets.get(name) ?? null) : true;
    if (holds !== true) return holds;
  }
  return { [keyword]: Object.fromEntries(others) };
}

function required(value: Json, { keyword, of }: At): JsonObject {
  if (!Array.isArray(value)) return { [keyword]: value };
  const others = value.filter((name) => typeof name !== "string" || !of.presets.has(name));
  return others.length === 0 ? {} : { [keyword]: others };
}

/** In an alternative it rules out every preset that the alternative does not name. */
function additionalProperties(value: Json, { keyword, schema, of }: At): JsonObject | false | undefined {
  if (!of.exact || value === true) return { [keyword]: value };
  const named = readOwn(schema, "properties");
  const all = [...of.presets.keys()].every((name) => isJsonObject(named) && Object.hasOwn(named, name));
  if (all) return { [keyword]: value };
  return value === false && !Object.hasOwn(schema, "patternProperties") ? false : undefined;
}

/** The presets count too, whatever else there is. */
function fewer(keyword: string, value: Json, { presets }: Reduction): JsonObject | false {
  if (typeof value !== "number") return { [keyword]: value };
  const left = value - presets.size;
  if (keyword === "maxProperties") return left >= 0 && { [keyword]: left };
  return left > 0 ? { [keyword]: left } : {};
}

/** What a preset brings with it is always asked for; what asks for a preset has it. */
function dependent(value: Json, { keyword, of }: At): JsonObject | false | undefined {
  if (!isJsonObject(value)) return { [keyword]: value };
  const others: JsonObject = {};
  const brought: Json[] = [];
  for (const [name, wanted] of Object.entries(value)) {
    const reduced = Array.isArray(wanted) ? wantedOf(wanted, of) : reduce(wanted, of);
    if (reduced === undefined) return undefined;
    if (of.presets.has(name)) brought.push(Array.isArray(reduced) ? { required: reduced } : reduced);
    else others[name] = reduced;
  }
  if (brought.includes(false)) return false;
  return {
    ...(Object.keys(others).length === 0 ? {} : { [keyword]: others }),
    ...(brought.length === 0 ? {} : { allOf: brought }),
  };
}

function wantedOf(names: readonly Json[], { presets }: Reduction): Json[] {
  return names.filter((name) => typeof name !== "string" || !presets.has(name));
}

function allOf(value: Json, { keyword, of }: At): JsonObject | false | undefined {
  const members = reducedAll(value, of);
  if (members === undefined || members.includes(false)) return members && false;
  return { [keyword]: members };
}

function alternatives(value: Json, { keyword, of }: At): JsonObject | false | undefined {
  const members = reducedAll(value, { ...of, exact: true });
  const possible = members?.filter((member) => member !== false);
  if (possible?.length === 0) return false;
  return possible && { [keyword]: possible };
}

function negated(value: Json, { keyword, of }: At): JsonObject | undefined {
  const reduced = reduce(value, { ...of, exact: true });
  if (reduced === false) return {};
  return reduced === undefined ? undefined : { [keyword]: reduced };
}

function conditional(value: Json, { keyword, of }: At): JsonObject | undefined {
  const reduced = reduce(value, { ...of, exact: true });
  return reduced === undefined ? undefined : { [keyword]: reduced };
}

/** The definition stands in the place of the reference, as others may refer to it for something else. */
function referred(value: Json, { of }: At): JsonObject | false | undefined {
  const target = typeof value === "string" && value !== "#" ? pointedAt(of.root, value) : undefined;
  const reduced = target === undefined ? undefined : reduce(target, of);
  if (reduced === undefined || reduced === false) return reduced;
  return { allOf: [reduced] };
}

/** A list of all reduced members; undefined where one is unclear. */
function reducedAll(value: Json, of: Reduction): Json[] | undefined {
  const members = (Array.isArray(value) ? value : []).map((member) => reduce(member, of));
  const clear = members.filter((member) => member !== undefined);
  return clear.length === members.length ? clear : undefined;
}

function example(value: Json, { keyword, of }: At): JsonObject {
  if (!isJsonObject(value)) return {};
  return { [keyword]: Object.fromEntries(Object.entries(value).filter(([name]) => !of.presets.has(name))) };
}

/** Keywords that say nothing of a value. */
const remarks: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"],
  "x-mcp-header",
]);

/** Whether a value is one that a schema accepts, where its type, `const` and `enum` tell; otherwise undefined. */
function accepts(schema: Json, value: Json): boolean | undefined {
  if (typeof schema === "boolean") return schema;
  if (!isJsonObject(schema)) return undefined;
  const verdicts = Object.entries(schema)
    .filter(([keyword]) => !remarks.has(keyword))
    .map(([keyword, wanted]) => acceptsBy(keyword, wanted, value));
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

function acceptsBy(keyword: string, wanted: Json, value: Json): boolean | undefined {
  const isSame = (one: Json): boolean => canonicalJson(one) === canonicalJson(value);
  if (keyword === "const") return isSame(wanted);
  if (keyword === "enum") return Array.isArray(wanted) && wanted.some(isSame);
  if (keyword !== "type") return undefined;
  const types: readonly Json[] = typesOf(value);
  return (Array.isArray(wanted) ? wanted : [wanted]).some((type) => types.includes(type));
}

function typesOf(value: Json): readonly string[] {
  if (value === null) return ["null"];
  if (Array.isArray(value)) return ["array"];
  if (typeof value === "number") return Number.isInteger(value) ? ["number", "integer"] : ["number"];
  return [typeof value];
}
