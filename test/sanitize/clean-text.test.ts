import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LineRule } from "../../src/sanitize/clean-text.ts";
import { cleanText } from "../../src/sanitize/clean-text.ts";

const characters = (text: string): string[] => Array.from(text);

const kept: readonly (readonly [string, string])[] = [
  ["ASCII with tabs, LF and CRLF", "a\tb\nc\r\nd"],
  ["Persian with a non-joiner", "می\u200cخواهم"],
  ["an Arabic letter shown in its initial form", "ه\u200d. ش."],
  ["Sinhala with a joiner", "\u0dc1\u0dca\u200d\u0dbb\u0dd3"],
  ["Malayalam with a joiner after a virama at the end of a word", "\u0d28\u0d4d\u200d "],
  ["Thai with line-break hints", "\u0e04\u0e49\u0e19\u200b\u0e2b\u0e32"],
  ["an emoji family", "👨\u200d👩\u200d👧\u200d👦"],
  ["a rainbow flag", "🏳\ufe0f\u200d🌈"],
  ["a couple with skin tones", "🧑🏻\u200d❤\ufe0f\u200d💋\u200d🧑🏿"],
  ["a keycap", "1\ufe0f\u20e3"],
  ["the flag of Wales", "🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}"],
  ["an ideographic variation", "葛\u{e0100}"],
  ["a standardized variant", "\u2229\ufe00"],
  ["Mongolian selectors", "\u1824\u180b\u1828\u180e\u1820"],
  ["Hebrew with one mark", "מחיר: 25\u200f! לי"],
  ["Arabic round an isolated file name", "اسم \u2068a.pdf\u2069"],
  ["isolates two deep", "ע \u2067\u2066a\u2069\u2069"],
  ["a byte order mark at the start", "\ufeffa"],
  ["Hebrew marks kept apart", "\u05b0\u034f\u05b1"],
  ["a leading filler before a vowel jamo", "\u115f\u1161"],
  ["Arabic number signs", "\u0600\u0661"],
  ["decomposed and compatibility characters", "Ti\u0300m \u0958 \u212b \ufb01"],
];

const removed: readonly (readonly [string, string, string, string])[] = [
  ["a joiner between Latin letters", "a\u200cb", "ab", "invisible-text-removed"],
  ["two joiners in Persian", "می\u200c\u200cخ", "میخ", "invisible-text-removed"],
  ["a zero-width space between Latin letters", "i\u200bg", "ig", "invisible-text-removed"],
  ["a second emoji selector", "❤\ufe0f\ufe0f", "❤\ufe0f", "invisible-text-removed"],
  ["a selector after a digit that is no keycap", "1\ufe0f2", "12", "invisible-text-removed"],
  ["a fourth flag", "🏴\u{e0075}\u{e0073}\u{e007f}", "🏴", "invisible-text-removed"],
  ["a selector after a Latin letter", "a\u{e0100}", "a", "invisible-text-removed"],
  ["a byte order mark further on", "a\ufeffb", "ab", "invisible-text-removed"],
  ["a noncharacter above the first plane", "a\u{1ffff}b", "ab", "invisible-text-removed"],
  ["a soft hyphen", "a\u00adb", "ab", "invisible-text-removed"],
  ["an override", "user\u202etxt.exe", "usertxt.exe", "bidi-removed"],
  ["isolates without right-to-left text", "\u2066a\u2069", "a", "bidi-removed"],
  ["an isolate that is never closed", "ע\u2066a", "עa", "bidi-removed"],
  ["isolates three deep", "ע\u2066\u2066\u2066a\u2069\u2069\u2069", "עa", "bidi-removed"],
  ["two marks held apart by a control", "ע\u200f\u0007\u200f", "ע", "bidi-removed"],
  ["two marks held apart by an escape", "ע\u200f\u001b[m\u200f", "ע", "bidi-removed"],
  ["isolates whose right-to-left text is in an escape", "\u001b]0;ע\u0007\u2066a\u2069", "a", "bidi-removed"],
  ["two marks in a row", "ע\u200f\u200f", "ע", "bidi-removed"],
  ["a colour", "a\u001b[31mb\u001b[0m", "ab", "terminal-escape-removed"],
  ["an 8-bit sequence", "ok\u009b8mhid", "okhid", "terminal-escape-removed"],
  ["a link with another text", "\u001b]8;;https://e/\u001b\\text\u001b]8;;\u0007", "text", "terminal-escape-removed"],
  ["a device control string", "\u001bPq#0\u009cx", "x", "terminal-escape-removed"],
  ["a character-set choice", "\u001b(Bx", "x", "terminal-escape-removed"],
  ["an opener that is never closed, without the text after it", "\u001b]0;rest", "0;rest", "terminal-escape-removed"],
  ["an escape before nothing", "a\u001b", "a", "terminal-escape-removed"],
  ["backspaces", "no\b\byes", "noyes", "control-removed"],
  ["a lone CR", "denied\rgranted", "denied\ngranted", "control-removed"],
  ["a lone surrogate", "a\ud83db", "a\ufffdb", "malformed-unicode-repaired"],
];

describe("text of several lines", () => {
  it.each(kept)("keeps %s", (_, text) => {
    expect(cleanText(text, "multi")).toEqual({ text, findings: [] });
  });

  it.each(removed)("removes %s", (_, text, clean, kind) => {
    const found = cleanText(text, "multi");
    expect(found.text).toBe(clean);
    expect(found.findings.map((finding) => finding.kind)).toContain(kind);
  });

  it("says in the finding what tag characters and byte selectors spelled", () => {
    const tags = Array.from("send it", (letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join(
      "",
    );
    expect(cleanText(`a${tags}`, "multi").findings).toEqual([
      { kind: "invisible-text-removed", detail: "send it", count: 7 },
    ]);
    const bytes = Array.from("key", (letter) => String.fromCodePoint(0xe0100 - 16 + (letter.codePointAt(0) ?? 0))).join(
      "",
    );
    expect(cleanText(`a${bytes}`, "multi").findings[0]?.detail).toBe("key");
  });

  it("cuts a finding at 200 characters", () => {
    expect(cleanText("a" + "\u200b".repeat(5_000), "multi").findings[0]?.detail.length).toBe(200);
  });
});

describe("text of one line", () => {
  it.each([
    ["a\nb", "a b"],
    ["a\r\nb", "a b"],
    ["a\rb", "a b"],
    ["a\u0085b\u2028c\u2029d", "a b c d"],
  ])("%j becomes %j", (text, clean) => {
    expect(cleanText(text, "single").text).toBe(clean);
  });

  it("keeps a tab", () => {
    expect(cleanText("a\tb", "single")).toEqual({ text: "a\tb", findings: [] });
  });
});

describe("any text", () => {
  const nasty = fc.array(
    fc.constantFrom(
      ...characters("a1#\r\n\t\u0000\u001b[]P8;m\\\u0007\u009b\u009d\u009c\u200b\u200c\u200d\u200e\u200f"),
      ...characters("\u202a\u202c\u202e\u2066\u2069\ufeff\ufe0e\ufe0f\ufe00\u034f\u115f\u1160\u1161\u11a8"),
      ...characters("\u180b\u1820\u0301ےעमी\u094dไ\u20e3\u00ad\u2060\ufff9"),
      "\ud83d",
      "\udc00",
      "👩",
      "❤",
      "🏻",
      "🏴",
      "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
      "\u{e0067}",
      "\u{e0100}",
      "葛",
      "\u{13430}",
      "\u{13000}",
    ),
    { maxLength: 14 },
  );
  const lines: readonly LineRule[] = ["multi", "single"];

  it.each(lines)("is a fixed point once cleaned (%s)", (line) => {
    fc.assert(
      fc.property(nasty, (parts) => {
        const once = cleanText(parts.join(""), line).text;
        expect(cleanText(once, line)).toEqual({ text: once, findings: [] });
      }),
      { numRuns: 20_000 },
    );
  });

  it.each(lines)("holds no control, override, tag outside a flag or lone surrogate afterwards (%s)", (line) => {
    fc.assert(
      fc.property(nasty, (parts) => {
        const { text } = cleanText(parts.join(""), line);
        expect(text.replaceAll(/\r\n|[\n\t]/g, "")).not.toMatch(/[\p{Cc}\p{Cs}\u202d\u202e\u00ad]/u);
        expect(text.replaceAll("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", "")).not.toMatch(
          /[\u{e0000}-\u{e007f}]/u,
        );
      }),
      { numRuns: 10_000 },
    );
  });

  it("in printable ASCII comes back as the same string", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme-ascii" }), (text) => {
        expect(cleanText(text, "single")).toEqual({ text, findings: [] });
      }),
    );
  });

  it("of unterminated openers is read once: half a million of them do not stall", () => {
    expect(cleanText("\u001b]".repeat(500_000), "multi").text).toBe("");
  });
});
