import { isAlias, isCollection, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit } from "yaml";
import type { Document, YAMLMap } from "yaml";
import type { ConfigFault, Place } from "./fault.ts";
import { limits } from "../model/limits.ts";

export interface ReadYaml {
  readonly ok: true;
  /** Plain objects, lists and scalars. An alias yields the same object twice. */
  readonly value: unknown;
  /** The line (from 1) on which a place, or the nearest key around it that exists, begins. */
  readonly lineOf: (place: Place) => number | undefined;
}

type YamlDocument = Document.Parsed;

/**
 * One YAML 1.2 document in the core schema. Refused: a second document, duplicate keys, keys that are
 * not scalars, tags (`!!binary` would yield bytes), merge keys (`<<` is a key like any other, and an unknown
 * one), more than `limits.yamlAliasesMax` aliases after expansion, aliases into themselves, and a file
 * larger or deeper than anybody writes. Faults never quote the text, since it may hold a secret.
 */
export function readYaml(text: string, bytesMax: number): ReadYaml | { ok: false; faults: ConfigFault[] } {
  const bytes = Buffer.byteLength(text);
  if (bytes > bytesMax) return refused([yamlFault(`${bytes} bytes`, `at most ${bytesMax} bytes`)]);
  if (nestedTooDeep(text)) return refused([yamlFault("lists within lists within lists", "less nesting")]);
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, {
      version: "1.2",
      schema: "core",
      strict: true,
      uniqueKeys: true,
      stringKeys: true,
      merge: false,
      prettyErrors: false,
      lineCounter: lines,
    });
    const faults = faultsOf(document, lines);
    if (faults.length > 0) return refused(faults);
    const value: unknown = document.toJS({ maxAliasCount: limits.yamlAliasesMax });
    return { ok: true, value, lineOf: (place) => lineOf(document, lines, place) };
  } catch {
    // What is left to throw: aliases past the bound, and a stack that ran out.
    return refused([yamlFault("aliases or nesting past what is read", `at most ${limits.yamlAliasesMax} aliases`)]);
  }
}

/**
 * The parser recurses, and compiles a pattern as long as the indentation: at some thousand levels that ends
 * the process instead of throwing. Nobody indents by 200, and flow nesting has the parser's own bound.
 */
function nestedTooDeep(text: string): boolean {
  return /^[ \t?:-]{200}/mu.test(text);
}

function refused(faults: ConfigFault[]): { ok: false; faults: ConfigFault[] } {
  return { ok: false, faults: faults.slice(0, limits.configurationFaultsMax) };
}

function faultsOf(document: YamlDocument, lines: LineCounter): ConfigFault[] {
  const faults = [...document.errors, ...document.warnings].map((error) =>
    yamlFault(error.code, expectations[error.code] ?? "well-formed YAML 1.2", lines.linePos(error.pos[0]).line),
  );
  if (faults.length > 0) return faults;
  visit(document, (_key, node, ancestors) => {
    if (!isNode(node)) return;
    if (isAlias(node)) {
      const target: unknown = node.resolve(document);
      const within = ancestors.some((ancestor) => ancestor === target);
      if (within) faults.push(yamlFault("an alias into itself", "values that end", lineAt(node, lines)));
    } else if (node.tag !== undefined) {
      faults.push(yamlFault("a tag", "values without tags", lineAt(node, lines)));
    }
  });
  return faults;
}

const expectations: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: "each key once",
  MULTIPLE_DOCS: "one document",
  NON_STRING_KEY: "keys that are plain text",
  TAG_RESOLVE_FAILED: "values without tags",
  TAB_AS_INDENT: "spaces, not tabs, as indentation",
  BAD_ALIAS: "an alias whose anchor stands before it",
  RESOURCE_EXHAUSTION: "less nesting",
};

function yamlFault(found: string, expected: string, line?: number): ConfigFault {
  const fault = { path: "", found, expected, rule: "yaml" };
  return line === undefined ? fault : { ...fault, line };
}

function lineOf(document: YamlDocument, lines: LineCounter, place: Place): number | undefined {
  let node: unknown = document.contents;
  let line: number | undefined;
  for (const part of place) {
    if (isAlias(node)) node = node.resolve(document);
    if (!isCollection(node)) return line;
    const key = isMap(node) ? keyOf(node, part) : undefined;
    node = isSeq(node) ? node.items[Number(part)] : isMap(node) ? node.get(part, true) : undefined;
    line = lineAt(key, lines) ?? lineAt(node, lines) ?? line;
  }
  return line;
}

function keyOf(map: YAMLMap, part: string | number): unknown {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(part))?.key;
}

function lineAt(node: unknown, lines: LineCounter): number | undefined {
  return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined;
}
