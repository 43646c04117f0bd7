import { ExactNumber, isJsonObject, readOwn } from "../../model/json.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import { limits } from "../../model/limits.ts";
import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Refused, Result } from "../../model/result.ts";
import { sameDecimal } from "../json/number.ts";
import { decodeHeaderValue, encodeHeaderValue } from "./header-value.ts";

/** Which arguments of a tool are mirrored into headers (2026-07-28, Streamable HTTP, "Schema Extension"). */
export interface ParamHeaderPlan {
  readonly headers: readonly ParamHeader[];
}

export interface ParamHeader {
  /** `Mcp-Param-Region`, with the case that the schema gives it. */
  readonly name: string;
  /** The chain of property names that leads to the argument. */
  readonly path: readonly string[];
  readonly type: "string" | "integer" | "boolean";
}

/**
 * Reads the `x-mcp-header` annotations of a tool's `inputSchema`. The plan is empty when it has none.
 *
 * Refuses with `SCHEMA_UNUSABLE` and a fact `reason` when one is not allowed; such a tool is left out of
 * lists, and its neighbours stay. An annotation must be an HTTP token, unique whatever its case, on a
 * property of type string, integer or boolean that a chain of `properties` alone leads to. It is looked for
 * everywhere in the schema but in data (`const`, `enum`, `default`, `examples`), in keywords nobody knows
 * too. A list of types is refused with the rest: `type` must be one of the three names.
 *
 * Not checked: the schema otherwise. Recursion is bounded by the depth the JSON parser allows.
 */
export function paramHeaderPlan(
  inputSchema: JsonObject,
  headersMax: number = limits.paramHeadersMax,
): Result<ParamHeaderPlan> {
  const search: Search = { found: [], reason: undefined };
  searchSchema(search, inputSchema, []);
  if (search.reason !== undefined) return unusable(search.reason);
  const names = new Set(search.found.map(({ name }) => name.toLowerCase()));
  if (names.size !== search.found.length) return unusable("header-name-repeated");
  if (names.size > headersMax) return unusable("header-count");
  return ok({ headers: search.found });
}

/**
 * The headers for a call with these arguments: name and encoded value. An argument that is absent, `null`
 * or no primitive has none. Integers are written in decimal digits, never with an exponent.
 */
export function paramHeadersFor(
  plan: ParamHeaderPlan,
  args: JsonObject,
): readonly (readonly [name: string, value: string])[] {
  return plan.headers.flatMap(({ name, path }) => {
    const text = textOf(valueAt(args, path));
    return text === undefined ? [] : [[name, encodeHeaderValue(text)] as const];
  });
}

/**
 * Holds the `Mcp-Param-*` headers received (`McpHeaders.params`) to the arguments in the body.
 * Each argument that the plan names must come with its header and agree with it, integers by number. Where
 * the argument is absent or `null` the header must be absent too: a router on the way may have believed it.
 *
 * Refuses with `HEADER_MISMATCH` (−32020, HTTP 400), naming the header. Headers that the plan does not
 * declare are none of its business: they are ignored, and never sent on.
 */
export function checkParamHeaders(
  plan: ParamHeaderPlan,
  args: JsonObject,
  received: Readonly<Record<string, string>>,
): Result<void> {
  for (const header of plan.headers) {
    const key = header.name.slice(headerPrefix.length).toLowerCase();
    const problem = problemWith(
      header,
      valueAt(args, header.path),
      Object.hasOwn(received, key) ? received[key] : undefined,
    );
    if (problem !== undefined) return refuse("HEADER_MISMATCH", { header: `mcp-param-${key}`, problem });
  }
  return ok(undefined);
}

function problemWith(header: ParamHeader, value: Json | undefined, received: string | undefined): string | undefined {
  const text = textOf(value);
  if (text === undefined) return received === undefined ? undefined : "unexpected";
  if (received === undefined) return "missing";
  const decoded = decodeHeaderValue(received);
  if (decoded === undefined) return "malformed";
  const numeric = header.type === "integer" && typeof value !== "string";
  return decoded === text || (numeric && sameDecimal(decoded, text)) ? undefined : "differs";
}

function valueAt(args: JsonObject, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((value, key) => readOwn(value, key), args);
}

function textOf(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (value instanceof ExactNumber) return value.source;
  if (typeof value !== "number") return undefined;
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}

interface Search {
  readonly found: ParamHeader[];
  reason: string | undefined;
}

const annotation = "x-mcp-header";
const headerPrefix = "Mcp-Param-";
/** RFC 9110 §5.6.2. */
const headerToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Keywords whose value is data; what looks like an annotation in there is none. */
const dataKeywords = new Set(["const", "enum", "default", "examples", "example"]);
/** Keywords whose value maps names to schemas; a name in there is no keyword. */
const mapKeywords = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** `path` is undefined where something else than `properties` led. */
function searchSchema(search: Search, schema: Json, path: readonly string[] | undefined): void {
  if (Array.isArray(schema)) {
    for (const element of schema) searchSchema(search, element, undefined);
  }
  if (!isJsonObject(schema)) return;
  if (Object.hasOwn(schema, annotation)) takeAnnotation(search, schema, path);
  for (const [keyword, value] of Object.entries(schema)) {
    if (dataKeywords.has(keyword)) continue;
    if (!mapKeywords.has(keyword) || !isJsonObject(value)) searchSchema(search, value, undefined);
    else {
      for (const [name, child] of Object.entries(value)) {
        searchSchema(search, child, keyword === "properties" && path !== undefined ? [...path, name] : undefined);
      }
    }
  }
}

function takeAnnotation(search: Search, schema: JsonObject, path: readonly string[] | undefined): void {
  const name = readOwn(schema, annotation);
  const type = readOwn(schema, "type");
  if (path === undefined || path.length === 0) search.reason ??= "header-not-reachable";
  else if (typeof name !== "string" || !headerToken.test(name)) search.reason ??= "header-name-malformed";
  else if (type !== "string" && type !== "integer" && type !== "boolean") search.reason ??= "header-type";
  else search.found.push({ name: `${headerPrefix}${name}`, path, type });
}

function unusable(reason: string): Refused {
  return refuse("SCHEMA_UNUSABLE", { reason });
}
