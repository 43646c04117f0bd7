import type { Json } from "../model/json.ts";
import { ExactNumber, isJsonObject } from "../model/json.ts";
import type { KeywordShape } from "./keywords.ts";

const types: ReadonlySet<Json> = new Set<Json>(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** Whether a keyword's value has the type that its dialect's meta-schema demands. Subschemas are not looked into. */
export function isShaped(value: Json, shape: KeywordShape): boolean {
  return checks[shape](value);
}

const checks: Readonly<Record<KeywordShape, (value: Json) => boolean>> = {
  schema: isSchema,
  schemas: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  "schema-or-schemas": (value) => isSchema(value) || (Array.isArray(value) && value.every(isSchema)),
  "schema-map": (value) => isMapOf(value, isSchema),
  "pattern-map": (value) => isMapOf(value, isSchema),
  "dependency-map": (value) => isMapOf(value, (member) => isSchema(member) || isNames(member)),
  type: (value) => types.has(value) || (isNames(value) && value.length > 0 && value.every((name) => types.has(name))),
  number: isNumber,
  positive: (value) => (typeof value === "number" ? value > 0 : isNumber(value) && !value.source.startsWith("-")),
  count: (value) => typeof value === "number" && Number.isInteger(value) && value >= 0,
  boolean: (value) => typeof value === "boolean",
  pattern: (value) => typeof value === "string",
  names: isNames,
  "names-map": (value) => isMapOf(value, isNames),
  values: (value) => Array.isArray(value) && value.length > 0,
  value: () => true,
};

function isSchema(value: Json): boolean {
  return typeof value === "boolean" || isJsonObject(value);
}

function isNumber(value: Json): value is number | ExactNumber {
  return typeof value === "number" || value instanceof ExactNumber;
}

function isNames(value: Json): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function isMapOf(value: Json, holds: (member: Json) => boolean): boolean {
  return isJsonObject(value) && Object.values(value).every(holds);
}
