import type { Finding } from "../model/finding.ts";
import type { BidiVerdict } from "./bidi.ts";
import { bidiVerdict, keepsBidi } from "./bidi.ts";
import { astralClass, characterClass, multiLineTables, singleLineTables } from "./character-class.ts";
import { unitsOf } from "./code-point.ts";
import { spellHidden } from "./hidden-text.ts";
import { contextualSpan } from "./invisible-context.ts";
import { escapeSequenceEnd } from "./terminal-escape.ts";

/** Something removed from one text: what kind, what it spelled (escaped, at most 200 characters), how often. */
export interface TextFinding {
  readonly kind: Finding["kind"];
  readonly detail: string;
  readonly count: number;
}

export interface CleanedText {
  /** The same string when nothing was removed. */
  readonly text: string;
  readonly findings: readonly TextFinding[];
}

export type LineRule = "single" | "multi";

const nothing: readonly TextFinding[] = [];
/** Removed code units kept per kind for the finding's detail. */
const removedUnitsMax = 1_024;

/**
 * Removes what a reader cannot see or a terminal would obey, and nothing else: ECMA-48 sequences,
 * controls, characters that Unicode calls default-ignorable outside the contexts where scripts and
 * emoji need them, bidirectional overrides, noncharacters; lone surrogates become U+FFFD, a lone CR
 * becomes LF, and in a single line every line break becomes one space. The text is never normalised:
 * NFC and NFKC change honest text. The result is a fixed point: cleaning it again changes nothing.
 *
 * Does not judge words, links, look-alike letters or visible padding. Time is linear in the length.
 */
export function cleanText(text: string, line: LineRule): CleanedText {
  const tables = line === "single" ? singleLineTables : multiLineTables;
  const first = nextNotPlain(text, 0, tables.all);
  if (first === text.length) return { text, findings: nothing };
  // What a removed sequence or control held apart stands side by side afterwards, so neighbours are judged then.
  const visible = new TextCleaner(text, tables.unconditional, line).clean(
    nextNotPlain(text, first, tables.unconditional),
  );
  const start = visible.text === text ? first : nextNotPlain(visible.text, 0, tables.all);
  const cleaned = new TextCleaner(visible.text, tables.all, line).clean(start);
  return { text: cleaned.text, findings: mergeFindings(visible.findings, cleaned.findings) };
}

/** One finding per kind: both passes may remove invisible text. */
function mergeFindings(first: readonly TextFinding[], second: readonly TextFinding[]): readonly TextFinding[] {
  if (first.length === 0) return second;
  const merged = new Map(first.map((finding) => [finding.kind, finding]));
  for (const finding of second) {
    const known = merged.get(finding.kind);
    merged.set(finding.kind, known === undefined ? finding : { ...known, count: known.count + finding.count });
  }
  return Array.from(merged.values());
}

function nextNotPlain(text: string, from: number, classes: Uint8Array): number {
  const length = text.length;
  let index = from;
  while (index < length && classes[text.charCodeAt(index)] === 0) index++;
  return index;
}

interface Removed {
  count: number;
  units: string;
}

/** One pass over one text. It holds the output so far, what was removed, and the field's bidi verdict. */
class TextCleaner {
  readonly #text: string;
  readonly #classes: Uint8Array;
  readonly #line: LineRule;
  readonly #bidi: BidiVerdict;
  readonly #removed = new Map<Finding["kind"], Removed>();
  #out = "";
  /** Where the text begins that is kept but not yet in `#out`. */
  #kept = 0;

  constructor(text: string, classes: Uint8Array, line: LineRule) {
    this.#line = line;
    this.#text = text;
    this.#classes = classes;
    this.#bidi = bidiVerdict(text);
  }

  clean(first: number): CleanedText {
    let index = first;
    while (index < this.#text.length) {
      index = nextNotPlain(this.#text, this.#judge(index), this.#classes);
    }
    if (this.#removed.size === 0) return { text: this.#text, findings: nothing };
    const findings = Array.from(this.#removed, ([kind, { count, units }]) => ({
      kind,
      detail: spellHidden(units),
      count,
    }));
    return { text: this.#out + this.#text.slice(this.#kept), findings };
  }

  /** Judges the character at `index` and returns where to go on. */
  #judge(index: number): number {
    const unit = this.#text.charCodeAt(index);
    switch (this.#classes[unit] ?? characterClass.plain) {
      case characterClass.control:
        return this.#cut("control-removed", index, index + 1);
      case characterClass.escape:
        return this.#cut("terminal-escape-removed", index, escapeSequenceEnd(this.#text, index));
      case characterClass.carriageReturn:
        return this.#carriageReturn(index);
      case characterClass.lineBreak:
        return this.#cut("control-removed", index, index + 1, " ");
      case characterClass.surrogate:
        return this.#surrogate(index);
      case characterClass.contextual:
        return this.#contextual(index, unit);
      case characterClass.bidi:
        return keepsBidi(this.#text, index, this.#bidi) ? index + 1 : this.#cut("bidi-removed", index, index + 1);
      default:
        return this.#cut("invisible-text-removed", index, index + 1);
    }
  }

  #carriageReturn(index: number): number {
    const beforeLineFeed = this.#text.charCodeAt(index + 1) === 0x0a;
    if (this.#line === "single") {
      return this.#cut("control-removed", index, beforeLineFeed ? index + 2 : index + 1, " ");
    }
    return beforeLineFeed ? index + 2 : this.#cut("control-removed", index, index + 1, "\n");
  }

  #surrogate(index: number): number {
    const codePoint = this.#text.codePointAt(index) ?? 0;
    if (codePoint <= 0xffff) return this.#cut("malformed-unicode-repaired", index, index + 1, "\ufffd");
    const found = astralClass(codePoint);
    if (found === characterClass.plain) return index + 2;
    if (found === characterClass.contextual) return this.#contextual(index, codePoint);
    return this.#cut("invisible-text-removed", index, index + 2);
  }

  #contextual(index: number, codePoint: number): number {
    const span = contextualSpan(this.#text, index, codePoint);
    return span > 0 ? index + span : this.#cut("invisible-text-removed", index, index + unitsOf(codePoint));
  }

  #cut(kind: Finding["kind"], start: number, end: number, replacement = ""): number {
    this.#out += this.#text.slice(this.#kept, start) + replacement;
    this.#kept = end;
    const removed = this.#removed.get(kind);
    if (removed === undefined) {
      this.#removed.set(kind, { count: 1, units: this.#text.slice(start, Math.min(end, start + removedUnitsMax)) });
    } else {
      removed.count++;
      if (removed.units.length < removedUnitsMax)
        removed.units += this.#text.slice(start, Math.min(end, start + removedUnitsMax));
    }
    return end;
  }
}
