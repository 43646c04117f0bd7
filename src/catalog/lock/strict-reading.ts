import { isJsonObject, type Json, type JsonObject } from "../../model/json.ts";

/** What is wrong in a catalog lock: where, what stands there, and what should. */
export interface LockFault {
  /** As `upstreams.crm.tools.get_customer.approved[0].digest`; empty for the file as a whole. */
  readonly path: string;
  readonly found: string;
  readonly expected: string;
}

/** A place within the file: keys and list indices from the root. */
export type Place = readonly (string | number)[];

/** Reads a value of which nothing is believed, and notes each fault with its place. */
export interface StrictReading {
  readonly faults: LockFault[];
  fault(place: Place, found: string, expected: string): void;
  /** A map that has all `required` keys and no other than those and the `optional` ones. */
  map(value: Json | undefined, place: Place, keys: Keys): JsonObject | undefined;
  /** A map whose keys are names; a member that `read` finds wrong is left out. */
  named<T>(value: Json | undefined, place: Place, read: ReadMember<T>): ReadonlyMap<string, T>;
  list<T>(value: Json | undefined, place: Place, read: ReadItem<T>): readonly T[];
  text(value: Json | undefined, place: Place, form: TextForm): string | undefined;
}

export interface Keys {
  readonly required: readonly string[];
  readonly optional?: readonly string[];
}

type ReadMember<T> = (value: Json, place: Place, name: string) => T | undefined;
type ReadItem<T> = (value: Json, place: Place) => T | undefined;

export interface TextForm {
  readonly pattern: RegExp;
  readonly charsMax: number;
  readonly expected: string;
}

export function createStrictReading(): StrictReading {
  const faults: LockFault[] = [];
  const fault = (place: Place, found: string, expected: string): void => {
    faults.push({ path: pathOf(place), found, expected });
  };
  const map: StrictReading["map"] = (value, place, { required, optional = [] }) => {
    if (!isJsonObject(value)) {
      fault(place, kindOf(value), "a map");
      return undefined;
    }
    const known = [...required, ...optional];
    for (const key of Object.keys(value))
      if (!known.includes(key)) fault([...place, key], "unknown key", `one of ${known.join(", ")}`);
    for (const key of required) if (!Object.hasOwn(value, key)) fault([...place, key], "nothing", "a value");
    return value;
  };
  return {
    faults,
    fault,
    map,
    named: (value, place, read) => {
      const members = isJsonObject(value) ? Object.entries(value) : [];
      if (value !== undefined && !isJsonObject(value)) fault(place, kindOf(value), "a map");
      return new Map(members.flatMap(([name, member]) => some(read(member, [...place, name], name), name)));
    },
    list: (value, place, read) => {
      if (!Array.isArray(value)) {
        if (value !== undefined) fault(place, kindOf(value), "a list");
        return [];
      }
      return value.flatMap((item, at) => read(item, [...place, at]) ?? []);
    },
    text: (value, place, { pattern, charsMax, expected }) => {
      // What is absent is told where the map is read.
      if (value === undefined) return undefined;
      if (typeof value === "string" && value.length <= charsMax && pattern.test(value)) return value;
      fault(place, foundOf(value), expected);
      return undefined;
    },
  };
}

function some<T>(read: T | undefined, name: string): [string, T][] {
  return read === undefined ? [] : [[name, read]];
}

const foundCharsMax = 80;

function foundOf(value: Json): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, foundCharsMax)) : kindOf(value);
}

function kindOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (isJsonObject(value)) return "a map";
  if (typeof value === "string") return "text";
  return typeof value === "boolean" ? "true or false" : "a number";
}

function pathOf(place: Place): string {
  let path = "";
  for (const part of place) {
    if (typeof part === "number") path += `[${part}]`;
    else if (/^[\w-]+$/u.test(part)) path += path === "" ? part : `.${part}`;
    else path += `[${JSON.stringify(part)}]`;
  }
  return path;
}
