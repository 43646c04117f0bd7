import type { Dialect } from "./dialect.ts";

/** What a keyword's value has to be. The names of schema-holding shapes say how subschemas are found. */
export type KeywordShape =
  | "schema"
  | "schemas"
  | "schema-or-schemas"
  | "schema-map"
  | "pattern-map"
  | "dependency-map"
  | "type"
  | "number"
  | "positive"
  | "count"
  | "boolean"
  | "pattern"
  | "names"
  | "names-map"
  | "values"
  | "value";

const everywhere: readonly [string, KeywordShape][] = [
  ["type", "type"],
  ["enum", "values"],
  ["const", "value"],
  ["multipleOf", "positive"],
  ["maximum", "number"],
  ["exclusiveMaximum", "number"],
  ["minimum", "number"],
  ["exclusiveMinimum", "number"],
  ["maxLength", "count"],
  ["minLength", "count"],
  ["pattern", "pattern"],
  ["maxItems", "count"],
  ["minItems", "count"],
  ["uniqueItems", "boolean"],
  ["contains", "schema"],
  ["maxProperties", "count"],
  ["minProperties", "count"],
  ["required", "names"],
  ["properties", "schema-map"],
  ["patternProperties", "pattern-map"],
  ["additionalProperties", "schema"],
  ["propertyNames", "schema"],
  ["allOf", "schemas"],
  ["anyOf", "schemas"],
  ["oneOf", "schemas"],
  ["not", "schema"],
];

const tuples: readonly [string, KeywordShape][] = [
  ["items", "schema-or-schemas"],
  ["additionalItems", "schema"],
];

const conditions: readonly [string, KeywordShape][] = [
  ["if", "schema"],
  ["then", "schema"],
  ["else", "schema"],
];

const since2019: readonly [string, KeywordShape][] = [
  ["dependentSchemas", "schema-map"],
  ["dependentRequired", "names-map"],
  ["unevaluatedProperties", "schema"],
  ["unevaluatedItems", "schema"],
  ["maxContains", "count"],
  ["minContains", "count"],
];

const dependencies: readonly [string, KeywordShape][] = [["dependencies", "dependency-map"]];

const since2020: readonly [string, KeywordShape][] = [
  ["prefixItems", "schemas"],
  ["items", "schema"],
];

/**
 * The keywords that are judged, per dialect. Everything else (annotations, `format`, vendor keywords,
 * keywords of other dialects) is left out of the copy that a validator sees. `format` is an annotation
 * in 2020-12 and 2019-09 and optional before; peers disagree on what they assert, so it is not asserted.
 * References, anchors and definitions are resolved before and are no keywords here.
 */
export const keywordShapes: Readonly<Record<Dialect, ReadonlyMap<string, KeywordShape>>> = {
  "2020-12": new Map([...everywhere, ...conditions, ...since2019, ...since2020]),
  "2019-09": new Map([...everywhere, ...tuples, ...conditions, ...since2019]),
  "draft-07": new Map([...everywhere, ...tuples, ...conditions, ...dependencies]),
  "draft-06": new Map([...everywhere, ...tuples, ...dependencies]),
};
