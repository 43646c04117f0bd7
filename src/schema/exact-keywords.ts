import type { FuncKeywordDefinition } from "ajv";
import type { DataValidationCxt } from "ajv/dist/types/index.js";
import type { Json } from "../model/json.ts";
import { ExactNumber } from "../model/json.ts";
import { canonicalText } from "./canonical-text.ts";
import { compareDecimals, decimalOf, isMultiple } from "./decimal.ts";

/** Finds the original behind what the validator sees. */
export interface Comparison {
  originalOf(shown: Json, container: object, key: string | number): Json;
}

type Test = (demanded: Json, value: Json) => boolean;

/**
 * Keywords that Ajv's own code gets wrong for everybody: `multipleOf` divides doubles (19.99 by 0.01
 * leaves a rest), and `uniqueItems` compares every pair (6,000 objects take 1.3 s).
 */
export function sharedKeywords(): readonly FuncKeywordDefinition[] {
  return [define("multipleOf", "number", multiple, undefined), define("uniqueItems", "array", unique, undefined)];
}

/** All keywords that compare numbers or values, exactly. */
export function exactKeywords(comparison: Comparison): readonly FuncKeywordDefinition[] {
  return [
    define("multipleOf", "number", multiple, comparison),
    define("uniqueItems", "array", unique, comparison),
    define("enum", undefined, isOneOf, comparison),
    define("const", undefined, isSame, comparison),
    define(
      "minimum",
      "number",
      ordered((order) => order >= 0),
      comparison,
    ),
    define(
      "maximum",
      "number",
      ordered((order) => order <= 0),
      comparison,
    ),
    define(
      "exclusiveMinimum",
      "number",
      ordered((order) => order > 0),
      comparison,
    ),
    define(
      "exclusiveMaximum",
      "number",
      ordered((order) => order < 0),
      comparison,
    ),
  ];
}

function define(
  keyword: string,
  type: "number" | "array" | undefined,
  test: Test,
  comparison: Comparison | undefined,
): FuncKeywordDefinition {
  const validate = (demanded: Json, shown: Json, _parent?: unknown, at?: DataValidationCxt): boolean => {
    const isLookedUp = comparison !== undefined && at !== undefined;
    return test(demanded, isLookedUp ? comparison.originalOf(shown, at.parentData, at.parentDataProperty) : shown);
  };
  return { keyword, validate, errors: false, ...(type === undefined ? {} : { type }) };
}

const multiple: Test = (demanded, value) =>
  isNumber(demanded) && isNumber(value) && isMultiple(decimalOf(value), decimalOf(demanded));

const unique: Test = (demanded, value) => {
  if (demanded !== true || !Array.isArray(value)) return true;
  return new Set(value.map(canonicalText)).size === value.length;
};

const isSame: Test = (demanded, value) => canonicalText(demanded) === canonicalText(value);

const isOneOf: Test = (demanded, value) => {
  const text = canonicalText(value);
  return Array.isArray(demanded) && demanded.some((candidate) => canonicalText(candidate) === text);
};

function ordered(holds: (order: number) => boolean): Test {
  return (demanded, value) =>
    isNumber(demanded) && isNumber(value) && holds(compareDecimals(decimalOf(value), decimalOf(demanded)));
}

function isNumber(value: Json): value is number | ExactNumber {
  return typeof value === "number" || value instanceof ExactNumber;
}
