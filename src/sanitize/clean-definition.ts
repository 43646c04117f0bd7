import type { Finding } from "../model/finding.ts";
import type { ItemKind } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import { readOwnString } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { cleanObject } from "./clean-value.ts";
import { definitionFields } from "./definition-fields.ts";

export interface CleanedDefinition {
  /** Display text cleaned, identifiers as they were; the same reference when nothing changed. */
  readonly definition: JsonObject;
  readonly findings: readonly Finding[];
  /** When not empty the item must be withheld (`CATALOG_ITEM_UNSAFE`); a part of `findings`. */
  readonly unsafe: readonly Finding[];
}

/** The names that MCP recommends for tools, and other printable ASCII: some servers put spaces and slashes in. */
const toolName = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const blocking: ReadonlySet<Finding["kind"]> = new Set<Finding["kind"]>(["identifier-unsafe", "definition-oversized"]);

/**
 * Cleans one definition from a list. What people and models read (titles, descriptions, nested ones
 * too, annotations, icons, `_meta`) is cleaned; what is compared byte by byte (name, URI, URI template,
 * media type, property names, enum, const, default, required, patterns, references) is never repaired:
 * hidden characters in it make the item unsafe, because a repaired identifier names something else.
 * Unsafe as well: a tool name outside printable ASCII or over `nameCharsMax`, a URI over `uriCharsMax`,
 * a description or whole definition over its bound.
 *
 * Does not judge whether names collide or look alike, whether the schema can be used, or what text says.
 */
export function cleanDefinition(kind: ItemKind, definition: JsonObject): CleanedDefinition {
  const cleaned = cleanObject(definition, { fields: definitionFields[kind] });
  const extra = [...nameFindings(kind, definition), ...uriFindings(definition), ...sizeFindings(definition)];
  const findings = extra.length === 0 ? cleaned.findings : [...extra, ...cleaned.findings];
  return {
    definition: cleaned.value,
    findings: findings.slice(0, limits.findingsPerExchangeMax),
    unsafe: findings.filter((finding) => blocking.has(finding.kind)),
  };
}

function nameFindings(kind: ItemKind, definition: JsonObject): readonly Finding[] {
  const name = readOwnString(definition, "name");
  if (name === undefined) return [];
  const found: Finding[] = [];
  if (kind === "tool" && !toolName.test(name)) found.push(unsafe("/name", "not printable ASCII"));
  if ((kind === "tool" || kind === "prompt") && name.length > limits.nameCharsMax) {
    found.push(unsafe("/name", `${name.length} characters`));
  }
  return found;
}

function uriFindings(definition: JsonObject): readonly Finding[] {
  return ["uri", "uriTemplate"].flatMap((key) => {
    const uri = readOwnString(definition, key);
    return uri === undefined || uri.length <= limits.uriCharsMax ? [] : [unsafe(`/${key}`, `${uri.length} characters`)];
  });
}

function sizeFindings(definition: JsonObject): readonly Finding[] {
  const bytes = Buffer.byteLength(JSON.stringify(definition));
  if (bytes <= limits.definitionBytesNoted) return [];
  const kind = bytes > limits.definitionBytesMax ? "definition-oversized" : "text-oversized";
  return [{ kind, where: "", detail: `${bytes} bytes`, count: 1 }];
}

function unsafe(where: string, detail: string): Finding {
  return { kind: "identifier-unsafe", where, detail, count: 1 };
}
