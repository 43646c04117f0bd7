import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/model/json.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { decide } from "../../src/policy/decide.ts";
import { faultsOf, load, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

function outcome(when: string, args: JsonObject, more: Asked = {}): string {
  const decision = decide(load([rule("a", { when })]), question({ ...more, args }));
  return decision.effect === "deny" ? decision.reason : decision.effect;
}

describe("a condition loads", () => {
  it.each([
    ["has(args.a) && args.a == 1"],
    ["has(args.a) && has(args.a.b) && args.a.b == 1"],
    ["!has(args.a) || args.a == 1"],
    ["has(args.a) ? args.a == 1 : true"],
    ["!has(args.a) ? true : args.a == 1"],
    ["!(!has(args.a) || false) && args.a == 1"],
    ['"a b" in args && args["a b"] == 1'],
    ["has(args.l) && args.l.all(e, has(e.x) && e.x == 1)"],
    ['has(principal.claims.team) && principal.claims.team == "x"'],
    ['principal.groups.exists(g, g.startsWith("corp:"))'],
    ["request.now.getHours() < 18"],
    ["has(args.l) && args.l.all(x, has(args.m) && args.m.all(y, x != y))"],
  ])("%s", (when) => {
    expect(faultsOf([rule("a", { when })])).toEqual([]);
  });
});

it("has all of its steps again where the quick way gave up", () => {
  // Two looks and two reads are four steps; numbers of two kinds are the library's to compare.
  const when = "has(args.a) && has(args.b) && args.a < args.b";
  const allowed = (conditionStepsMax: number): string =>
    decide(
      load([rule("a", { when })], { limits: { ...limits, conditionStepsMax } }),
      question({ args: { a: 1, b: 1.5 } }),
    ).effect;
  expect([allowed(4), allowed(3)]).toEqual(["allow", "deny"]);
});

describe("a condition does not load", () => {
  it.each([
    ["when a field may be missing", "args.a == 1", "`args.a` may be missing"],
    ["when has() comes too late", "args.a == 1 && has(args.a)", "may be missing"],
    ["when has() asks for another field", "has(args.b) && args.a == 1", "may be missing"],
    ["when has() stands in an or", "has(args.a) || args.a == 1", "may be missing"],
    ["when the guard does not cover the branch", "has(args.a) ? true : args.a == 1", "may be missing"],
    ["when only the outer field is guarded", "has(args.a) && args.a.b == 1", "`args.a.b` may be missing"],
    ["when has() itself reads a missing field", "has(args.a.b) && true", "`args.a` may be missing"],
    ["when an entry's field may be missing", "has(args.l) && args.l.all(e, e.x == 1)", "`e.x` may be missing"],
    ["when a claim may be missing", 'principal.claims.team == "x"', "may be missing"],
    ["when a field is read behind an index", "has(args.l) && args.l[0].x == 1", "has() cannot ask about"],
    ["when a variable is not known", "arguments.a == 1", "Unknown variable"],
    ["when a declared field is not known", 'principal.email == "x"', "No such key"],
    ["when types do not fit", 'principal.tenant == 1 || "a" > 1', "no such overload"],
    ["when it is not true or false", "size(args)", "it must be true or false"],
    ["when it may be anything", "has(args.a) ? args.a : args.a", "it must be true or false"],
    ["when it is not CEL", "1 +", "Unexpected token"],
    ["when it calls what is not in the list", 'has(args.a) && args.a.split(",").size() > 1', "`.split()`"],
    ["when it binds", "cel.bind(x, 1, x == 1)", "`.bind()`"],
    ["when a pattern is computed", "has(args.a) && args.a.matches(args.a)", "must be written out"],
    ["when a pattern is no RE2", 'principal.subject.matches("(?=a)")', "error parsing regexp"],
    ["when a loop variable hides a variable", "principal.groups.all(args, true)", "hides another"],
    [
      "when loops are nested too deep",
      "[1].all(a, [1].all(b, [1].all(c, true)))",
      `loops may be nested ${limits.conditionNestingMax} deep`,
    ],
    ["when it is too long", `true ${" ".repeat(limits.conditionCharsMax)}`, "it is longer than"],
  ])("%s", (_law, when, message) => {
    const [fault] = faultsOf([rule("a", { when })]);
    expect(fault?.path).toBe("p.yaml#/rules/0/when");
    expect(fault?.message).toContain(message);
  });

  it("but loads at exactly the longest length", () => {
    expect(faultsOf([rule("a", { when: "true".padEnd(limits.conditionCharsMax) })])).toEqual([]);
  });
});

describe("a condition says", () => {
  const big = (digits: string): Json => new ExactNumber(digits);
  const cases: readonly [law: string, when: string, args: JsonObject, expected: string][] = [
    ["whole numbers are int", "has(args.n) && args.n % 2 == 0", { n: 4 }, "allow"],
    ["a fraction is double", "has(args.n) && args.n > 0.25", { n: 0.5 }, "allow"],
    [
      "long whole numbers keep their digits",
      "has(args.n) && args.n == 9007199254740993",
      { n: big("9007199254740993") },
      "allow",
    ],
    [
      "and differ from their neighbours",
      "has(args.n) && args.n == 9007199254740992",
      { n: big("9007199254740993") },
      "condition-false",
    ],
    [
      "a fraction that no double holds errs",
      "has(args.n) && args.n > 0.0",
      { n: big("0.10000000000000000000001") },
      "condition-error",
    ],
    ["own properties only", "has(args.constructor) || has(args.toString)", {}, "condition-false"],
    [
      "a field named constructor is data",
      'has(args.constructor) && args.constructor == "x"',
      { constructor: "x" },
      "allow",
    ],
    ["a missing index errs", "has(args.l) && args.l[1] == 1", { l: [1] }, "condition-error"],
    ["parentheses keep their meaning", "1 - (2 - 3) == 2 && 12 / (3 * 2) == 2 && -(1 - 2) == 1", {}, "allow"],
    ["doubles keep their digits", "has(args.n) && args.n == 1.12345678901234", { n: 1.12345678901234 }, "allow"],
    ["text beyond the basic plane", 'has(args.s) && args.s == "😀" && size(args.s) == 1', { s: "😀" }, "allow"],
    ["raw and triple-quoted text", 'has(args.s) && args.s == r"a\\b" && """x"y""" == "x\\"y"', { s: "a\\b" }, "allow"],
    ["matches looks anywhere", 'has(args.s) && args.s.matches("b+")', { s: "abba" }, "allow"],
    ["lowerAscii changes ASCII only", 'has(args.s) && args.s.lowerAscii() == "aÄ"', { s: "AÄ" }, "allow"],
    ["upperAscii changes ASCII only", 'has(args.s) && args.s.upperAscii() == "Aß"', { s: "aß" }, "allow"],
    ["contains", 'has(args.s) && args.s.contains("bb") && !args.s.contains("c")', { s: "abba" }, "allow"],
    [
      "size of map, list and literal",
      'has(args.m) && size(args.m) == 1 && {"a": 1}.size() == 1 && [1, 2].size() == 2',
      { m: { a: 1 } },
      "allow",
    ],
    ["conversion of short text", 'has(args.s) && int(args.s) == 12 && double("1.5") > 1.0', { s: "12" }, "allow"],
    [
      "no conversion of long text",
      "has(args.s) && double(args.s) > 0.0",
      { s: "1".padStart(65, "0") },
      "condition-error",
    ],
    ["conversion at the bound", "has(args.s) && double(args.s) > 0.0", { s: "1".padStart(64, "0") }, "allow"],
    ["text functions err on other types", 'has(args.s) && args.s.contains("a")', { s: 1 }, "condition-error"],
    ["time", 'request.now == timestamp("2026-03-04T10:00:00Z") && request.now.getHours() == 10', {}, "allow"],
    ["the rest of the request", 'request.era == "modern" && request.transport == "http"', {}, "allow"],
    [
      "who asks for what where",
      'client.id == "desktop" && server.name == "support" && item.name == "export_all"',
      {},
      "allow",
    ],
    ["objects compare by value", 'has(args.m) && args.m == {"a": 1}', { m: { a: 1 } }, "allow"],
    ["filter and map", "has(args.l) && args.l.filter(e, e > 1).map(e, e * 2) == [4, 6]", { l: [1, 2, 3] }, "allow"],
    ["exists_one", "has(args.l) && args.l.exists_one(e, e == 1)", { l: [1, 1] }, "condition-false"],
  ];
  it.each(cases)("%s", (_law, when, args, expected) => {
    expect(outcome(when, args)).toBe(expected);
  });

  it("the same of every integer expression, however it is parenthesised", () => {
    const numeral = fc.integer({ min: 0, max: 20 }).map((n): [string, bigint] => [String(n), BigInt(n)]);
    const { expression } = fc.letrec<{ expression: [string, bigint] }>((tie) => ({
      expression: fc.oneof(
        { maxDepth: 4 },
        numeral,
        fc.tuple(tie("expression"), fc.constantFrom("+", "-", "*"), tie("expression")).map(([[a, x], op, [b, y]]) => {
          const value = op === "+" ? x + y : op === "-" ? x - y : x * y;
          return [`(${a} ${op} ${b})`, value] as [string, bigint];
        }),
      ),
    }));
    fc.assert(
      fc.property(expression, ([text, value]) => {
        expect(outcome(`${text} == ${value < 0n ? `-(${-value})` : String(value)}`, {})).toBe("allow");
      }),
      { numRuns: 60 },
    );
  });
});

describe("an evaluation is bounded", () => {
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
  const both = "has(args.l) && args.l.all(a, args.l.all(b, a == b || true))";

  it("in list length, at exactly the limit", () => {
    const when = "has(args.l) && args.l.all(e, e >= 0)";
    expect(outcome(when, { l: numbers(limits.conditionListItemsMax) })).toBe("allow");
    expect(outcome(when, { l: numbers(limits.conditionListItemsMax + 1) })).toBe("condition-error");
  });

  it("in fields of an object that is looped over", () => {
    const object = (count: number): JsonObject => Object.fromEntries(numbers(count).map((n) => [`k${n}`, n]));
    const when = 'has(args.m) && args.m.all(k, k != "x")';
    expect(outcome(when, { m: object(limits.conditionListItemsMax) })).toBe("allow");
    expect(outcome(when, { m: object(limits.conditionListItemsMax + 1) })).toBe("condition-error");
  });

  it.each([
    ["nested loops", both, { l: numbers(400) }],
    [
      "nested loops that absorb every error",
      "has(args.l) && args.l.exists(a, args.l.exists(b, 1 / 0 == 1)) || true",
      { l: numbers(400) },
    ],
    ["membership in a loop", "has(args.l) && args.l.all(a, a in args.l)", { l: numbers(400) }],
    [
      "membership in an entry of another loop",
      "has(args.ll) && has(args.l) && args.ll.all(y, args.l.all(z, z in y))",
      { l: numbers(400), ll: [numbers(400)] },
    ],
    ["comparison in a loop", "has(args.l) && args.l.all(a, args.l == args.l)", { l: numbers(400) }],
    [
      "search in a loop",
      'has(args.l) && has(args.s) && args.l.all(a, !args.s.contains("z"))',
      { l: numbers(400), s: "a".repeat(500_000) },
    ],
    [
      "counting in a loop",
      "has(args.l) && has(args.s) && args.l.all(a, size(args.s) > 1)",
      { l: numbers(400), s: "a".repeat(500_000) },
    ],
    ["a pattern over long text", 'has(args.s) && args.s.matches("^(a+)+$")', { s: "a".repeat(1_000_000) }],
  ])("in steps: %s", (_law, when, args) => {
    expect(outcome(when, args)).toBe("condition-error");
  });

  it("and the next one starts with a full meter", () => {
    const policy = load([rule("a", { when: both })]);
    expect(decide(policy, question({ args: { l: numbers(400) } })).effect).toBe("deny");
    expect(decide(policy, question({ args: { l: numbers(20) } })).effect).toBe("allow");
  });

  it("patterns run in linear time", () => {
    expect(outcome('has(args.s) && args.s.matches("^(a+)+$")', { s: `${"a".repeat(2_000)}b` })).toBe("condition-false");
  });
});

describe("what a decision read", () => {
  it.each([
    ["the field that was read", "has(args.a) && args.a == 1", { a: 1, b: 2 }, ["/a"]],
    ["a field that is missing", "has(args.a) && args.a == 1", { b: 2 }, ["/a"]],
    ["the inner field alone", "has(args.a) && has(args.a.b) && args.a.b == 1", { a: { b: 1, c: 2 } }, ["/a/b"]],
    ["a list as one field", "has(args.l) && args.l.all(e, has(e.x))", { l: [{ x: 1 }] }, ["/l"]],
    ["an object that was looked at as a whole", 'has(args.a) && args.a == {"b": 1}', { a: { b: 1 } }, ["/a"]],
    ["all arguments", "size(args) == 2", { a: 1, b: 2 }, [""]],
    ["escaped names", '"a/b~" in args && args["a/b~"] == 1', { "a/b~": 1, c: 1 }, ["/a~1b~0"]],
    ["nothing", "principal.kind == 'human'", { a: 1 }, []],
    ["what short-circuits left", "has(args.a) && args.a == 1 && has(args.b)", { a: 2, b: 1 }, ["/a"]],
  ])("%s", (_law, when, args, read) => {
    expect(decide(load([rule("a", { when })]), question({ args: args })).read).toEqual(read);
  });

  it("stays short when very many fields are read", () => {
    const m = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 1]));
    const when = "has(args.m) && has(args.l) && args.l.all(k, k in args.m)";
    expect(decide(load([rule("a", { when })]), question({ args: { m, l: Object.keys(m) } })).read).toEqual([
      "/l",
      "/m",
    ]);
  });
});
