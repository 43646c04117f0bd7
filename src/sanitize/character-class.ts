/**
 * What the cleaner must look at, one byte per UTF-16 code unit. Everything else is `plain` and is
 * passed over without a call, which is what makes ordinary text cheap.
 *
 * The set is Default_Ignorable_Code_Point and the format characters (Cf) that have no visible form,
 * the C0 and C1 controls, the interlinear annotation characters and the noncharacters. Visible format
 * characters (Arabic number signs, Syriac abbreviation mark, Kaithi number signs) are plain.
 */
export const characterClass = {
  plain: 0,
  /** C0 and C1 controls that carry no text. */
  control: 1,
  /** ESC, and the 8-bit forms of the ECMA-48 introducers. */
  escape: 2,
  carriageReturn: 3,
  /** A line break that a single-line field replaces with a space. */
  lineBreak: 4,
  surrogate: 5,
  /** Has a legitimate use in some context, see `invisible-context.ts`. */
  contextual: 6,
  /** Bidirectional formatting (UAX #9), see `bidi.ts`. */
  bidi: 7,
  /** Never legitimate in delivered text. */
  hidden: 8,
} as const;

export type CharacterClass = (typeof characterClass)[keyof typeof characterClass];

type Range = readonly [first: number, last: number];

const controls: readonly Range[] = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1a],
  [0x1c, 0x1f],
  [0x7f, 0x9f],
];

/** DCS, SOS, CSI, OSC, PM and APC in their 8-bit form (ECMA-48 §5.3), beside ESC. */
const introducers: readonly Range[] = [
  [0x1b, 0x1b],
  [0x90, 0x90],
  [0x98, 0x98],
  [0x9b, 0x9b],
  [0x9d, 0x9f],
];

const contextual: readonly Range[] = [
  [0x034f, 0x034f],
  [0x115f, 0x1160],
  [0x180b, 0x180f],
  [0x200b, 0x200d],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
];

const bidi: readonly Range[] = [
  [0x061c, 0x061c],
  [0x200e, 0x200f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
];

const hidden: readonly Range[] = [
  [0x00ad, 0x00ad],
  [0x17b4, 0x17b5],
  [0x2060, 0x2065],
  [0x206a, 0x206f],
  [0x3164, 0x3164],
  [0xfdd0, 0xfdef],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xfffe, 0xffff],
];

function classTable(lineBreaks: readonly Range[]): Uint8Array {
  const table = new Uint8Array(0x1_0000);
  const mark = (ranges: readonly Range[], value: CharacterClass): void => {
    for (const [first, last] of ranges) table.fill(value, first, last + 1);
  };
  mark(controls, characterClass.control);
  mark(introducers, characterClass.escape);
  mark([[0x0d, 0x0d]], characterClass.carriageReturn);
  mark([[0xd800, 0xdfff]], characterClass.surrogate);
  mark(contextual, characterClass.contextual);
  mark(bidi, characterClass.bidi);
  mark(hidden, characterClass.hidden);
  mark(lineBreaks, characterClass.lineBreak);
  return table;
}

/** Classes for text of several lines: LF and the Unicode line separators are plain. */
const multiLineClasses: Uint8Array = classTable([]);

/** Classes for fields of one line: every line break is something to replace. */
const singleLineClasses: Uint8Array = classTable([
  [0x0a, 0x0a],
  [0x85, 0x85],
  [0x2028, 0x2029],
]);

/** A line rule's classes in two passes: what goes whatever stands beside it, then all that is judged by its neighbours. */
export interface ClassTables {
  readonly unconditional: Uint8Array;
  readonly all: Uint8Array;
}

function tablesOf(all: Uint8Array): ClassTables {
  const goes: ReadonlySet<number> = new Set([characterClass.escape, characterClass.control, characterClass.hidden]);
  return { all, unconditional: all.map((value) => (goes.has(value) ? value : characterClass.plain)) };
}

export const multiLineTables: ClassTables = tablesOf(multiLineClasses);
export const singleLineTables: ClassTables = tablesOf(singleLineClasses);

/** The class of a code point above U+FFFF. Tags and supplementary selectors are contextual. */
export function astralClass(codePoint: number): CharacterClass {
  if (codePoint >= 0xe0000 && codePoint <= 0xe0fff) return characterClass.contextual;
  if ((codePoint & 0xfffe) === 0xfffe) return characterClass.hidden;
  if (codePoint >= 0x1bca0 && codePoint <= 0x1bca3) return characterClass.hidden;
  if (codePoint >= 0x1d173 && codePoint <= 0x1d17a) return characterClass.hidden;
  if (codePoint >= 0x13430 && codePoint <= 0x1343f) return characterClass.contextual;
  return characterClass.plain;
}

/** True for a code point that the cleaner never passes over: two of these in a row are a code, not text. */
export function isInvisible(codePoint: number | undefined): boolean {
  if (codePoint === undefined) return false;
  const found = codePoint > 0xffff ? astralClass(codePoint) : (multiLineClasses[codePoint] ?? characterClass.plain);
  return found === characterClass.contextual || found === characterClass.bidi || found === characterClass.hidden;
}
