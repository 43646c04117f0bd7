import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { pointerSegments } from "../protocol/json/pointer.ts";
import { pointedAt, refersToDefinitionsAlone, withoutUnusedDefinitions } from "./schema-references.ts";

/**
 * The output schema for results from which fields are removed, by JSON pointers whose segments may be `*`. It names none
 * of the fields on their way, and every result that the schema accepts is accepted by it once it is freed of them. So it
 * says less where less is certain: what binds an object or a list as a whole (`not`, `if`, counts, uniqueness) is left
 * out on the way to a field, and alternatives count as `anyOf`. One that is too large to follow, or refers elsewhere than
 * to its definitions, says no more than that the result is an object.
 */
export function withoutFields(schema: JsonObject, pointers: readonly string[]): JsonObject {
  if (!refersToDefinitionsAlone(schema)) return anyObject;
  const way: Way = { root: schema, budget: { left: limits.simplifiedSubschemasMax } };
  const freed = pointers.reduce<Json>((rest, pointer) => free(rest, pointerSegments(pointer), way), schema);
  return way.budget.left < 0 || !isJsonObject(freed) ? anyObject : withoutUnusedDefinitions(freed);
}

const anyObject: JsonObject = { type: "object" };

interface Way {
  readonly root: JsonObject;
  readonly budget: { left: number };
}

function free(schema: Json, segments: readonly string[], way: Way): Json {
  way.budget.left -= 1;
  if (way.budget.left < 0 || !isJsonObject(schema)) return schema;
  const { $ref: reference, ...own } = schema;
  const freed: JsonObject = {};
  for (const [keyword, value] of Object.entries(own)) {
    if (!bindsAll.has(keyword)) freed[keyword] = value;
  }
  freeMembers(freed, segments, way);
  freeElements(freed, segments, way);
  freeAlternatives(freed, segments, way);
  const target = typeof reference === "string" ? pointedAt(way.root, reference) : undefined;
  if (target === undefined) return freed;
  // The definition stands in its place: others may refer to it on the way to something that stays.
  return added(freed, free(target, segments, way));
}

/** What binds an object or a list as a whole, or shows one: it may hold of what was sent and not of what is left. */
const bindsAll: ReadonlySet<string> = new Set([
  ...["const", "enum", "default", "examples", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"],
  ...["dependencies", "minProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef"],
  ...["$recursiveRef", "uniqueItems", "maxContains"],
]);

function freeMembers(freed: JsonObject, [segment = "", ...rest]: readonly string[], way: Way): void {
  const names = readOwn(freed, "properties");
  const members = isJsonObject(names) ? Object.entries(names) : [];
  const isMeant = (name: string): boolean => segment === "*" || segment === name;
  if (rest.length === 0) {
    if (isJsonObject(names)) freed["properties"] = Object.fromEntries(members.filter(([name]) => !isMeant(name)));
    const required = readOwn(freed, "required");
    if (Array.isArray(required))
      freed["required"] = required.filter((name) => typeof name !== "string" || !isMeant(name));
    return;
  }
  const below = (value: Json): Json => free(value, rest, way);
  if (isJsonObject(names))
    freed["properties"] = Object.fromEntries(
      members.map(([name, value]) => [name, isMeant(name) ? below(value) : value]),
    );
  const isNamed = segment !== "*" && members.some(([name]) => name === segment);
  freeOthers(freed, { segment, isNamed, below });
}

/** Schemas for members by another way than their name: only where all are meant, what they say of each is certain. */
function freeOthers(freed: JsonObject, of: { segment: string; isNamed: boolean; below: (value: Json) => Json }): void {
  const patterns = readOwn(freed, "patternProperties");
  const change = of.segment === "*" ? of.below : (): Json => ({});
  if (isJsonObject(patterns))
    freed["patternProperties"] = Object.fromEntries(
      Object.entries(patterns).map(([pattern, value]) => [pattern, change(value)]),
    );
  const others = readOwn(freed, "additionalProperties");
  if (isJsonObject(others) && !of.isNamed) freed["additionalProperties"] = change(others);
}

/** Positions count only where a segment is one. */
function freeElements(freed: JsonObject, [segment = "", ...rest]: readonly string[], way: Way): void {
  const isPosition = /^(?:0|[1-9]\d*)$/u.test(segment);
  if (segment !== "*" && !isPosition) return;
  const below = rest.length > 0 && segment === "*" ? (value: Json): Json => free(value, rest, way) : undefined;
  // One of them is removed, or changed: of each nobody can tell any more which one it is.
  const keywords = below === undefined ? positional : ["items", "prefixItems", "additionalItems", "contains"];
  for (const keyword of keywords) {
    const value = readOwn(freed, keyword);
    if (value === undefined) continue;
    const changed = below === undefined ? undefined : Array.isArray(value) ? value.map(below) : below(value);
    if (changed === undefined) Reflect.deleteProperty(freed, keyword);
    else freed[keyword] = changed;
  }
}

const positional: readonly string[] = [
  ...["items", "prefixItems", "additionalItems", "contains", "minContains", "minItems"],
];

function freeAlternatives(freed: JsonObject, segments: readonly string[], way: Way): void {
  for (const keyword of ["allOf", "anyOf"]) {
    const members = readOwn(freed, keyword);
    if (Array.isArray(members)) freed[keyword] = members.map((member) => free(member, segments, way));
  }
  const one = readOwn(freed, "oneOf");
  if (!Array.isArray(one)) return;
  Reflect.deleteProperty(freed, "oneOf");
  // Two of them may hold of what is left.
  Object.assign(freed, added(freed, { anyOf: one.map((member) => free(member, segments, way)) }));
}

/** Both schemas at once. */
function added(schema: JsonObject, more: Json): JsonObject {
  const members = readOwn(schema, "allOf");
  return { ...schema, allOf: [...(Array.isArray(members) ? members : []), more] };
}
