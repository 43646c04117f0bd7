import type { Json } from "../model/json.ts";
import { readOwn } from "../model/json.ts";

export type Dialect = "2020-12" | "2019-09" | "draft-07" | "draft-06";

const dialects: ReadonlyMap<string, Dialect> = new Map([
  ["//json-schema.org/draft/2020-12/schema", "2020-12"],
  ["//json-schema.org/draft/2019-09/schema", "2019-09"],
  ["//json-schema.org/draft-07/schema", "draft-07"],
  ["//json-schema.org/draft-06/schema", "draft-06"],
]);

/**
 * The dialects to try, in order. A declared one is the only one. MCP takes a schema without `$schema`
 * as 2020-12 (2025-11-25, "JSON Schema Usage"); servers of earlier revisions sent draft-07 forms
 * without saying so, so draft-07 is tried where 2020-12 cannot be. Undefined: a dialect that is unknown.
 */
export function dialectsOf(schema: Json): readonly Dialect[] | undefined {
  const declared = readOwn(schema, "$schema");
  if (declared === undefined) return ["2020-12", "draft-07"];
  const dialect = typeof declared === "string" ? dialectNamed(declared) : undefined;
  return dialect === undefined ? undefined : [dialect];
}

/** By URI, with or without the empty fragment and over either scheme, as schemas in the field spell it. */
export function dialectNamed(uri: string): Dialect | undefined {
  return dialects.get(uri.replace(/^https?:/, "").replace(/#$/, ""));
}
