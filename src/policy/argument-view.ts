import { ExactNumber, isJsonObject } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { charge, textCost } from "./meter.ts";
import type { Meter } from "./meter.ts";
import { noteRead, noteWhole, pointerTo } from "./read-notes.ts";
import type { ReadNotes } from "./read-notes.ts";

/** Digits a whole number may have to be handed to a condition; more is an error, not a rounding. */
const integerDigitsMax = 40;

export interface ViewSource {
  readonly meter: Meter;
  /** Undefined where reading leaves no note: claims, and whatever stands inside lists. */
  readonly notes: ReadNotes | undefined;
  readonly listItemsMax: number;
}

/** What handing out a list costs, its contents included. A list that came from elsewhere costs its length. */
const listWeights = new WeakMap<readonly unknown[], number>();

export function listWeight(list: readonly unknown[]): number {
  return listWeights.get(list) ?? list.length + 1;
}

/** A JSON object as a condition sees it: own properties only, converted as they are read, every read charged. */
export function viewOf(object: JsonObject, source: ViewSource): ReadonlyMap<string, unknown> {
  return new ObjectView(object, source, "");
}

/**
 * A `Map`, because that is what the CEL library reads by `get` alone: on plain objects it looks at
 * `constructor`, which here is data. Values are converted once and shared.
 */
class ObjectView extends Map<string, unknown> {
  readonly #object: JsonObject;
  readonly #source: ViewSource;
  readonly #pointer: string;
  readonly #converted = new Map<string, unknown>();
  #keys: readonly string[] | undefined;

  constructor(object: JsonObject, source: ViewSource, pointer: string) {
    super();
    this.#object = object;
    this.#source = source;
    this.#pointer = pointer;
  }

  override get size(): number {
    return this.#ownKeys().length;
  }

  override has(key: string): boolean {
    this.#note(key, true);
    charge(this.#source.meter, 1);
    return Object.hasOwn(this.#object, key);
  }

  override get(key: string): unknown {
    const value = Object.hasOwn(this.#object, key) ? this.#object[key] : undefined;
    this.#note(key, !isJsonObject(value));
    const converted = this.#convertedAt(key, value);
    charge(this.#source.meter, costOf(converted));
    return converted;
  }

  override keys(): MapIterator<string> {
    return this.#ownKeys().values();
  }

  /** Looking at the first entry alone is how the library finds out a map's type; that is no reading. */
  override *entries(): MapIterator<[string, unknown]> {
    // Not spread: the library peeks at the first entry on every operation, and there may be many more.
    const keys = this.#knownKeys();
    for (let index = 0; index < keys.length; index += 1) {
      if (index === 1 && this.#ownKeys().length === 0) return;
      const key = keys[index] ?? "";
      yield [key, this.#convertedAt(key, this.#object[key])];
    }
    if (keys.length < 2) this.#ownKeys();
  }

  override [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries();
  }

  #knownKeys(): readonly string[] {
    return (this.#keys ??= Object.keys(this.#object));
  }

  /** The keys, noted and charged as a look at the whole object; none once the meter is exhausted. */
  #ownKeys(): readonly string[] {
    const { meter, notes, listItemsMax } = this.#source;
    if (notes !== undefined) noteWhole(notes, this.#pointer);
    const keys = this.#knownKeys();
    if (keys.length > listItemsMax) throw new ConditionFault("an object has too many fields");
    return charge(meter, keys.length + 1) ? keys : [];
  }

  #note(key: string, whole: boolean): void {
    const { notes } = this.#source;
    if (notes !== undefined) noteRead(notes, this.#pointer, { key, whole });
  }

  #convertedAt(key: string, value: Json | undefined): unknown {
    if (value === undefined) return undefined;
    const known = this.#converted.get(key);
    if (known !== undefined) return known;
    const converted = convert(value, this.#source, pointerTo(this.#pointer, key));
    this.#converted.set(key, converted);
    return converted;
  }
}

// The library tells maps by `constructor === Map`.
Object.defineProperty(ObjectView.prototype, "constructor", { value: Map });

/** A value that a condition cannot look at. The condition errs, which never permits. */
export class ConditionFault extends Error {
  override readonly name = "ConditionFault";
}

function costOf(converted: unknown): number {
  if (typeof converted === "string") return textCost(converted);
  return Array.isArray(converted) ? listWeight(converted) : 1;
}

/**
 * Whole numbers become `int`, others `double`. A number that no double holds exactly becomes an
 * `int` when it is whole and otherwise an error: rounding it would judge another value than is sent.
 */
function convert(value: Json, source: ViewSource, pointer: string): unknown {
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value;
  if (value instanceof ExactNumber) return exactInteger(value);
  if (Array.isArray(value)) return convertList(value, source);
  if (isJsonObject(value)) return new ObjectView(value, source, pointer);
  return value;
}

function exactInteger(value: ExactNumber): bigint {
  if (!/^-?\d+$/.test(value.source) || value.source.length > integerDigitsMax) {
    throw new ConditionFault("a number has more digits than a condition can compare");
  }
  return BigInt(value.source);
}

function convertList(list: readonly Json[], source: ViewSource): readonly unknown[] {
  if (list.length > source.listItemsMax) throw new ConditionFault("a list has too many entries");
  const inside: ViewSource = { ...source, notes: undefined };
  const converted = list.map((entry) => convert(entry, inside, ""));
  const weight = converted.reduce<number>((sum, entry) => sum + costOf(entry), 1);
  listWeights.set(converted, weight);
  return converted;
}
