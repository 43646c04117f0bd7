import type { ItemFacts, ItemMarks } from "../model/item-facts.ts";
import type { Effect } from "./language.ts";
import type { SubjectKind } from "./question.ts";
import { at, fault, isMapping, readWords } from "./read-fields.ts";
import type { Place, Words } from "./read-fields.ts";

/** Labels and annotations that a rule asks of an item. All of it must hold. */
export interface Marks {
  readonly labels: Words | undefined;
  readonly annotations: ReadonlyMap<string, boolean | string>;
}

/**
 * An annotation that an item does not have equals nothing, `false` included. Of a URI that can be read in several ways
 * an allow asks what is said of all readings, and any other effect what is said of one.
 */
export function marksMatch(marks: Marks, effect: Effect, facts: ItemFacts): boolean {
  const seen = effect === "allow" ? [facts] : (facts.possible ?? [facts]);
  return seen.some(
    ({ labels, annotations }) => labelsMatch(marks.labels, labels) && annotationsMatch(marks.annotations, annotations),
  );
}

/** Every label that the item may have, some of them twice. */
export function possibleLabels({ labels, possible }: ItemFacts): readonly string[] {
  return possible === undefined ? labels : [...labels, ...possible.flatMap((marks) => marks.labels)];
}

/**
 * Under which marks a condition is evaluated. An allow's must hold under all of them, since `!` turns what may be said
 * into what is not; the condition of any other effect under one.
 */
export function marksAsked(effect: Effect, facts: ItemFacts): readonly ItemMarks[] {
  if (facts.possible === undefined) return [facts];
  return effect === "allow" ? [facts, ...facts.possible] : facts.possible;
}

function labelsMatch(wanted: Words | undefined, labels: readonly string[]): boolean {
  if (wanted === undefined) return true;
  const isThere = (word: string): boolean => labels.includes(word);
  return wanted.all ? wanted.words.every(isThere) : wanted.words.some(isThere);
}

function annotationsMatch(wanted: Marks["annotations"], annotations: ItemMarks["annotations"]): boolean {
  for (const [name, value] of wanted) {
    if (!Object.hasOwn(annotations, name) || annotations[name] !== value) return false;
  }
  return true;
}

interface KnownMarks {
  readonly labels?: readonly string[] | undefined;
  readonly annotations?: readonly string[] | undefined;
}

/** Reads `labels` and `annotations`. Those that configuration gives to no item are faults: a deny of them denies nothing. */
export function readMarks(place: Place, fields: ReadonlyMap<string, unknown>, known: KnownMarks): Marks | undefined {
  if (!fields.has("labels") && !fields.has("annotations")) return undefined;
  return {
    labels: fields.has("labels") ? readLabels(at(place, "labels"), fields.get("labels"), known.labels) : undefined,
    annotations: fields.has("annotations")
      ? readAnnotations(at(place, "annotations"), fields.get("annotations"), known.annotations)
      : new Map(),
  };
}

/** What has a fault asks for a label that nothing has; the policy does not load. */
function readLabels(place: Place, value: unknown, known: readonly string[] | undefined): Words {
  const words = readWords(place, value, true) ?? { all: false, words: [] };
  for (const word of words.words) checkKnown(place, { word, known, kind: "label" });
  return words;
}

function readAnnotations(
  place: Place,
  value: unknown,
  known: readonly string[] | undefined,
): ReadonlyMap<string, boolean | string> {
  const wanted = new Map<string, boolean | string>();
  if (!isMapping(value) || Object.keys(value).length === 0) {
    fault(place, value, "a mapping of annotation to value", "expected at least one annotation");
    return wanted;
  }
  for (const [name, entry] of Object.entries(value)) {
    checkKnown(at(place, name), { word: name, known, kind: "annotation" });
    if (typeof entry === "boolean" || (typeof entry === "string" && entry !== "")) wanted.set(name, entry);
    else fault(at(place, name), entry, "true, false or a text", "an annotation is true, false or a text");
  }
  return wanted;
}

interface Checked {
  readonly word: string;
  readonly known: readonly string[] | undefined;
  readonly kind: string;
}

function checkKnown(place: Place, { word, known, kind }: Checked): void {
  if (known === undefined || known.includes(word)) return;
  const expected = known.length === 0 ? `no ${kind}, as none is configured` : `one of ${known.join(", ")}`;
  fault(place, word, expected, `no item is given this ${kind}, so a deny of it would never match`);
}

const digestPattern = /^sha256:[0-9a-f]{64}$/;
const pinnedKinds: readonly (SubjectKind | undefined)[] = ["tool", "prompt", "template"];

/** Reads `digest`: one or several. Does not check that an item ever had such a definition. */
export function readDigests(place: Place, value: unknown, kind: SubjectKind | undefined): readonly string[] {
  if (!pinnedKinds.includes(kind)) {
    fault(
      place,
      value,
      "tool, prompt or template beside it",
      "only a tool, prompt or template has a definition to pin",
    );
  }
  const words = readWords(place, value, false)?.words ?? [];
  for (const word of words) {
    if (!digestPattern.test(word)) fault(place, word, "sha256: and 64 hexadecimal digits", "this is no digest");
  }
  return words.map(bareDigest);
}

/** The digits of a digest, however it is written. */
export function bareDigest(digest: string): string {
  return digest.startsWith("sha256:") ? digest.slice("sha256:".length) : digest;
}
