import { RE2JS } from "re2js";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { createCheckers } from "../../src/schema/checker.ts";
import { linearPattern } from "../../src/schema/pattern.ts";
import { linearSyntax } from "../../src/schema/pattern-syntax.ts";

const perPattern = limits.schemaPatternInstructionsMax;
const perSchema = limits.schemaPatternsInstructionsMax;
const ample = { stepsLeft: Number.MAX_SAFE_INTEGER, instructionsLeft: Number.MAX_SAFE_INTEGER };

const large = (letter: string): string => `${letter}{1000}`.repeat(4);

function reasonOf(patterns: readonly string[]): unknown {
  const schema: Json = { allOf: patterns.map((pattern) => ({ pattern })) };
  const checker = createCheckers({ validatorsMax: 1 }).for("digest", schema);
  return checker.usable ? checker.findings.length : checker.refusal.facts["reason"];
}

afterEach(() => {
  vi.restoreAllMocks();
});

const quantifier = fc.oneof(
  fc.constantFrom("?", "*", "+", "*?", "+?", "??"),
  fc.nat({ max: 30 }).map((times) => `{${times}}`),
  fc.nat({ max: 30 }).map((times) => `{${times},}`),
  fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 })).map(([min, more]) => `{${min},${min + more}}`),
  fc.constantFrom("{0}", "{0,0}", "{1000}", "{0,1000}?", "{999,}"),
);
const atom = fc.constantFrom(
  ...["a", "b", "é", "😀", ".", "\\s", "\\W", "[ab]", "[^a\\d]", "[]", "[^]", "\\p{L}", "[\\P{Lu}x]", "(?:)", "()"],
);
const anyPattern = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5 },
    atom,
    fc.constantFrom("^", "$", "\\b", ""),
    fc.array(tie("pattern"), { minLength: 2, maxLength: 4 }).map((parts) => parts.join("")),
    fc.array(tie("pattern"), { minLength: 2, maxLength: 4 }).map((branches) => `(${branches.join("|")})`),
    fc.tuple(tie("pattern"), quantifier).map(([inner, times]) => `(?:${inner})${times}`),
    fc.tuple(atom, quantifier).map((parts) => parts.join("")),
  ),
})).pattern;

describe("the size that is estimated while a pattern is read", () => {
  it("is never less than that of the program, for patterns made at random", () => {
    fc.assert(
      fc.property(anyPattern, (source) => {
        const syntax = linearSyntax(source);
        fc.pre(syntax !== undefined && syntax.instructions <= perPattern);
        expect(RE2JS.compile(syntax.text).programSize()).toBeLessThanOrEqual(syntax.instructions);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["a", 3],
    ["abc", 5],
    ["a{1000}", 2_003],
    ["(?:a|b){0,10}", 53],
    ["(?:(?:a{10}){10}){10}", 2_223],
    ["a*b+c?", 11],
    ["\\p{L}", 13],
    ["[\\p{L}\\p{N}]{2}", 47],
  ])("of %s is %i", (source, instructions) => {
    expect(linearSyntax(source)?.instructions).toBe(instructions);
  });

  it.each([
    ["a{1000}", true],
    ["a{1001}", false],
    ["a{1001,}", false],
    ["a{0,99999999999999999999}", false],
    ["(?:a{10}){100}", true],
    ["(?:a{10}){101}", false],
    ["(?:(?:b|a{10}){10}c){10}", true],
    ["(?:(?:b|a{10}){10}c){11}", false],
    ["(?:(?:a{1000})*)+", true],
  ])("%s has no more repetition than RE2 takes: %s", (source, isTaken) => {
    expect(linearSyntax(source) !== undefined).toBe(isTaken);
  });
});

describe("a pattern that becomes too large", () => {
  it.each([
    [`(?:${"a.".repeat(490)}){1000}`],
    [`^(?:${"\\p{L}".repeat(40)}){1000}$`],
    ["a{0,900}".repeat(100)],
    ["\\p{L}".repeat(perPattern / 200 + 1)],
  ])("is never given to an engine: %s", (source) => {
    const compile = vi.spyOn(RE2JS, "compile");
    expect(linearPattern(source, { ...ample })).toBe("too-large");
    expect(compile).not.toHaveBeenCalled();
  });

  it("has one instruction more than it may", () => {
    const most = `${large("a")}b{996}c`;
    expect(linearSyntax(most)?.instructions).toBe(perPattern);
    expect(linearPattern(most, { ...ample })).toBeTypeOf("object");
    expect(linearPattern(`${most}a`, { ...ample })).toBe("too-large");
  });

  it("makes its schema unusable, as does the sum of smaller ones", () => {
    const size = linearSyntax(large("a"))?.instructions ?? 0;
    const most = Math.floor(perSchema / size);
    const letters = Array.from({ length: most + 1 }, (_, index) => large(String.fromCharCode(97 + index)));
    expect(reasonOf(letters.slice(0, most))).toBe(0);
    expect(reasonOf(letters)).toBe("pattern-too-large");
    expect(reasonOf(Array.from({ length: 50 }, () => large("a")))).toBe(0);
  });

  it("by properties is so even where no engine takes it", () => {
    const broken = (index: number): string => `${"\\p{L}".repeat(perPattern / 200)}${index}(`;
    const most = perSchema / perPattern;
    expect(reasonOf(Array.from({ length: most }, (_, index) => broken(index)))).toBe(most);
    expect(reasonOf(Array.from({ length: most + 1 }, (_, index) => broken(index)))).toBe("pattern-too-large");
  });
});

it("a pattern is run without the automaton, whose steps cost twenty times as much on text made for it", () => {
  const compile = vi.spyOn(RE2JS, "compile");
  const pattern = linearPattern("(?:a|b)*a(?:a|b){100}$", { ...ample });
  expect(typeof pattern === "object" && pattern.test(`a${"b".repeat(100)}`)).toBe(true);
  expect(compile.mock.results.map(({ value }) => (value as RE2JS).re2().lazyDFA)).toEqual([null]);
});

describe("the steps of a test", () => {
  it("are the text's characters and one, times the size of the program", () => {
    const budget = { ...ample };
    const pattern = linearPattern("^a+$", budget);
    if (typeof pattern !== "object") throw new Error(pattern);
    const size = RE2JS.compile(linearSyntax("^a+$")?.text ?? "").programSize();
    budget.stepsLeft = 4 * size;
    expect(pattern.test("aaa")).toBe(true);
    expect(budget.stepsLeft).toBe(0);
    expect(() => pattern.test("")).toThrow(RangeError);
  });
});
