import { createHash } from "node:crypto";
import { isMapping } from "./read-fields.ts";

/** SHA-256 (hex) over the documents' contents. Order and names of files, and order of keys, do not matter. */
export function digestDocuments(values: readonly unknown[]): string {
  const texts = values.map(canonicalText).sort();
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex");
}

/** JSON with keys in code unit order. For documents that compiled: they hold JSON values only. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isMapping(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value[key])}`).join(",")}}`;
}
