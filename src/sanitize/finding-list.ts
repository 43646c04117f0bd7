import type { Finding } from "../model/finding.ts";
import type { TextFinding } from "./clean-text.ts";

/** Longest JSON pointer that a finding carries; the rest is cut. */
const pointerCharsMax = 512;

/** Findings of one exchange, bounded: what comes after `max` is still cleaned but no longer listed. */
export class FindingList {
  readonly #max: number;
  readonly #found: Finding[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  add(path: readonly string[], noticed: TextFinding): void {
    if (this.#found.length >= this.#max) return;
    this.#found.push({ ...noticed, where: jsonPointer(path) });
  }

  list(): readonly Finding[] {
    return this.#found;
  }
}

/** RFC 6901. */
function jsonPointer(path: readonly string[]): string {
  let pointer = "";
  for (const part of path) {
    pointer += `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (pointer.length > pointerCharsMax) return pointer.slice(0, pointerCharsMax);
  }
  return pointer;
}
