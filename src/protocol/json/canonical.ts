import { createHash } from "node:crypto";
import { ExactNumber, isJsonObject } from "../../model/json.ts";
import type { Json } from "../../model/json.ts";

/**
 * The canonical text of a value (RFC 8785): keys in the order of their UTF-16 code units, numbers and
 * strings as ECMAScript writes them, no white space. `-0` becomes `0` (§3.2.2.3).
 *
 * An `ExactNumber`, which RFC 8785 does not know, keeps its digits as they came; so two spellings of one
 * exact number (`9007199254740993`, `9007199254740993.0`) differ. Text that RFC 8785 §3.2.2.2 excludes,
 * lone surrogates, does not pass the parser; it is written escaped here.
 */
export function canonicalJson(value: Json): string {
  return isOrdered(value) ? JSON.stringify(value) : writeCanonical(value);
}

/**
 * Whether the engine alone writes a value canonically, as its keys come in order already: 0.4 µs against 1.0 for
 * small arguments.
 */
function isOrdered(value: Json | undefined): boolean {
  if (typeof value !== "object" || value === null) return value !== undefined;
  if (value instanceof ExactNumber) return false;
  if (Array.isArray(value)) return value.every(isOrdered);
  let before: string | undefined;
  for (const key in value) {
    if ((before !== undefined && key < before) || !isOrdered(value[key])) return false;
    before = key;
  }
  return true;
}

function writeCanonical(value: Json): string {
  if (value instanceof ExactNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join(",")}}`;
}

/** SHA-256 over the canonical text's UTF-8, in lower-case hex. */
export function digestOf(value: Json): string {
  return createHash("sha256").update(canonicalJson(value), "utf8").digest("hex");
}
