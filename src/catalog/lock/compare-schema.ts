import { isJsonObject, readOwn, type Json, type JsonObject } from "../../model/json.ts";
import { canonicalJson } from "../../protocol/json/canonical.ts";
import { difference, isSame, pointerTo, verb, type Difference, type Effect, type Pair } from "./difference.ts";

/**
 * What differs between two schemas, keyword by keyword. `widened` and `narrowed` are of the values that one keyword
 * accepts by itself; what keywords accept together is not reasoned about.
 */
export function compareSchemas(at: string, pair: Pair): readonly Difference[] {
  const { before, after } = pair;
  if (isSame(pair)) return [];
  if (!isJsonObject(before) || !isJsonObject(after)) return [difference(at, `schema ${verb(pair)}`, pair)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.flatMap((key) => compareKeyword(key, at, { before, after }));
}

interface Schemas {
  readonly before: JsonObject;
  readonly after: JsonObject;
}

function compareKeyword(key: string, at: string, schemas: Schemas): readonly Difference[] {
  const pair = { before: readOwn(schemas.before, key), after: readOwn(schemas.after, key) };
  if (isSame(pair)) return [];
  const here = pointerTo(at, key);
  if (key === "required") return compareRequired(here, pair, schemas);
  if (key === "properties" && areMaps(pair)) return compareProperties(here, pair, schemas);
  if (named.has(key) && areMaps(pair)) return compareNamed(here, pair);
  if (nested.has(key) && pair.before !== undefined && pair.after !== undefined) return compareNested(here, pair);
  const effect = effects.get(key)?.(pair);
  return [difference(here, `${key} ${verb(pair)}`, pair, effect)];
}

function areMaps({ before, after }: Pair): boolean {
  return [before, after].every((value) => value === undefined || isJsonObject(value));
}

/** Keywords that hold schemas by name, and those that hold one. */
const named: ReadonlySet<string> = new Set(["patternProperties", "$defs", "definitions", "dependentSchemas"]);
const nested: ReadonlySet<string> = new Set([
  ...["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames"],
  ...["contains", "not", "if", "then", "else"],
]);

function compareNested(at: string, pair: Pair): readonly Difference[] {
  if (isJsonObject(pair.before) && isJsonObject(pair.after)) return compareSchemas(at, pair);
  return [difference(at, `${at.slice(at.lastIndexOf("/") + 1)} changed`, pair, openness(pair))];
}

/** `false` accepts nothing, `true` and no keyword anything. */
function openness({ before, after }: Pair): Effect {
  if (before === false || after === true || after === undefined) return "widened";
  return after === false || before === true || before === undefined ? "narrowed" : undefined;
}

function compareNamed(at: string, { before, after }: Pair): readonly Difference[] {
  return namesOf(before, after).flatMap((name) =>
    compareSchemas(pointerTo(at, name), { before: readOwn(before, name), after: readOwn(after, name) }),
  );
}

function compareProperties(at: string, { before, after }: Pair, schemas: Schemas): readonly Difference[] {
  return namesOf(before, after).flatMap((name) => {
    const here = pointerTo(at, name);
    const own = { before: readOwn(before, name), after: readOwn(after, name) };
    if (own.before !== undefined && own.after !== undefined) return compareSchemas(here, own);
    if (own.before === undefined) {
      const isRequired = namesIn(schemas.after).has(name);
      const what = isRequired ? "required parameter added" : "optional parameter added";
      return [difference(here, what, own, isRequired ? "narrowed" : "widened")];
    }
    return [difference(here, "parameter removed", own, "narrowed")];
  });
}

/** Of parameters that came or went it is said there. */
function compareRequired(at: string, pair: Pair, { before, after }: Schemas): readonly Difference[] {
  const [were, are] = [namesIn(before), namesIn(after)];
  const [had, has] = [readOwn(before, "properties"), readOwn(after, "properties")];
  const stays = (name: string): boolean => (readOwn(had, name) === undefined) === (readOwn(has, name) === undefined);
  const made = [...are].filter((name) => !were.has(name) && stays(name));
  const freed = [...were].filter((name) => !are.has(name) && stays(name));
  const told = [
    ...made.map((name) => difference(at, `parameter ${JSON.stringify(name)} made required`, nothing, "narrowed")),
    ...freed.map((name) => difference(at, `parameter ${JSON.stringify(name)} made optional`, nothing, "widened")),
  ];
  const moved = [...are].some((name) => !were.has(name)) || [...were].some((name) => !are.has(name));
  // The same names in another order, or a value that is no list of names.
  return moved ? told : [difference(at, `required ${verb(pair)}`, pair)];
}

const nothing: Pair = { before: undefined, after: undefined };

function namesIn(schema: JsonObject): ReadonlySet<string> {
  const required = readOwn(schema, "required");
  return new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
}

function namesOf(before: Json | undefined, after: Json | undefined): readonly string[] {
  const keys = [before, after].flatMap((value) => (isJsonObject(value) ? Object.keys(value) : []));
  return [...new Set(keys)].sort();
}

const effects: ReadonlyMap<string, (pair: Pair) => Effect> = new Map([
  ...["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"].map(
    (key): [string, (pair: Pair) => Effect] => [key, (pair) => bound(pair, -1)],
  ),
  ...["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"].map(
    (key): [string, (pair: Pair) => Effect] => [key, (pair) => bound(pair, 1)],
  ),
  ["type", listed],
  ["enum", listed],
  ["additionalProperties", openness],
  ["unevaluatedProperties", openness],
  ...["const", "pattern", "format", "multipleOf", "uniqueItems"].map((key): [string, (pair: Pair) => Effect] => [
    key,
    presence,
  ]),
]);

/** `sign`: in which direction a bound accepts more. */
function bound(pair: Pair, sign: 1 | -1): Effect {
  const { before, after } = pair;
  if (before === undefined || after === undefined) return presence(pair);
  if (typeof before !== "number" || typeof after !== "number") return undefined;
  return (after - before) * sign > 0 ? "widened" : "narrowed";
}

/** A list of what is accepted; a value alone is a list of it. */
function listed(pair: Pair): Effect {
  if (pair.before === undefined || pair.after === undefined) return presence(pair);
  const [before, after] = [textsOf(pair.before), textsOf(pair.after)];
  const adds = [...after].some((text) => !before.has(text));
  const takes = [...before].some((text) => !after.has(text));
  if (adds === takes) return undefined;
  return adds ? "widened" : "narrowed";
}

function textsOf(value: Json): ReadonlySet<string> {
  return new Set((Array.isArray(value) ? value : [value]).map(canonicalJson));
}

function presence({ before, after }: Pair): Effect {
  if (before === undefined) return "narrowed";
  return after === undefined ? "widened" : undefined;
}
