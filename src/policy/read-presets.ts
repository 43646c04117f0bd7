import type { Json, JsonObject } from "../model/json.ts";
import { at, fault, isMapping } from "./read-fields.ts";
import type { Place } from "./read-fields.ts";

export interface PresetsOf {
  readonly entriesMax: number;
  readonly charsMax: number;
  readonly depthMax: number;
}

/** Reads `presets`: names of top-level arguments and the JSON values they are given. Does not check any schema. */
export function readPresets(place: Place, value: unknown, of: PresetsOf): ReadonlyMap<string, Json> {
  const entries = isMapping(value) ? Object.entries(value) : [];
  const presets = new Map<string, Json>();
  if (entries.length === 0 || entries.length > of.entriesMax) {
    const expected = `a mapping of 1 to ${of.entriesMax} arguments to values`;
    fault(place, value, expected, "expected a mapping of argument to value");
    return presets;
  }
  for (const [name, entry] of entries) {
    const here = at(place, name);
    const preset = readJson(here, entry, of.depthMax);
    if (preset === undefined) continue;
    if (JSON.stringify(preset).length > of.charsMax) {
      fault(here, entry, `JSON text of at most ${of.charsMax} characters`, "this preset is too long");
    }
    if (name === "__proto__") fault(here, name, "another name", "no call can carry an argument of this name");
    presets.set(name, preset);
  }
  return presets;
}

/** A frozen copy, as JSON carries it; undefined, with a fault, when JSON cannot. An alias may point at its ancestor. */
export function readJson(place: Place, value: unknown, depth: number): Json | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return readNumber(place, value);
  if (depth > 0 && Array.isArray(value)) return readList(place, value, depth - 1);
  if (depth > 0 && isMapping(value)) return readObject(place, value, depth - 1);
  fault(place, value, "a JSON value", depth > 0 ? "this is no JSON value" : "this nests too deep");
  return undefined;
}

function readList(place: Place, value: readonly unknown[], depth: number): Json[] {
  const list: Json[] = [];
  for (const [index, entry] of value.entries()) {
    const read = readJson(at(place, index), entry, depth);
    if (read !== undefined) list.push(read);
  }
  Object.freeze(list);
  return list;
}

function readObject(place: Place, value: Readonly<Record<string, unknown>>, depth: number): JsonObject {
  const object: JsonObject = {};
  for (const [name, entry] of Object.entries(value)) {
    const read = readJson(at(place, name), entry, depth);
    if (name === "__proto__") fault(at(place, name), name, "another name", "no call can carry a field of this name");
    else if (read !== undefined) object[name] = read;
  }
  Object.freeze(object);
  return object;
}

/** YAML rounds a whole number that no double holds, so which one was meant is not known any more. */
function readNumber(place: Place, value: number): number | undefined {
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return value;
  fault(place, value, "a number that a double holds exactly", "this number cannot be sent as it is written");
  return undefined;
}
