import { isJsonObject, readOwn, type Json, type JsonObject } from "../model/json.ts";

/** What a JSON pointer in a fragment leads to (RFC 6901 §6); undefined for any other reference. */
export function pointedAt(root: JsonObject, reference: string): Json | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: Json | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    at = Array.isArray(at) ? at[Number(key)] : readOwn(at, key);
  }
  return at;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const definitionKeywords = ["$defs", "definitions"] as const;

/**
 * Whether a schema refers to nothing but its definitions, so that the rest of it can be changed and what is referred to
 * stays what it was. One that can be referred to in other ways (`$id` within, anchors, dynamic references) does not.
 */
export function refersToDefinitionsAlone(schema: Json, isRoot = true): boolean {
  if (Array.isArray(schema)) return schema.every((member) => refersToDefinitionsAlone(member, false));
  if (!isJsonObject(schema)) return true;
  return Object.entries(schema).every(([key, value]) => {
    if (key === "$ref" && typeof value === "string") return definitionOf(value) !== undefined;
    if (elsewhere.has(key) && typeof value === "string") return key === "$id" && isRoot;
    return refersToDefinitionsAlone(value, false);
  });
}

const elsewhere: ReadonlySet<string> = new Set(["$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor", "$id"]);

/** Where a reference leads, as keyword and encoded name of a definition. */
function definitionOf(reference: string): string | undefined {
  const [start, keyword, name] = reference.split("/");
  const isDefinition = start === "#" && definitionKeywords.some((known) => known === keyword) && name !== undefined;
  return isDefinition ? `${keyword ?? ""}/${name}` : undefined;
}

/** A schema that refers to its definitions alone, without those that nothing refers to. */
export function withoutUnusedDefinitions(schema: JsonObject): JsonObject {
  const rest = Object.fromEntries(Object.entries(schema).filter(([key]) => !isDefinitions(key)));
  const used = new Set<string>();
  const found: Json[] = [rest];
  for (let next = found.pop(); next !== undefined; next = found.pop()) {
    for (const reference of referencesIn(next)) {
      const definition = definitionOf(reference);
      if (definition === undefined || used.has(definition)) continue;
      used.add(definition);
      found.push(pointedAt(schema, `#/${definition}`) ?? {});
    }
  }
  const kept: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    const pruned = isDefinitions(key) && isJsonObject(value) ? usedOf(value, key, used) : value;
    if (pruned !== undefined) kept[key] = pruned;
  }
  return kept;
}

function isDefinitions(key: string): boolean {
  return definitionKeywords.some((known) => known === key);
}

/** Names may be written encoded in references: what may be meant stays. */
function usedOf(definitions: JsonObject, keyword: string, used: ReadonlySet<string>): JsonObject | undefined {
  const prefix = `${keyword}/`;
  const names = new Set(
    [...used]
      .filter((one) => one.startsWith(prefix))
      .map((one) => decoded(one.slice(prefix.length)).replaceAll("~1", "/").replaceAll("~0", "~")),
  );
  const kept = Object.entries(definitions).filter(([name]) => names.has(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function referencesIn(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "$ref" && typeof member === "string" ? [member] : referencesIn(member),
  );
}
