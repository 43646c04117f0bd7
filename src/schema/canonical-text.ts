import type { Json } from "../model/json.ts";
import { ExactNumber } from "../model/json.ts";
import { decimalOf, decimalText } from "./decimal.ts";

/**
 * One text per JSON value as JSON Schema compares values (core §4.2.2): members in any order, numbers
 * by their mathematical value. Equal texts mean equal values, so that uniqueness costs one set instead
 * of comparing every pair.
 */
export function canonicalText(value: Json): string {
  if (typeof value === "number" || value instanceof ExactNumber) return decimalText(decimalOf(value));
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(value[key] ?? null)}`);
  return `{${members.join(",")}}`;
}
