import { isInvisible } from "./character-class.ts";
import { codePointBefore } from "./code-point.ts";

/** Isolates and embeddings nested deeper than this are no layout but a renderer's stress test. */
const depthMax = 2;

/** Letters of the scripts that are written from right to left. */
const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Mandaic}\p{Script=Samaritan}\p{Script=Hanifi_Rohingya}\p{Script=Yezidi}]/u;

const control = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * What one field may use of UAX #9: nothing without right-to-left text, single marks with it, and
 * isolates and embeddings when every one is closed and none nests deeper than two. Overrides (LRO,
 * RLO) are never legitimate, and a field that has one keeps no other formatting either: its closers
 * would close something else. Both answers are computed once per field, when first asked.
 */
export interface BidiVerdict {
  marksAllowed(): boolean;
  formattingAllowed(): boolean;
}

export function bidiVerdict(text: string): BidiVerdict {
  let marks: boolean | undefined;
  let formatting: boolean | undefined;
  const marksAllowed = (): boolean => (marks ??= rightToLeft.test(text));
  return {
    marksAllowed,
    formattingAllowed: () => (formatting ??= marksAllowed() && isBalanced(text)),
  };
}

/** Whether the bidi character at `index` stays. */
export function keepsBidi(text: string, index: number, verdict: BidiVerdict): boolean {
  const unit = text.charCodeAt(index);
  const isMark = unit === 0x061c || unit === 0x200e || unit === 0x200f;
  if (!isMark) return verdict.formattingAllowed();
  if (!verdict.marksAllowed()) return false;
  return !crowds(codePointBefore(text, index), verdict) && !crowds(text.codePointAt(index + 1), verdict);
}

/** A mark beside another invisible is part of a code; beside formatting that stays, it is layout. */
function crowds(neighbour: number | undefined, verdict: BidiVerdict): boolean {
  if (!isInvisible(neighbour)) return false;
  return !(isFormatting(neighbour) && verdict.formattingAllowed());
}

function isFormatting(codePoint: number | undefined): boolean {
  if (codePoint === undefined) return false;
  return (codePoint >= 0x202a && codePoint <= 0x202c) || (codePoint >= 0x2066 && codePoint <= 0x2069);
}

function isBalanced(text: string): boolean {
  const closers: string[] = [];
  for (const [found] of text.matchAll(control)) {
    if (found === "\u202d" || found === "\u202e") return false;
    if (found === "\u202c" || found === "\u2069") {
      if (closers.pop() !== found) return false;
      continue;
    }
    closers.push(found === "\u202a" || found === "\u202b" ? "\u202c" : "\u2069");
    if (closers.length > depthMax) return false;
  }
  return closers.length === 0;
}
