import { at, fault } from "./read-fields.ts";
import type { Place } from "./read-fields.ts";

/** What the pointers of a list may look like, and how many there may be. */
export interface PointersOf {
  /** Whether a segment may be `*`, which stands for any key or position. */
  readonly mayStar: boolean;
  readonly entriesMax: number;
  readonly charsMax: number;
}

/** `/a/b`: JSON pointers (RFC 6901) of at least one segment; `~` only as `~0` or `~1`. */
const pointerPattern = /^(?:\/(?:[^~/]|~[01])*)+$/u;

/** Reads a list of JSON pointers; without doubles, sorted. Does not check that they name anything. */
export function readPointers(place: Place, value: unknown, of: PointersOf): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > of.entriesMax) {
    fault(place, value, `a list of 1 to ${of.entriesMax} JSON pointers`, "expected a list of JSON pointers");
    return [];
  }
  const sound = value.filter((entry: unknown, index): entry is string => {
    const problem = pointerProblem(entry, of);
    if (problem !== undefined) fault(at(place, index), entry, "a JSON pointer such as /customer/ssn", problem);
    return problem === undefined;
  });
  return [...new Set(sound)].sort();
}

function pointerProblem(entry: unknown, { mayStar, charsMax }: PointersOf): string | undefined {
  if (typeof entry !== "string") return "this is no text";
  if (entry.length > charsMax) return `a pointer has at most ${charsMax} characters`;
  if (!pointerPattern.test(entry)) return "each segment begins with `/`; in it `~` is written ~0 and `/` ~1";
  const stars = entry.split("/").filter((segment) => segment.includes("*"));
  if (!mayStar && stars.length > 0) return "no `*` here: a list is kept as a whole";
  return stars.every((segment) => segment === "*") ? undefined : "`*` is a whole segment: any key or position";
}
