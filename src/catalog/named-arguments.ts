import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { pointedAt } from "./schema-references.ts";

/** The arguments that a schema speaks of by name or pattern, in whatever part of it applies to the arguments. */
export interface NamedArguments {
  readonly names: ReadonlySet<string>;
  /** Sources of `patternProperties`. */
  readonly patterns: ReadonlySet<string>;
}

/**
 * Follows everything that is applied in place, alternatives that may not hold and what is ruled out too, and references
 * by pointer, anchor and dynamic anchor. Undefined where nobody can tell: a reference leads out of the schema or nowhere,
 * or there is more of it than `simplifiedSubschemasMax`. What `propertyNames` says of names counts as no name.
 */
export function namedArguments(root: JsonObject): NamedArguments | undefined {
  const names = new Set<string>();
  const patterns = new Set<string>();
  const met = new Set<Json>();
  const open: Json[] = [root];
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    if (!isJsonObject(schema) || met.has(schema)) continue;
    met.add(schema);
    const targets = targetsOf(schema, root);
    if (targets === undefined || met.size > limits.simplifiedSubschemasMax) return undefined;
    for (const name of namesIn(schema)) names.add(name);
    for (const source of keysAt(schema, "patternProperties")) patterns.add(source);
    open.push(...targets, ...appliedIn(schema));
  }
  return { names, patterns };
}

function namesIn(schema: JsonObject): readonly string[] {
  const maps = ["dependentRequired", "dependencies"].flatMap((keyword) => membersAt(schema, keyword));
  const lists = [readOwn(schema, "required") ?? [], ...maps].filter((member) => Array.isArray(member));
  return [
    ...["properties", "dependentRequired", "dependentSchemas", "dependencies"].flatMap((key) => keysAt(schema, key)),
    ...lists.flat().filter((name) => typeof name === "string"),
  ];
}

function appliedIn(schema: JsonObject): readonly Json[] {
  const lists = ["allOf", "anyOf", "oneOf"].map((keyword) => readOwn(schema, keyword) ?? []);
  const single = ["not", "if", "then", "else"].flatMap((keyword) => readOwn(schema, keyword) ?? []);
  const maps = ["dependentSchemas", "dependencies"].flatMap((keyword) => membersAt(schema, keyword));
  return [...lists.flat(), ...single, ...maps];
}

/** Where the references of a schema lead; undefined if one leads nowhere. */
function targetsOf(schema: JsonObject, root: JsonObject): readonly Json[] | undefined {
  const targets: Json[] = [];
  for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
    const reference = readOwn(schema, keyword);
    if (reference === undefined) continue;
    const found = typeof reference === "string" ? leadsTo(reference, root) : [];
    if (found.length === 0) return undefined;
    targets.push(...found);
  }
  return targets;
}

function leadsTo(reference: string, root: JsonObject): readonly Json[] {
  if (reference !== "#" && !reference.startsWith("#/")) return anchored(root, reference);
  const target = pointedAt(root, reference);
  return target === undefined ? [] : [target];
}

/** All schemas of a plain name; a dynamic reference may mean any of them. Before 2019-09 an `$id` names one. */
function anchored(root: JsonObject, reference: string): readonly Json[] {
  if (!reference.startsWith("#")) return [];
  const found: Json[] = [];
  const open: Json[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Array.isArray(node)) for (const member of node) open.push(member);
    if (!isJsonObject(node)) continue;
    const anchors = ["$anchor", "$dynamicAnchor"].map((keyword) => readOwn(node, keyword));
    if (readOwn(node, "$id") === reference || anchors.includes(reference.slice(1))) found.push(node);
    for (const member of Object.values(node)) open.push(member);
  }
  return found;
}

function keysAt(schema: JsonObject, keyword: string): readonly string[] {
  const value = readOwn(schema, keyword);
  return isJsonObject(value) ? Object.keys(value) : [];
}

function membersAt(schema: JsonObject, keyword: string): readonly Json[] {
  const value = readOwn(schema, keyword);
  return isJsonObject(value) ? Object.values(value) : [];
}
