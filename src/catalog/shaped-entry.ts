import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import type { Shaping } from "../model/obligations.ts";
import { refuse } from "../model/refusal.ts";
import { withoutFields } from "./freed-schema.ts";
import { namedArguments } from "./named-arguments.ts";
import { withoutPresets } from "./preset-schema.ts";
import { keyed, withInput, type Entry, type KeyedSchema } from "./table.ts";

/** How policy changes an entry for the principals of a view, and what its steps need for that. */
export interface Shaped extends Shaping {
  /** Arguments that the shown schema names anywhere, where policy says what becomes of others. */
  readonly known: KnownArguments | undefined;
  /** The upstream's own input schema, to which arguments and presets are held together. Tools only. */
  readonly own: KeyedSchema | undefined;
}

export interface KnownArguments {
  readonly names: ReadonlySet<string>;
  /** Accepts an object whose names all fit the patterns of the schema; undefined where it has none. */
  readonly patterns: KeyedSchema | undefined;
}

/**
 * The entry as policy has it for a principal: presets are neither shown nor asked for, removed fields are not promised,
 * and unknown arguments are refused by the schema itself where policy refuses them and the schema is flat. Withheld
 * (PRESET_UNFIT) where the schema cannot be told without a preset, or what it names cannot be told. The same entry where policy says nothing.
 */
export function shapeEntry(entry: Entry, shaping: Shaping): Entry {
  if (shaping.rules.length === 0) return entry;
  if (entry.item.kind === "prompt") return shapePrompt(entry, shaping);
  return entry.item.kind === "tool" ? shapeTool(entry, shaping) : entry;
}

function shapePrompt(entry: Entry, shaping: Shaping): Entry {
  const shaped = { ...shaping, known: undefined, own: undefined };
  const declared = readOwn(entry.shown, "arguments");
  if (!Array.isArray(declared)) return { ...entry, shaped };
  const rest = declared.filter((argument) => {
    const name = readOwn(argument, "name");
    return typeof name !== "string" || !shaping.presets.has(name);
  });
  return { ...entry, shaped, shown: { ...entry.shown, arguments: rest } };
}

function shapeTool(entry: Entry, shaping: Shaping): Entry {
  const own = entry.ownInput === undefined ? undefined : keyed(entry.ownInput);
  const input = entry.shownInput?.schema;
  const freed = shapeOutput(entry, shaping);
  if (!isJsonObject(input)) return { ...freed, shaped: { ...shaping, known: undefined, own } };
  const rest = shaping.presets.size === 0 ? input : withoutPresets(input, shaping.presets);
  if (rest === undefined) return unshowable(entry, shaping);
  const known = knownBy(rest, shaping);
  if (known === "unclear") return unshowable(entry, shaping);
  const narrowed = shaping.unknownArguments === "reject" && isFlat(rest, known) ? closed(rest) : rest;
  const shaped = { ...(narrowed === input ? freed : withInput(freed, narrowed)), shaped: { ...shaping, known, own } };
  return { ...shaped, paramHeaders: shownHeaders(entry, shaping) };
}

function unshowable(entry: Entry, { presets, rules }: Shaping): Entry {
  const { refusal } = refuse("PRESET_UNFIT", { reason: "schema", presets: [...presets.keys()], rules: [...rules] });
  return { ...entry, withheld: refusal };
}

function closed(schema: JsonObject): JsonObject {
  return readOwn(schema, "additionalProperties") === false ? schema : { ...schema, additionalProperties: false };
}

/** Arguments are named by `properties` and patterns alone. */
function isFlat(schema: JsonObject, known: KnownArguments | undefined): boolean {
  const composed = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "dependentSchemas",
    "dependencies",
  ];
  const properties = readOwn(schema, "properties") ?? {};
  return (
    composed.every((keyword) => !Object.hasOwn(schema, keyword)) &&
    [...(known?.names ?? [])].every((name) => readOwn(properties, name) !== undefined)
  );
}

function knownBy(schema: JsonObject, { unknownArguments }: Shaping): KnownArguments | "unclear" | undefined {
  if (unknownArguments !== "reject" && unknownArguments !== "strip") return undefined;
  const named = namedArguments(schema);
  if (named === undefined) return "unclear";
  return { names: named.names, patterns: named.patterns.size === 0 ? undefined : keyed(namesFitting(named.patterns)) };
}

function namesFitting(patterns: ReadonlySet<string>): JsonObject {
  const patternProperties = Object.fromEntries([...patterns].map((pattern) => [pattern, {}]));
  return { type: "object", patternProperties, additionalProperties: false };
}

/** The client need not send the header of an argument that it does not send. */
function shownHeaders({ paramHeaders }: Entry, { presets }: Shaping): Entry["paramHeaders"] {
  return paramHeaders && { headers: paramHeaders.headers.filter(({ path }) => !presets.has(path[0] ?? "")) };
}

function shapeOutput(entry: Entry, { removeFields }: Shaping): Entry {
  const output = entry.output?.schema;
  if (removeFields.length === 0 || !isJsonObject(output)) return entry;
  const freed = withoutFields(output, removeFields);
  const shown = readOwn(entry.shown, "outputSchema");
  const outputSchema = isJsonObject(shown) ? withoutFields(shown, removeFields) : freed;
  return { ...entry, output: keyed(freed), shown: { ...entry.shown, outputSchema } };
}
