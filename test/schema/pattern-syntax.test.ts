import { RE2JS } from "re2js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linearPattern } from "../../src/schema/pattern.ts";
import type { LinearPattern } from "../../src/schema/pattern.ts";
import { linearSyntax } from "../../src/schema/pattern-syntax.ts";

function patternOf(source: string): LinearPattern | undefined {
  const ample = { stepsLeft: Number.MAX_SAFE_INTEGER, instructionsLeft: Number.MAX_SAFE_INTEGER };
  const pattern = linearPattern(source, ample);
  return typeof pattern === "object" ? pattern : undefined;
}

const texts = [
  "",
  "a",
  "ab",
  "A",
  "1",
  "_",
  "-",
  " ",
  "\n",
  "\r",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\u200b",
  "é",
  "😀",
  "\ud83d",
  "]",
  "[",
  "&",
  "\b",
  "k<y>",
  "\u0000",
  "\v",
  "中",
  "aa1-",
];

describe("the rewritten pattern matches what the native engine matches", () => {
  it.each([
    "^a$",
    ".",
    "^.$",
    "^\\s$",
    "^\\S$",
    "^[\\s]$",
    "^[^\\s]$",
    "^[\\S]$",
    "^[^\\S]$",
    "^\\w+$",
    "^[\\w-]+$",
    "^[a-z-]+$",
    "^\\d{1,2}$",
    "\\bab\\b",
    "\\Ba",
    "[]",
    "[^]",
    "^[\\b]$",
    "^\\cA$",
    "\\0",
    "\\x41",
    "\\u0061",
    "\\u{1F600}",
    "^\\uD83D\\uDE00$",
    "^[\\uD83D\\uDE00-\\u{1F64F}]$",
    "^\\p{L}$",
    "^\\P{L}$",
    "^\\p{Lu}$",
    "^\\p{Script=Han}$",
    "^\\p{sc=Latin}$",
    "^\\p{gc=Nd}$",
    "^(?:a|b)*$",
    "^(?<y>a)b?$",
    "a*?",
    "a+?b",
    "^[&&]$",
    "^[\\]\\[]$",
    "^\\[$",
    "^[\\-_]$",
    "^[^a-z]$",
    "^\\/$",
    "(|a)",
    "^\\v$",
    "^中$",
    "😀",
  ])("%s", (source) => {
    const pattern = patternOf(source);
    const native = new RegExp(source, "u");
    expect(pattern).toBeDefined();
    for (const text of texts) expect([text, pattern?.test(text)]).toEqual([text, native.test(text)]);
  });

  it("for patterns made at random", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      ".",
      "\\s",
      "\\S",
      "\\w",
      "\\W",
      "\\d",
      "[ab]",
      "[^a\\s]",
      "[\\w-]",
      "[a-c]",
      "\\n",
      "\\u{61}",
      "^",
      "$",
      "\\b",
      "1",
      "-",
      "é",
      "😀",
    );
    const source = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        atom,
        fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `${left}${right}`),
        fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(${left}|${right})`),
        fc
          .tuple(tie("pattern"), fc.constantFrom("?", "*", "+", "{1,3}", "*?", "{2}"))
          .map(([inner, times]) => `(?:${inner})${times}`),
      ),
    })).pattern;
    const text = fc.array(
      fc.constantFrom("a", "b", "c", "1", "-", " ", "\n", "\r", "\u2028", "\u00a0", "é", "😀", "_"),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(source, text, (made, parts) => {
        const subject = parts.join("");
        const pattern = patternOf(made);
        if (pattern !== undefined) expect(pattern.test(subject)).toBe(new RegExp(made, "u").test(subject));
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("what RE2 cannot express", () => {
  it.each(["(?=a)", "(?!a)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<y>a)\\k<y>"])("%s is undefined", (source) => {
    expect(linearSyntax(source)).toBeUndefined();
  });

  it("would be mistaken by the engine's own translation, which is why it is not used", () => {
    expect(RE2JS.translateRegExp("(?<y>a)\\k<y>")).toBe("(?P<y>a)k<y>");
  });
});

it("two patterns have two names, by which the validator tells them apart", () => {
  expect(String(patternOf("^a$"))).not.toBe(String(patternOf("^b$")));
});
