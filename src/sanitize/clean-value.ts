import type { Finding } from "../model/finding.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { ExactNumber } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { cleanText } from "./clean-text.ts";
import type { FieldRule, Place, TextBound } from "./field-rule.ts";
import { FindingList } from "./finding-list.ts";
import { noteSuspicious } from "./suspicious-text.ts";

export interface Cleaned<T extends Json = Json> {
  /** The same reference when nothing had to be changed. */
  readonly value: T;
  readonly findings: readonly Finding[];
}

export interface CleanOptions {
  /** How the members of an object are treated; a string or array at the root is content of several lines. */
  readonly fields: FieldRule;
  /** Most findings listed; cleaning goes on beyond it. Default `limits.findingsPerExchangeMax`. */
  readonly findingsMax?: number;
}

/**
 * Cleans every string and every key of a JSON value as `fields` says. Pointers in findings are made of
 * cleaned keys and lead into the cleaned value. Numbers and structure stay. A key that cleaning makes
 * equal to another gets a number, so that no member is lost.
 *
 * Throws on a value deeper than `limits.jsonDepthMax`, which the strict parser never yields.
 */
export function cleanValue(value: Json, options: CleanOptions): Cleaned {
  const cleaner = new ValueCleaner(options.findingsMax ?? limits.findingsPerExchangeMax);
  const cleaned = cleaner.clean(value, { text: "multi", inside: options.fields });
  return { value: cleaned, findings: cleaner.findings() };
}

/** `cleanValue` for an object, which stays one. */
export function cleanObject(value: JsonObject, options: CleanOptions): Cleaned<JsonObject> {
  const cleaner = new ValueCleaner(options.findingsMax ?? limits.findingsPerExchangeMax);
  const cleaned = cleaner.cleanMembers(value, options.fields);
  return { value: cleaned, findings: cleaner.findings() };
}

class ValueCleaner {
  readonly #findings: FindingList;
  readonly #path: string[] = [];

  constructor(findingsMax: number) {
    this.#findings = new FindingList(findingsMax);
  }

  findings(): readonly Finding[] {
    return this.#findings.list();
  }

  clean(value: Json, place: Place): Json {
    if (place.inside === undefined) return value;
    if (typeof value === "string") return this.#cleanString(value, place);
    if (typeof value !== "object" || value === null || value instanceof ExactNumber) return value;
    if (this.#path.length > limits.jsonDepthMax) throw new RangeError("a value deeper than the parser allows");
    return Array.isArray(value) ? this.#cleanElements(value, place) : this.cleanMembers(value, place.inside);
  }

  /** Copies on the first change only. */
  cleanMembers(value: JsonObject, fields: FieldRule): JsonObject {
    const nameKey = keyNamer(value);
    let changed: Map<string, Json> | undefined;
    let done = 0;
    for (const [key, member] of Object.entries(value)) {
      const cleanKey = nameKey(this.#cleanKey(key, fields), key);
      this.#path.push(cleanKey);
      const cleaned = this.clean(member, fields.place(key));
      this.#path.pop();
      if (changed === undefined && (cleaned !== member || cleanKey !== key)) {
        changed = new Map(Object.entries(value).slice(0, done));
      }
      changed?.set(cleanKey, cleaned);
      done++;
    }
    return changed === undefined ? value : Object.fromEntries(changed);
  }

  #cleanElements(value: Json[], place: Place): Json[] {
    let changed: Json[] | undefined;
    for (const [index, element] of value.entries()) {
      this.#path.push(String(index));
      const cleaned = this.clean(element, place);
      this.#path.pop();
      if (changed === undefined && cleaned !== element) changed = value.slice(0, index);
      changed?.push(cleaned);
    }
    return changed ?? value;
  }

  #cleanKey(key: string, fields: FieldRule): string {
    const { text, findings } = cleanText(key, "single");
    if (findings.length === 0) return key;
    this.#path.push(text);
    for (const found of findings) {
      this.#findings.add(this.#path, fields.keys === "clean" ? found : { ...found, kind: "identifier-unsafe" });
    }
    this.#path.pop();
    return fields.keys === "clean" ? text : key;
  }

  #cleanString(value: string, place: Place): string {
    const keepsBytes = place.text === "identifier" || place.text === "exact";
    const line = place.text === "single" || place.text === "identifier" ? "single" : "multi";
    const { text, findings } = cleanText(value, line);
    for (const found of findings) {
      this.#findings.add(this.#path, keepsBytes ? { ...found, kind: "identifier-unsafe" } : found);
    }
    if (place.bound !== undefined) this.#measure(value.length, place.bound);
    if (place.watched === true) for (const found of noteSuspicious(text)) this.#findings.add(this.#path, found);
    return keepsBytes ? value : text;
  }

  #measure(chars: number, bound: TextBound): void {
    if (chars <= bound.noted) return;
    const kind = chars > bound.max ? "definition-oversized" : "text-oversized";
    this.#findings.add(this.#path, { kind, detail: `${chars} characters`, count: 1 });
  }
}

/**
 * Names changed keys: the cleaned name, or the first numbered form of it that no other member has.
 * Numbers go on where they stopped, so that thousands of keys that clean to one name stay cheap.
 */
function keyNamer(value: JsonObject): (wanted: string, original: string) => string {
  const given = new Set<string>();
  const numbers = new Map<string, number>();
  return (wanted, original) => {
    if (wanted === original) return wanted;
    let number = numbers.get(wanted) ?? 1;
    let candidate = number === 1 ? wanted : `${wanted} (${number})`;
    while (Object.hasOwn(value, candidate) || given.has(candidate)) candidate = `${wanted} (${++number})`;
    given.add(candidate);
    numbers.set(wanted, number);
    return candidate;
  };
}
