/**
 * How one string is treated:
 * - `single`, `multi`: display text of one or of several lines, cleaned.
 * - `identifier`, `exact`: compared byte by byte somewhere, so never repaired; text that cleaning would
 *   change is left and reported as `identifier-unsafe`. `exact` may have several lines.
 */
export type Treatment = "single" | "multi" | "identifier" | "exact";

/** Lengths in UTF-16 code units. Above `noted` text is reported as `text-oversized`, above `max` as `definition-oversized`. */
export interface TextBound {
  readonly noted: number;
  readonly max: number;
}

/** What is expected at one place. Elements of an array are treated like a value in its place. */
export interface Place {
  readonly text: Treatment;
  /** The rule for an object found here; absent: the place is not entered at all, strings included. */
  readonly inside: FieldRule | undefined;
  readonly bound?: TextBound;
  /** Display text of a definition, which is also looked at for padding and the like. */
  readonly watched?: boolean;
}

/** How an object's members are treated. */
export interface FieldRule {
  /** `clean`: a key is renamed like text is cleaned. `identifier`: it is left and reported. */
  readonly keys: "clean" | "identifier";
  readonly place: (key: string) => Place;
}

/** Free content: every string and key, at any depth, cleaned as text. */
export const contentFields: FieldRule = { keys: "clean", place: () => contentPlace };
export const contentPlace: Place = { text: "multi", inside: contentFields };

/** Values that are compared byte by byte, at any depth. */
const exactFields: FieldRule = { keys: "identifier", place: () => exactPlace };
export const exactPlace: Place = { text: "exact", inside: exactFields };

/** A place whose value is left alone, whatever it is. */
export const untouchedPlace: Place = { text: "multi", inside: undefined };

/** A rule from a table of known members; all others are taken as `otherwise`. */
export function fieldTable(
  keys: FieldRule["keys"],
  known: Readonly<Record<string, Place>>,
  otherwise: Place = contentPlace,
): FieldRule {
  const places: ReadonlyMap<string, Place> = new Map(Object.entries(known));
  return { keys, place: (key) => places.get(key) ?? otherwise };
}
