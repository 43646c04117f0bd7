import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/model/json.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { viewOf } from "../../src/policy/argument-view.ts";
import {
  ClientFacts,
  PrincipalFacts,
  RequestFacts,
  ServerFacts,
  SubjectFacts,
  newPatterns,
  ownFunctions,
  runningEnvironment,
  writtenEnvironment,
} from "../../src/policy/condition-environment.ts";
import type { ConditionContext } from "../../src/policy/condition.ts";
import { rewriteCondition } from "../../src/policy/condition-rewrite.ts";
import { fill } from "../../src/policy/meter.ts";
import { quickCondition } from "../../src/policy/quick-condition.ts";
import { newReadNotes } from "../../src/policy/read-notes.ts";
import { principal } from "./given.ts";

const meter = { left: 0, exhausted: false };
const patterns = newPatterns();
patterns.add("^a+");
const functions = ownFunctions(meter, patterns, 5);
const written = writtenEnvironment();
const running = runningEnvironment(functions);

const annotations = viewOf({ a: true, b: "a" }, { meter, notes: undefined, listItemsMax: 5 });

interface Outcome {
  readonly value: unknown;
  readonly whole: readonly string[];
  readonly passed: readonly string[];
  readonly left: number;
}

/** What an evaluation comes to, and everything it leaves behind. */
function outcomeOf(
  evaluate: (context: ConditionContext) => unknown,
  { args, steps }: { args: JsonObject; steps: number },
): Outcome {
  const notes = newReadNotes();
  fill(meter, steps);
  const context: ConditionContext = {
    principal: new PrincipalFacts(principal({ groups: ["a", "corp:support"] }), new Map()),
    client: new ClientFacts("desktop"),
    server: new ServerFacts("a"),
    item: new SubjectFacts({ upstream: "crm", kind: "tool", name: "a" }, ["a", "b"], annotations),
    args: viewOf(args, { meter, notes, listItemsMax: 5 }),
    request: new RequestFacts({ now: 0, transport: "http", era: "modern", revision: "2026-07-28" }),
  };
  let value: unknown = "an error";
  try {
    value = evaluate(context);
  } catch {
    // Errors are alike: none of them permits.
  }
  const { left } = meter;
  return { value, whole: [...notes.whole], passed: [...notes.passed], left };
}

/** Undefined for what does not load at all. */
function bothOf(
  condition: string,
): { quick: ReturnType<typeof quickCondition>; library: (c: ConditionContext) => unknown } | undefined {
  const parsed = written.parse(condition);
  if (parsed.check().type !== "bool") return undefined;
  const run = running.parse(rewriteCondition(parsed.ast));
  if (run.check().type !== "bool") return undefined;
  return { quick: quickCondition(run.ast, functions), library: (context): unknown => run(context) };
}

const key = fc.constantFrom("a", "b", "c~/");
const path = fc.constantFrom(
  ...["args.a", "args.b", "args.a.b", "args.a.a", "args.c"],
  ...["item.annotations.a", "item.annotations.b", "item.annotations.c"],
);
const operand = fc.oneof(
  { weight: 6, arbitrary: path },
  { weight: 6, arbitrary: fc.constantFrom('"a"', '"corp:support"', '""', "1", "2", "-1", "true") },
  {
    weight: 3,
    arbitrary: fc.constantFrom("principal.subject", "client.id", "server.name", "item.name", "request.era"),
  },
  fc.constantFrom("1.5", "null", "[1, 2]", "principal.groups", "principal.claims"),
  fc.constantFrom("size(args.a)", "args.a.lowerAscii()", "args.a[0]", "string(args.a)"),
);
const holder = fc.constantFrom(
  ...["args.a", "args.b", "principal.groups", "[1, 2]", '["a", "b"]', "args"],
  ...["item.labels", "item.annotations"],
);

const { condition } = fc.letrec<{ condition: string; atom: string; looped: string }>((tie) => ({
  atom: fc.oneof(
    path.map((one) => `has(${one})`),
    fc.tuple(operand, fc.constantFrom("==", "!=", "<", "<=", ">", ">="), operand).map((parts) => parts.join(" ")),
    fc.tuple(operand, holder).map(([one, list]) => `${one} in ${list}`),
    fc
      .tuple(operand, fc.constantFrom("startsWith", "endsWith", "contains"), operand)
      .map(([one, name, other]) => `${one}.${name}(${other})`),
    operand.map((one) => `${one}.matches("^a+")`),
    path,
  ),
  looped: fc.oneof(
    fc.constantFrom('e == "a"', "e == 1", "e > 1", 'e.startsWith("a")', "has(e.a)", "e.a == 1", "e", "e in args.b"),
    tie("atom"),
  ),
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    tie("atom"),
    fc
      .tuple(tie("condition"), fc.constantFrom("&&", "||"), tie("condition"))
      .map(([one, op, other]) => `(${one} ${op} ${other})`),
    tie("condition").map((one) => `!(${one})`),
    fc
      .tuple(holder, fc.constantFrom("all", "exists", "exists_one"), tie("looped"))
      .map(([list, name, body]) => `${list}.${name}(e, ${body})`),
    fc.tuple(tie("condition"), tie("atom"), tie("atom")).map(([one, two, three]) => `(${one} ? ${two} : ${three})`),
  ),
}));

const scalar = fc.constantFrom<Json>(
  "a",
  "aab",
  "corp:support",
  "",
  1,
  2,
  1.5,
  -0,
  true,
  false,
  null,
  new ExactNumber("9007199254740993"),
);
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(fc.constantFrom<Json>("a", "aab", "corp:support"), { maxLength: 6 }) },
  fc.array(scalar, { maxLength: 3 }),
  fc.array(fc.dictionary(key, scalar, { maxKeys: 2 }), { maxLength: 2 }),
  fc.dictionary(key, fc.oneof(scalar, fc.dictionary(key, scalar, { maxKeys: 2 })), { maxKeys: 3 }),
);
const args = fc.oneof(
  { weight: 3, arbitrary: fc.record({ a: value, b: value, "c~/": value }) },
  fc.dictionary(key, value, { maxKeys: 3 }),
);
const steps = fc.constantFrom(0, 2, 5, 20, limits.conditionStepsMax);

describe("a condition that is answered quickly", () => {
  it("comes out as the library says, reads what it reads, and is charged the same", () => {
    let answered = 0;
    const check = fc.property(condition, args, steps, (text, given, allowed) => {
      const both = bothOf(text);
      const quick = both?.quick;
      if (both === undefined || quick === undefined) return;
      const asked = outcomeOf(quick, { args: given, steps: allowed });
      if (asked.value === undefined) return;
      answered += 1;
      expect(asked).toEqual(outcomeOf(both.library, { args: given, steps: allowed }));
    });
    fc.assert(check, { numRuns: 10_000 });
    // Neither an answer to nothing nor to a handful would prove anything.
    expect(answered).toBeGreaterThan(500);
  });

  it("leaves no trace of having been asked in vain", () => {
    const check = fc.property(condition, args, steps, (text, given, allowed) => {
      const both = bothOf(text);
      const quick = both?.quick;
      if (both === undefined || quick === undefined) return;
      const twice = outcomeOf(
        (context) => {
          const first = quick(context);
          fill(meter, allowed);
          return first ?? both.library(context);
        },
        { args: given, steps: allowed },
      );
      const once = outcomeOf(both.library, { args: given, steps: allowed });
      expect([twice.value, twice.whole, twice.passed]).toEqual([once.value, once.whole, once.passed]);
    });
    fc.assert(check, { numRuns: 3_000 });
  });

  it.each([
    [
      "reads guarded fields",
      'has(args.a) && args.a.startsWith("O") && (!has(args.b) || args.b <= 50)',
      { a: "OPS", b: 3 },
    ],
    ["loops over texts", 'has(args.a) && args.a.exists(f, f == "secret")', { a: ["x", "secret"] }],
    ["looks for the principal's group", '"corp:support" in principal.groups', {}],
    ["looks for a label and an annotation", '"b" in item.labels && has(item.annotations.a) && item.annotations.a', {}],
  ])("%s", (_, text, given) => {
    expect(bothOf(text)?.quick).toBeDefined();
    expect(outcomeOf(bothOf(text)?.quick ?? (() => undefined), { args: given, steps: 100 }).value).toBe(true);
  });

  it.each([
    ["a comparison of two kinds", "has(args.a) && args.a == 1", { a: "1" }],
    ["a field that is not there", "!has(args.a) || args.a.b == 1", { a: {} }],
    ["a list whose first entry is no text", 'has(args.a) && "a" in args.a', { a: [1, "a"] }],
    ["a list of objects", "has(args.a) && args.a.exists(e, e == 1)", { a: [{ b: 1 }] }],
    ["a list that is too long", "has(args.a) && args.a.exists(e, e == 7)", { a: [1, 2, 3, 4, 5, 6] }],
  ])("leaves %s to the library", (_, text, given) => {
    expect(bothOf(text)?.quick).toBeDefined();
    expect(outcomeOf(bothOf(text)?.quick ?? (() => true), { args: given, steps: 100 }).value).toBeUndefined();
  });
});
