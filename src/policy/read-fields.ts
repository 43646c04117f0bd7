import type { PolicyFault } from "./language.ts";

/** Where reading stands: the notes being taken for one file, and the JSON pointer of the value at hand. */
export interface Place {
  readonly notes: Notes;
  readonly pointer: string;
}

export interface Notes {
  readonly file: string;
  readonly faults: PolicyFault[];
  readonly warnings: PolicyFault[];
}

export interface Words {
  readonly all: boolean;
  readonly words: readonly string[];
}

export function at(place: Place, key: string | number): Place {
  const step = String(key).replaceAll("~", "~0").replaceAll("/", "~1");
  return { notes: place.notes, pointer: `${place.pointer}/${step}` };
}

/** Notes a fault. All faults of all files are collected, so that one run shows everything. */
export function fault(place: Place, found: unknown, expected: string, message: string): void {
  place.notes.faults.push(note(place, found, expected, message));
}

/** Notes a doubt: the policy still loads. */
export function warn(place: Place, found: unknown, expected: string, message: string): void {
  place.notes.warnings.push(note(place, found, expected, message));
}

function note(place: Place, found: unknown, expected: string, message: string): PolicyFault {
  return { path: `${place.notes.file}#${place.pointer}`, found: shown(found), expected, message };
}

function shown(found: unknown): string {
  if (found === undefined) return "nothing";
  let text: string;
  try {
    text = JSON.stringify(found);
  } catch {
    // A YAML alias may point at its own ancestor; such a value has no JSON text.
    text = typeof found;
  }
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The mapping at `place`, with a fault for every field that is not in `fields`. Reads own properties only. */
export function readMapping(place: Place, value: unknown, fields: readonly string[]): Map<string, unknown> | undefined {
  if (!isMapping(value)) {
    fault(place, value, "a mapping", `expected a mapping with ${fields.join(", ")}`);
    return undefined;
  }
  const found = new Map(Object.entries(value));
  for (const key of found.keys()) {
    if (!fields.includes(key)) {
      fault(at(place, key), key, `one of ${fields.join(", ")}`, `the field "${key}" is not known here`);
    }
  }
  return found;
}

export function readText(place: Place, value: unknown, expected: string): string | undefined {
  if (typeof value === "string" && value.trim() !== "") return value;
  fault(place, value, expected, `expected ${expected}`);
  return undefined;
}

/** `x`, `[x, y]` or `{any: [x, y]}` (any of them), and `{all: [x, y]}` where `mayAll`. Empty lists are faults. */
export function readWords(place: Place, value: unknown, mayAll: boolean): Words | undefined {
  if (typeof value === "string") return listOfWords(place, [value], false);
  if (Array.isArray(value)) return listOfWords(place, value, false);
  const expected = mayAll ? "a string, a list, {any: list} or {all: list}" : "a string, a list or {any: list}";
  if (!isMapping(value)) {
    fault(place, value, expected, `expected ${expected}`);
    return undefined;
  }
  const keys = Object.keys(value);
  const key = keys[0];
  const known = key === "any" || (key === "all" && mayAll);
  if (keys.length !== 1 || !known) {
    fault(place, value, expected, "a mapping here has exactly one field");
    return undefined;
  }
  return listOfWords(at(place, key), value[key], key === "all");
}

function listOfWords(place: Place, value: unknown, all: boolean): Words | undefined {
  if (!Array.isArray(value)) {
    fault(place, value, "a list of strings", "expected a list of strings");
    return undefined;
  }
  if (value.length === 0) {
    fault(place, value, "at least one entry", "an empty list matches nothing");
    return undefined;
  }
  const words: string[] = [];
  for (const [index, entry] of value.entries()) {
    const word = readText(at(place, index), entry, "a string that is not empty");
    if (word !== undefined) words.push(word);
  }
  return words.length === value.length ? { all, words } : undefined;
}
