import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import { pointedAt } from "./schema-references.ts";

/**
 * An input schema without composition at its top, for model providers that refuse a whole catalog for one tool that has
 * it: one object schema whose properties are those that any branch has. Whatever arguments the original accepts, this
 * one accepts; it accepts more, so calls are held to the original. A schema that is flat already comes back with at most
 * `type` and `properties` added.
 *
 * Does not touch what lies below the properties: composition there is left as it is, and added where branches differ.
 */
export function simplifySchema(schema: JsonObject): JsonObject {
  const properties = readOwn(schema, "properties");
  if (isFlat(schema)) return { ...schema, type: "object", properties: isJsonObject(properties) ? properties : {} };
  const flat = flatten(schema, { root: schema, known: new Map(), left: limits.simplifiedSubschemasMax });
  return written(schema, flat);
}

/** Whether a schema has no composition at its top: simplified, it takes the same objects. */
export function isFlat(schema: JsonObject): boolean {
  return !compositions.some((keyword) => Object.hasOwn(schema, keyword));
}

/** What providers refuse at the top, or cannot be kept there without what it belongs to. */
const compositions: readonly string[] = [
  ...["oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum", "const"],
  ...["$ref", "$dynamicRef", "dependentSchemas", "unevaluatedProperties"],
];

/** What a schema says of an object at the least. */
interface Flat {
  readonly properties: ReadonlyMap<string, Json>;
  readonly required: ReadonlySet<string>;
  /** No other properties than these. */
  readonly closed: boolean;
}

/** Says nothing of an object. */
const anything: Flat = { properties: new Map(), required: new Set(), closed: false };

interface Search {
  readonly root: JsonObject;
  /** By reference: `anything` while it is being followed, as a schema that is made of itself says nothing more. */
  readonly known: Map<string, Flat>;
  /** How many subschemas may still be looked at. */
  left: number;
}

function flatten(schema: Json | undefined, search: Search): Flat {
  search.left -= 1;
  if (!isJsonObject(schema) || search.left < 0) return anything;
  const parts = [ownOf(schema), referred(readOwn(schema, "$ref"), search)];
  for (const member of listAt(schema, "allOf")) parts.push(flatten(member, search));
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = listAt(schema, keyword);
    if (branches.length > 0) parts.push(either(branches, search));
  }
  if (Object.hasOwn(schema, "if"))
    parts.push(either([readOwn(schema, "then") ?? true, readOwn(schema, "else") ?? true], search));
  return parts.reduce(both);
}

function ownOf(schema: JsonObject): Flat {
  const properties = readOwn(schema, "properties");
  const names = listAt(schema, "required").filter((name) => typeof name === "string");
  return {
    properties: new Map(isJsonObject(properties) ? Object.entries(properties) : []),
    required: new Set(names),
    closed: readOwn(schema, "additionalProperties") === false && !Object.hasOwn(schema, "patternProperties"),
  };
}

function referred(reference: Json | undefined, search: Search): Flat {
  if (typeof reference !== "string") return anything;
  const known = search.known.get(reference);
  if (known !== undefined) return known;
  search.known.set(reference, anything);
  const flat = flatten(pointedAt(search.root, reference), search);
  search.known.set(reference, flat);
  return flat;
}

/** An object that fits both has what either asks for. Where both speak of a property, its value fits both. */
function both(one: Flat, other: Flat): Flat {
  const properties = new Map(one.properties);
  for (const [name, schema] of other.properties) {
    const mine = properties.get(name);
    properties.set(name, mine === undefined ? schema : conjunction(mine, schema));
  }
  return {
    properties,
    required: new Set([...one.required, ...other.required]),
    closed: one.closed || other.closed,
  };
}

/** The first keeps its place at the top of a property, since what is annotated there (`x-mcp-header`) has to stay there. */
function conjunction(one: Json, other: Json): Json {
  if (isTrivial(other) || same(one, other)) return one;
  if (isTrivial(one) || !isJsonObject(one)) return other;
  return { ...one, allOf: [...listAt(one, "allOf"), other] };
}

/** An object that fits one branch at least has what all ask for. */
function either(branches: readonly Json[], search: Search): Flat {
  const possible = branches.filter((branch) => !excludesObjects(branch)).map((branch) => flatten(branch, search));
  const [first, ...others] = possible;
  if (first === undefined) return anything;
  const names = new Set(possible.flatMap(({ properties }) => [...properties.keys()]));
  return {
    properties: new Map([...names].map((name) => [name, alternatives(name, possible)])),
    required: new Set([...first.required].filter((name) => others.every(({ required }) => required.has(name)))),
    closed: possible.every(({ closed }) => closed),
  };
}

/** Arguments are objects, so a branch for something else is never the one that fits. */
function excludesObjects(branch: Json): boolean {
  if (branch === false) return true;
  const type = readOwn(branch, "type");
  return Array.isArray(type) ? !type.includes("object") : type !== undefined && type !== "object";
}

/** A branch that does not name a property and does not forbid it takes it with any value, which `{}` says. */
function alternatives(name: string, branches: readonly Flat[]): Json {
  const distinct: Json[] = [];
  for (const { properties, closed } of branches) {
    const schema = properties.get(name) ?? (closed ? undefined : {});
    if (schema !== undefined && !distinct.some((known) => same(known, schema))) distinct.push(schema);
  }
  const [only, ...others] = distinct;
  return others.length === 0 ? (only ?? {}) : { anyOf: distinct };
}

function written(schema: JsonObject, { properties, required, closed }: Flat): JsonObject {
  const shown: JsonObject = { type: "object" };
  const definitions = definitionsOf(schema);
  for (const [key, value] of Object.entries(schema)) if (annotations.has(key)) shown[key] = value;
  Object.assign(shown, definitions);
  const names = Object.keys(definitions);
  shown["properties"] = Object.fromEntries(
    [...properties].map(([name, value]) => [name, refersWithin(value, names) ? value : {}]),
  );
  if (required.size > 0) shown["required"] = [...required];
  if (closed) shown["additionalProperties"] = false;
  return shown;
}

const annotations: ReadonlySet<string> = new Set(["$schema", "$id", "title", "description", "$comment", "examples"]);

/** Definitions stay where references find them, unless they themselves refer to what does not stay. */
function definitionsOf(schema: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const key of ["$defs", "definitions"]) {
    const value = readOwn(schema, key);
    if (value !== undefined) kept[key] = value;
  }
  return refersWithin(kept, Object.keys(kept)) ? kept : {};
}

/** Whether every reference in a schema leads into one of these members of the root. */
function refersWithin(value: Json, members: readonly string[]): boolean {
  if (Array.isArray(value)) return value.every((member) => refersWithin(member, members));
  if (!isJsonObject(value)) return true;
  return Object.entries(value).every(([key, member]) => {
    const isReference = (key === "$ref" || key === "$dynamicRef") && typeof member === "string";
    return isReference ? members.some((name) => member.startsWith(`#/${name}/`)) : refersWithin(member, members);
  });
}

function isTrivial(schema: Json): boolean {
  return schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);
}

function same(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

function listAt(schema: JsonObject, key: string): readonly Json[] {
  const value = readOwn(schema, key);
  return Array.isArray(value) ? value : [];
}
