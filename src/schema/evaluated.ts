import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { Dialect } from "./dialect.ts";
import type { LinearPattern } from "./pattern.ts";

/** What an account asks of the compiled schema. */
export interface Judge<At> {
  readonly dialect: Dialect;
  /** The copied schema; its references are `#` and `#/$defs/name`. */
  readonly root: JsonObject;
  readonly patterns: ReadonlyMap<string, LinearPattern>;
  /** Whether a value is one that a subschema accepts. `at` is where the value stands. */
  holds(subschema: Json, value: Json, at: At): boolean;
  /** Where a child of `value` stands, by its name or position. */
  below(value: Json, key: string, at: At): At;
}

/** Names of properties, or positions of items, that something has looked at. */
export interface Evaluated {
  all: boolean;
  readonly keys: Set<string>;
}

/**
 * What the keywords beside `unevaluatedProperties` and `unevaluatedItems` have looked at (JSON Schema 2020-12 §11,
 * 2019-09 §9.3). Ajv 8 counts what alternatives that failed, or never applied, have looked at, and so accepts what the
 * schema rules out. Means something only where the rest of `schema` accepts the value. Throws what a pattern throws that
 * costs too much.
 */
export function evaluatedBeside<At>(schema: JsonObject, value: Json, at: At, judge: Judge<At>): Evaluated {
  const seen: Evaluated = { all: false, keys: new Set() };
  look(schema, { value, at, judge, seen, isAsking: true });
  return seen;
}

interface Look<At> {
  readonly value: Json;
  readonly at: At;
  readonly judge: Judge<At>;
  readonly seen: Evaluated;
  /** Whether it is the schema itself that asks: its own `unevaluated*` has looked at nothing yet. */
  readonly isAsking: boolean;
}

/** `schema` accepts the value, or nobody asks for the result. */
function look<At>(schema: Json, of: Look<At>): void {
  if (!isJsonObject(schema) || of.seen.all) return;
  if (Array.isArray(of.value)) lookAtItems(schema, of.value, of);
  else if (isJsonObject(of.value)) lookAtProperties(schema, of.value, of);
  for (const applied of appliedInPlace(schema, of)) look(applied, { ...of, isAsking: false });
}

function lookAtProperties<At>(schema: JsonObject, value: JsonObject, { seen, judge, isAsking }: Look<At>): void {
  if (Object.hasOwn(schema, "additionalProperties")) seen.all = true;
  if (!isAsking && Object.hasOwn(schema, "unevaluatedProperties")) seen.all = true;
  if (seen.all) return;
  const named = readOwn(schema, "properties");
  if (isJsonObject(named)) for (const name of Object.keys(named)) seen.keys.add(name);
  for (const [source] of mapAt(schema, "patternProperties")) {
    const pattern = judge.patterns.get(source);
    for (const name of Object.keys(value)) if (pattern?.test(name) === true) seen.keys.add(name);
  }
}

function lookAtItems<At>(schema: JsonObject, value: Json[], of: Look<At>): void {
  const { seen, isAsking } = of;
  const items = readOwn(schema, "items");
  const tuple: readonly Json[] = Array.isArray(items) ? items : listAt(schema, "prefixItems");
  const rest = Array.isArray(items) ? readOwn(schema, "additionalItems") : items;
  if (rest !== undefined || (!isAsking && Object.hasOwn(schema, "unevaluatedItems"))) seen.all = true;
  for (const position of tuple.keys()) seen.keys.add(String(position));
  const contained = readOwn(schema, "contains");
  if (contained !== undefined) lookForContained(contained, value, of);
}

/** Before 2020-12 an item that `contains` found is still one that nothing has looked at. */
function lookForContained<At>(contained: Json, value: Json[], { at, judge, seen }: Look<At>): void {
  if (judge.dialect !== "2020-12" || seen.all) return;
  for (const [position, item] of value.entries()) {
    const key = String(position);
    if (judge.holds(contained, item, judge.below(value, key, at))) seen.keys.add(key);
  }
}

/** Subschemas that apply to the same value and accept it. */
function appliedInPlace<At>(schema: JsonObject, of: Look<At>): Json[] {
  const { value, at, judge } = of;
  const alternatives = [...listAt(schema, "anyOf"), ...listAt(schema, "oneOf")];
  const dependent = mapAt(schema, "dependentSchemas").filter(([name]) => readOwn(value, name) !== undefined);
  return [
    ...listAt(schema, "allOf"),
    ...referred(schema, judge.root),
    ...alternatives.filter((branch) => judge.holds(branch, value, at)),
    ...dependent.map(([, applied]) => applied),
    ...chosen(schema, of),
  ];
}

function chosen<At>(schema: JsonObject, { value, at, judge }: Look<At>): Json[] {
  const condition = readOwn(schema, "if");
  if (condition === undefined) return [];
  if (!judge.holds(condition, value, at)) return [readOwn(schema, "else") ?? true];
  return [condition, readOwn(schema, "then") ?? true];
}

function referred(schema: JsonObject, root: JsonObject): Json[] {
  const reference = readOwn(schema, "$ref");
  if (typeof reference !== "string") return [];
  if (reference === "#") return [root];
  return [readOwn(readOwn(root, "$defs"), reference.slice("#/$defs/".length)) ?? true];
}

function listAt(schema: JsonObject, keyword: string): readonly Json[] {
  const value = readOwn(schema, keyword);
  return Array.isArray(value) ? value : [];
}

function mapAt(schema: JsonObject, keyword: string): readonly [string, Json][] {
  const value = readOwn(schema, keyword);
  return isJsonObject(value) ? Object.entries(value) : [];
}

/** The subschemas that an account may ask `holds` of, wherever they stand in a schema that asks for one. */
export function judgedApart(root: JsonObject): readonly JsonObject[] {
  const found = new Set<JsonObject>();
  const open: Json[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Array.isArray(node)) for (const member of node) open.push(member);
    if (!isJsonObject(node)) continue;
    for (const subschema of apartIn(node)) if (isJsonObject(subschema)) found.add(subschema);
    for (const member of Object.values(node)) open.push(member);
  }
  return [...found];
}

const single = ["if", "contains", "unevaluatedProperties", "unevaluatedItems"] as const;

function apartIn(schema: JsonObject): readonly Json[] {
  const singles = single.flatMap((keyword) => readOwn(schema, keyword) ?? []);
  return [...listAt(schema, "anyOf"), ...listAt(schema, "oneOf"), ...singles];
}
