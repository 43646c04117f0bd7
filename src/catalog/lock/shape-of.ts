import { isJsonObject, type Json, type JsonObject } from "../../model/json.ts";
import type { LockedKind } from "./document.ts";

/**
 * The structure of a definition: names, types, what is required, annotations, every keyword that bounds a value.
 * Without what may differ from one person to another: texts, enumerations, defaults and examples, in schemas at any
 * depth, and the values within `_meta`. Members that no revision knows are kept whole.
 *
 * What this leaves out is not pinned: a text under `perUser: shape` may say anything.
 */
export function shapeOf(kind: LockedKind, definition: JsonObject): JsonObject {
  return mapMembers(definition, (key, value) => {
    if (texts.has(key)) return undefined;
    if (key === "_meta") return outline(value);
    if (kind === "tool" && (key === "inputSchema" || key === "outputSchema")) return schemaShape(value);
    if (kind === "prompt" && key === "arguments") return argumentsShape(value);
    if (key === "annotations") return isJsonObject(value) ? mapMembers(value, withoutTexts) : value;
    return value;
  });
}

const texts: ReadonlySet<string> = new Set(["title", "description"]);

function withoutTexts(key: string, value: Json): Json | undefined {
  return texts.has(key) ? undefined : value;
}

function argumentsShape(value: Json): Json {
  if (!Array.isArray(value)) return value;
  return value.map((argument) => (isJsonObject(argument) ? mapMembers(argument, withoutTexts) : argument));
}

/** Keywords whose values are for people, or are values of somebody's own. */
const unpinned: ReadonlySet<string> = new Set([
  ...texts,
  "$comment",
  "enum",
  "const",
  "default",
  "examples",
  "enumNames",
]);

/** Keywords whose members are named by the schema's author: there `title` is a property, and no text. */
const naming: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependentRequired",
  "dependencies",
  "$defs",
  "definitions",
]);

/** Recursion is bounded by the depth that the parser allows. */
function schemaShape(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(schemaShape);
  if (!isJsonObject(schema)) return schema;
  return mapMembers(schema, (key, value) => {
    if (unpinned.has(key)) return undefined;
    if (naming.has(key) && isJsonObject(value)) return mapMembers(value, (_name, child) => schemaShape(child));
    return schemaShape(value);
  });
}

/** Keys, and the types of what they hold. */
function outline(value: Json): Json {
  if (Array.isArray(value)) return value.map(outline);
  if (isJsonObject(value)) return mapMembers(value, (_key, child) => outline(child));
  return value === null ? "null" : typeof value === "object" ? "number" : typeof value;
}

function mapMembers(value: JsonObject, map: (key: string, value: Json) => Json | undefined): JsonObject {
  const mapped: JsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    const kept = map(key, child);
    if (kept !== undefined) mapped[key] = kept;
  }
  return mapped;
}
