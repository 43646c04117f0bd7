import { isInvisible } from "./character-class.ts";
import { codePointBefore, unitsOf } from "./code-point.ts";

/**
 * The contexts in which an invisible character is part of honest text: joiners in Persian, Indic
 * scripts and emoji, selectors after a base that has variants, line-break hints in scripts without
 * spaces. Each rule looks at the neighbours alone; runs of invisibles never pass.
 */

const emoji = /^\p{Emoji}$/u;
const emojiModifier = /^\p{Emoji_Modifier}$/u;
const pictographic = /^\p{Extended_Pictographic}$/u;
const unifiedIdeograph = /^\p{Unified_Ideograph}$/u;
const mark = /^\p{M}$/u;
const mongolian = /^[\p{Script=Mongolian}\p{Script=Phags_Pa}]$/u;
const egyptian = /^\p{Script=Egyptian_Hieroglyphs}$/u;

/** Scripts whose letters change shape when they join, as far as UAX #31 and IDNA CONTEXTJ need joiners for them. */
const joining =
  /^(?:\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Mandaic}|\p{Script=Nko}|\p{Script=Mongolian}|\p{Script=Phags_Pa}|\p{Script=Adlam}|\p{Script=Hanifi_Rohingya})$/u;
const complex =
  /^(?:\p{Script=Devanagari}|\p{Script=Bengali}|\p{Script=Gurmukhi}|\p{Script=Gujarati}|\p{Script=Oriya}|\p{Script=Tamil}|\p{Script=Telugu}|\p{Script=Kannada}|\p{Script=Malayalam}|\p{Script=Sinhala}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Tibetan}|\p{Script=Myanmar}|\p{Script=Khmer}|\p{Script=Balinese}|\p{Script=Javanese}|\p{Script=Kaithi}|\p{Script=Grantha}|\p{Script=Newa}|\p{Script=Tirhuta}|\p{Script=Siddham}|\p{Script=Modi}|\p{Script=Sharada}|\p{Script=Chakma}|\p{Script=Meetei_Mayek}|\p{Script=Sundanese}|\p{Script=Brahmi})$/u;
const letterOrMark = /^[\p{L}\p{M}]$/u;
/** Scripts written without spaces, where U+200B says where a line may break. */
const unspaced = /^(?:\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar}|\p{Script=Tibetan})$/u;
/** Viramas (Canonical_Combining_Class 9) after which IDNA CONTEXTJ allows a joiner whatever follows. */
const virama =
  /^[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u17d2\u1b44\u1baa\ua9c0\uaaf6\uabed]$/u;

/** Bases of StandardizedVariants.txt outside ideographs and hieroglyphs; their one selector is U+FE00 or U+FE01. */
const standardizedBase =
  /^[0\u2018-\u201d\u2205\u2229\u222a\u2268\u2269\u2272\u2273\u228a\u228b\u2293-\u2295\u2297\u229c\u22da\u22db\u2a3c\u2a3d\u2a9d\u2a9e\u2aac\u2aad\u2acb\u2acc\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}]$/u;

/** The tag sequences of RGI emoji (UTS #51): England, Scotland and Wales. There are no others. */
const flagTags: readonly string[] = ["gbeng", "gbsct", "gbwls"].map((subdivision) =>
  String.fromCodePoint(...Array.from(subdivision, (letter) => 0xe0000 + (letter.codePointAt(0) ?? 0)), 0xe007f),
);
const blackFlag = 0x1f3f4;

interface Neighbours {
  readonly text: string;
  readonly index: number;
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/**
 * How many code units the honest use of the invisible at `index` spans; 0 when there is none and it
 * has to go. `codePoint` is of class `contextual`.
 */
export function contextualSpan(text: string, index: number, codePoint: number): number {
  const units = unitsOf(codePoint);
  const at: Neighbours = {
    text,
    index,
    before: codePointBefore(text, index),
    after: text.codePointAt(index + units),
  };
  if (codePoint >= 0xe0000 && codePoint <= 0xe007f) return flagTagSpan(at);
  return keeps(codePoint, at) ? units : 0;
}

function keeps(codePoint: number, at: Neighbours): boolean {
  if (codePoint >= 0xfe00 && codePoint <= 0xfe0f) return keepsSelector(codePoint, at);
  if (codePoint >= 0xe0100 && codePoint <= 0xe01ef) return matches(unifiedIdeograph, at.before);
  if (codePoint >= 0x180b && codePoint <= 0x180f) return keepsMongolian(at);
  if (codePoint >= 0x13430 && codePoint <= 0x1343f) return matches(egyptian, at.before) || matches(egyptian, at.after);
  return rules.get(codePoint)?.(at) ?? false;
}

const rules: ReadonlyMap<number, (at: Neighbours) => boolean> = new Map([
  [0x034f, (at) => !isCrowded(at) && matches(mark, at.before) && matches(mark, at.after)],
  [0x115f, (at) => isJamo(at.before) || isJamo(at.after) || startsFiller(at)],
  [0x1160, (at) => isJamo(at.before) || isJamo(at.after)],
  [0x200b, (at) => !isCrowded(at) && (matches(unspaced, at.before) || matches(unspaced, at.after))],
  [0x200c, (at) => !isCrowded(at) && joinsLetters(at)],
  [0x200d, (at) => joinsPictographs(at) || (!isCrowded(at) && (joinsLetters(at) || shapesLetter(at)))],
  [0xfeff, (at) => at.index === 0],
]);

/** U+FE0E and U+FE0F choose an emoji's style; a digit takes one only inside a keycap (UTS #51 §1.4.6). */
function keepsSelector(selector: number, at: Neighbours): boolean {
  if (at.before === undefined || isInvisible(at.before)) return false;
  if (selector >= 0xfe0e) {
    return matches(emoji, at.before) && (at.before > 0x7f || at.after === 0x20e3);
  }
  if (selector <= 0xfe02 && matches(unifiedIdeograph, at.before)) return true;
  if (selector <= 0xfe06 && matches(egyptian, at.before)) return true;
  return selector <= 0xfe01 && matches(standardizedBase, at.before);
}

function keepsMongolian(at: Neighbours): boolean {
  return !isInvisible(at.before) && matches(mongolian, at.before);
}

/** Between two letters or marks of complex scripts, or after a virama. */
function joinsLetters(at: Neighbours): boolean {
  if (matches(virama, at.before)) return true;
  return isComplexLetter(at.before) && isComplexLetter(at.after);
}

/** U+200D beside one Arabic-like letter shows its joining form alone, as in abbreviations. */
function shapesLetter(at: Neighbours): boolean {
  return [at.before, at.after].some((letter) => matches(joining, letter) && matches(letterOrMark, letter));
}

function isComplexLetter(codePoint: number | undefined): boolean {
  return (matches(joining, codePoint) || matches(complex, codePoint)) && matches(letterOrMark, codePoint);
}

/** An emoji ZWJ sequence: a pictograph, perhaps with U+FE0F or a skin tone, on the left, and one on the right. */
function joinsPictographs(at: Neighbours): boolean {
  if (!matches(pictographic, at.after)) return false;
  let index = at.index;
  let before = at.before;
  if (before === 0xfe0f || matches(emojiModifier, before)) {
    index -= unitsOf(before ?? 0);
    before = codePointBefore(at.text, index);
  }
  return matches(pictographic, before);
}

function flagTagSpan(at: Neighbours): number {
  if (at.before !== blackFlag) return 0;
  const tags = flagTags.find((candidate) => at.text.startsWith(candidate, at.index));
  return tags === undefined ? 0 : tags.length;
}

function isJamo(codePoint: number | undefined): boolean {
  if (codePoint === undefined || codePoint === 0x115f || codePoint === 0x1160) return false;
  return (codePoint >= 0x1100 && codePoint <= 0x11ff) || isExtendedJamo(codePoint);
}

function isExtendedJamo(codePoint: number): boolean {
  return (codePoint >= 0xa960 && codePoint <= 0xa97c) || (codePoint >= 0xd7b0 && codePoint <= 0xd7fb);
}

/** Both fillers before a lone final consonant: U+115F U+1160 T. */
function startsFiller(at: Neighbours): boolean {
  return at.after === 0x1160 && isJamo(at.text.codePointAt(at.index + 2));
}

function isCrowded(at: Neighbours): boolean {
  return isInvisible(at.before) || isInvisible(at.after);
}

function matches(pattern: RegExp, codePoint: number | undefined): boolean {
  return codePoint !== undefined && pattern.test(String.fromCodePoint(codePoint));
}
