import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { ExactNumber } from "../../src/model/json.ts";
import type { Checker } from "../../src/schema/checker.ts";
import { createCheckers } from "../../src/schema/checker.ts";
import { dialectal, portable } from "./golden.ts";

const checkerOf = (schema: Json): Checker => createCheckers({ validatorsMax: 1 }).for("digest", schema);

function usable(schema: Json): Extract<Checker, { usable: true }> {
  const checker = checkerOf(schema);
  if (!checker.usable) throw new Error(`${checker.refusal.code} ${JSON.stringify(checker.refusal.facts)}`);
  return checker;
}

function reasonOf(schema: Json): unknown {
  const checker = checkerOf(schema);
  return checker.usable ? undefined : (checker.refusal.facts["reason"] ?? checker.refusal.code);
}

const exact = (source: string): ExactNumber => new ExactNumber(source);
const declared: readonly string[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "https://json-schema.org/draft/2019-09/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-06/schema#",
];

describe.each(["", ...declared])("realistic schemas that declare %j", (dialect) => {
  it.each(portable.map((golden) => [golden.name, golden] as const))("%s", (_, { schema, good, bad }) => {
    const checker = usable(dialect === "" ? schema : { $schema: dialect, ...(schema as JsonObject) });
    for (const value of good) expect([value, checker.check(value)]).toEqual([value, []]);
    for (const value of bad) expect([value, checker.check(value).length > 0]).toEqual([value, true]);
    expect(checker.findings).toEqual([]);
  });
});

describe("schemas that depend on their dialect", () => {
  it.each(dialectal.map((golden) => [golden.name, golden] as const))("%s", (_, { schema, good, bad }) => {
    const checker = usable(schema);
    for (const value of good) expect([value, checker.check(value)]).toEqual([value, []]);
    for (const value of bad) expect([value, checker.check(value).length > 0]).toEqual([value, true]);
  });
});

const chain = (count: number, of: (next: string) => JsonObject): JsonObject => {
  const $defs: JsonObject = { [`d${count}`]: { type: "string" } };
  for (let index = 0; index < count; index++) $defs[`d${index}`] = of(`#/$defs/d${index + 1}`);
  return { $defs, $ref: "#/$defs/d0" };
};
const entries = (count: number, of: (index: number) => Json): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, of(index)]));
const nest = (depth: number, key: string): Json =>
  Array.from({ length: depth }).reduce<Json>((inner) => ({ [key]: key === "anyOf" ? [inner] : inner }), {});

describe("a schema that cannot be used says why", () => {
  it.each<[string, Json]>([
    ["input-free-recursion", { allOf: [{ $ref: "#" }, { $ref: "#" }] }],
    ["input-free-recursion", { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }],
    [
      "input-free-recursion",
      { $dynamicRef: "#x", $defs: { n: { $dynamicAnchor: "x", anyOf: [{ $dynamicRef: "#x" }] } } },
    ],
    ["input-free-recursion", chain(200, (next) => ({ $ref: next }))],
    ["too-costly", chain(22, (next) => ({ anyOf: [{ $ref: next }, { $ref: next }] }))],
    ["too-deep", nest(33, "not")],
    ["too-deep", nest(3_000, "anyOf")],
    ["too-many-values", { enum: Array.from({ length: 2_001 }, (_, index) => index) }],
    [
      "too-many-subschemas",
      { unevaluatedProperties: false, allOf: Array.from({ length: 5_000 }, () => ({ if: {}, then: {} })) },
    ],
    [
      "too-many-patterns",
      {
        properties: Object.fromEntries(
          Array.from({ length: 201 }, (_, index) => [`p${index}`, { pattern: `${index}` }]),
        ),
      },
    ],
    ["pattern-too-large", { pattern: `(?:${"a.".repeat(490)}){1000}` }],
    ["pattern-too-large", { patternProperties: { [`^(?:${"\\p{L}".repeat(190)}){1000}$`]: true } }],
    ["too-many-values", { dependentRequired: { a: Array.from({ length: 2_001 }, (_, index) => `n${index}`) } }],
    ["too-many-values", { dependentRequired: entries(2_001, () => []) }],
    ["too-many-values", { $schema: declared[2] ?? "", dependencies: entries(1_001, () => ["a", "b"]) }],
    ["too-many-values", { allOf: Array.from({ length: 3 }, () => ({ dependentRequired: entries(700, () => ["a"]) })) }],
    ["ref-not-local", { $ref: "http://169.254.169.254/latest/" }],
    ["ref-not-local", { properties: { a: { $ref: "file:///etc/passwd" } } }],
    ["ref-unresolved", { $ref: "#/$defs/missing" }],
    ["ref-unresolved", { $ref: "#/toString" }],
    ["ref-unresolved", { $ref: "#%zz" }],
    ["foreign-resource", { $id: "https://gateway.example/policy.json" }],
    ["foreign-resource", { properties: { a: { $schema: "http://json-schema.org/draft-07/schema#" } } }],
    ["keyword-malformed", { multipleOf: 0 }],
    ["keyword-malformed", { type: "text" }],
    ["keyword-malformed", { required: "a" }],
    ["keyword-malformed", { properties: [] }],
    ["keyword-malformed", { minLength: -1 }],
    ["keyword-malformed", { $schema: "https://json-schema.org/draft/2020-12/schema", items: [{}] }],
    ["not-a-schema", "string"],
    ["not-a-schema", null],
    ["SCHEMA_DIALECT_UNSUPPORTED", { $schema: "http://json-schema.org/draft-03/schema#" }],
    ["SCHEMA_DIALECT_UNSUPPORTED", { $schema: 7 }],
  ])("%s", (reason, schema) => {
    expect(reasonOf(schema)).toBe(reason);
  });

  it.each<[string, Json]>([
    ["32 levels", nest(32, "not")],
    ["2,000 enum values", { enum: Array.from({ length: 2_000 }, (_, index) => index) }],
    ["doubling that stays cheap", chain(10, (next) => ({ anyOf: [{ $ref: next }, { $ref: next }] }))],
    ["2,000 dependent names", { dependentRequired: entries(1_000, () => ["a", "b"]) }],
    ["2,000 properties that depend on nothing", { dependentRequired: entries(2_000, () => []) }],
    ["64 references in a row", chain(63, (next) => ({ $ref: next }))],
  ])("but %s can be used", (_, schema) => {
    expect(reasonOf(schema)).toBeUndefined();
  });
});

describe("the corpus of schema attacks", () => {
  const recipes: Readonly<Record<string, Json>> = {
    "atk-schema-dos-010": nest(3_000, "anyOf"),
    "atk-schema-dos-012": { enum: Array.from({ length: 200_000 }, (_, index) => index) },
    "atk-schema-dos-024": {
      type: "object",
      unevaluatedProperties: false,
      allOf: Array.from({ length: 5_000 }, () => ({ if: {}, then: {} })),
    },
  };
  const cases = readFileSync(new URL("../corpus/attacks.jsonl", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line.includes('"class": "schema-dos"'))
    .map((line) => JSON.parse(line) as { id: string; input: Json; expect: string });
  const schemaOf = (found: { id: string; input: Json }): Json => recipes[found.id] ?? found.input;

  it("has twelve cases, eight to block", () => {
    expect([cases.length, cases.filter((found) => found.expect === "block").length]).toEqual([12, 8]);
  });

  it.each(cases.filter((found) => found.expect === "block").map((found) => [found.id, found] as const))(
    "%s is unusable",
    (_, found) => {
      expect(reasonOf(schemaOf(found))).toBeTypeOf("string");
    },
  );

  it.each(["atk-schema-dos-002", "atk-schema-dos-006", "atk-schema-dos-020"])(
    "%s is enforced in linear time, which is better than a flag",
    (id) => {
      const checker = usable(cases.find((found) => found.id === id)?.input ?? null);
      expect(checker.findings).toEqual([]);
      expect(checker.check({ a: `${"x".repeat(50_000)}!`, [`${"x".repeat(50_000)}!`]: 1 })).toBeInstanceOf(Array);
      expect(checker.check(Array.from({ length: 6_000 }, (_, index) => ({ index })))).toBeInstanceOf(Array);
    },
  );

  it("atk-schema-dos-004 is unenforced with a finding", () => {
    const checker = usable(cases.find((found) => found.id === "atk-schema-dos-004")?.input ?? null);
    expect(checker.findings).toMatchObject([{ kind: "schema-pattern-unenforced", where: "/properties/a/pattern" }]);
  });

  it("benign schemas of the corpus are usable without findings", () => {
    const benign = readFileSync(new URL("../corpus/benign.jsonl", import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line.includes('"entry": "inputSchema"'))
      .map((line) => JSON.parse(line) as { input: Json });
    expect(benign.length).toBe(11);
    for (const { input } of benign) expect(usable(input).findings).toEqual([]);
  });
});

describe("a pattern that the linear engine cannot do", () => {
  it("is unenforced with a finding while other keywords hold", () => {
    const checker = usable({
      properties: { p: { pattern: "^(?=.*\\d).{8,}$", maxLength: 9 } },
      additionalProperties: false,
    });
    expect(checker.findings.map((finding) => finding.kind)).toEqual(["schema-pattern-unenforced"]);
    expect(checker.check({ p: "no digit" })).toEqual([]);
    expect(checker.check({ p: "0123456789" })).toHaveLength(1);
    expect(checker.check({ q: 1 })).toHaveLength(1);
  });

  it.each<[string, JsonObject, Json]>([
    ["not", { not: { pattern: "(?=a)" } }, "b"],
    ["if", { if: { pattern: "(?=a)" }, then: false }, "b"],
    ["oneOf", { oneOf: [{ pattern: "(?=a)" }, { type: "string" }] }, "b"],
    ["oneOf beside anyOf", { oneOf: [{ pattern: "(?=a)" }, { type: "string" }], anyOf: [true] }, "b"],
    ["patternProperties", { patternProperties: { "(?=a)": {} }, additionalProperties: false }, { a: 1 }],
    [
      "patternProperties in allOf",
      { allOf: [{ patternProperties: { "(?=a)": {} } }], unevaluatedProperties: false },
      { a: 1 },
    ],
  ])("never makes the schema refuse more: %s", (_, schema, value) => {
    expect(usable(schema).check(value)).toEqual([]);
  });

  it.each(["a".repeat(1_001), "(?<y>a)\\k<y>", "(a)\\1", "a{1001}", "(?i)a", "[", "\\Q.\\E"])(
    "such as %j",
    (pattern) => {
      expect(usable({ pattern }).findings).toHaveLength(1);
    },
  );
});

describe("numbers that no double holds", () => {
  it.each<[string, Json, Json, boolean]>([
    ["is an integer", { type: "integer" }, exact("9007199254740993"), true],
    ["with a fraction is none", { type: "integer" }, exact("9007199254740992.5"), false],
    ["with a zero fraction is one", { type: "integer" }, exact("9007199254740993.0"), true],
    ["is a number", { type: "number" }, exact("0.1000000000000000055511151231257827"), true],
    ["is no object", { type: "object" }, exact("9007199254740993"), false],
    ["equals itself", { const: exact("9007199254740993") }, exact("9007199254740993"), true],
    ["equals another spelling", { const: exact("9007199254740993") }, exact("9007199254740993.0"), true],
    ["differs from its double", { const: 9007199254740992 }, exact("9007199254740993"), false],
    ["differs the other way", { const: exact("9007199254740993") }, 9007199254740992, false],
    ["deep in a const", { const: { a: [exact("9007199254740993")] } }, { a: [9007199254740992] }, false],
    ["in an enum", { enum: [9007199254740992, exact("9007199254740993")] }, exact("9007199254740993"), true],
    ["outside an enum", { enum: [9007199254740992, 9007199254740994] }, exact("9007199254740993"), false],
    ["over a maximum", { maximum: 9007199254740992 }, exact("9007199254740993"), false],
    ["at a maximum", { maximum: exact("9007199254740993") }, exact("9007199254740993"), true],
    ["below a minimum", { minimum: 5 }, exact("4.99999999999999999999"), false],
    ["negative below a minimum", { minimum: -5 }, exact("-5.00000000000000000001"), false],
    ["over an exclusive minimum", { exclusiveMinimum: 5 }, exact("5.00000000000000000001"), true],
    ["below an exclusive maximum", { exclusiveMaximum: 5 }, exact("5.00000000000000000001"), false],
    ["a multiple", { multipleOf: 3 }, exact("90071992547409930"), true],
    ["no multiple", { multipleOf: 2 }, exact("9007199254740993"), false],
    ["tiny and no multiple", { multipleOf: 1 }, exact("1e-99999999"), false],
    ["two that are one double", { uniqueItems: true }, [exact("9007199254740993"), 9007199254740992], true],
    ["the same twice", { uniqueItems: true }, [exact("9007199254740993"), exact("90071992547409930e-1")], false],
    [
      "nested in properties",
      { properties: { a: { items: { maximum: 9007199254740992 } } } },
      { a: [1, exact("9007199254740993")] },
      false,
    ],
    ["beside a null", { properties: { a: { enum: [null] } } }, { a: null, b: exact("9007199254740993") }, true],
    ["beside names in an enum", { propertyNames: { enum: ["a"] } }, { a: exact("9007199254740993") }, true],
  ])("%s", (_, schema, value, holds) => {
    expect(usable(schema).check(value).length === 0).toBe(holds);
  });

  it("leave the value as it was", () => {
    const value = { a: exact("9007199254740993") };
    usable({ properties: { a: { type: "integer" } } }).check(value);
    expect(value.a).toEqual(exact("9007199254740993"));
  });
});

describe("a violation", () => {
  it.each<[Json, Json, { pointer: string; keyword: string; message: string }]>([
    [
      { required: ["toString"] },
      {},
      { pointer: "", keyword: "required", message: 'must have the property "toString"' },
    ],
    [
      { properties: { a: { type: ["string", "null"] } } },
      { a: 1 },
      { pointer: "/a", keyword: "type", message: "must be string or null" },
    ],
    [
      { properties: { "x/y": { enum: ["a", 2] } } },
      { "x/y": "secret" },
      { pointer: "/x~1y", keyword: "enum", message: 'must be one of "a", 2' },
    ],
    [
      { additionalProperties: false },
      { 'q"': "secret" },
      { pointer: "", keyword: "additionalProperties", message: 'must not have the property "q\\""' },
    ],
    [
      { minimum: exact("9007199254740993") },
      1,
      { pointer: "", keyword: "minimum", message: "must be at least 9007199254740993" },
    ],
    [{ pattern: "^a$" }, "secret", { pointer: "", keyword: "pattern", message: 'must match the pattern "^a$"' }],
    [{ maxLength: 2 }, "secret", { pointer: "", keyword: "maxLength", message: "must have at most 2 characters" }],
    [{ items: false }, ["secret"], { pointer: "/0", keyword: "false schema", message: "is not allowed here" }],
  ])("of %j says what is demanded and not what was received", (schema, value, expected) => {
    expect(usable(schema).check(value)).toEqual([expected]);
  });

  it("comes at most five at a time, outermost first, and at most 200 characters long", () => {
    const long = "x".repeat(500);
    const violations = usable({ anyOf: Array.from({ length: 9 }, () => ({ const: long })) }).check("secret");
    expect(violations.map((violation) => violation.keyword)).toEqual(["anyOf", "const", "const", "const", "const"]);
    expect(Math.max(...violations.map((violation) => violation.message.length))).toBe(200);
    expect(JSON.stringify(violations)).not.toContain("secret");
  });
});

describe("a value too large for its schema", () => {
  const branching: Json = { properties: { n: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } }, required: ["n"] };
  const deep = (depth: number): Json => Array.from({ length: depth }).reduce<Json>((inner) => ({ n: inner }), { n: 0 });

  it("is refused before it is checked, a smaller one is not", () => {
    expect(usable(branching).check(deep(8))).toEqual([]);
    expect(usable(branching).check(deep(60))).toMatchObject([
      { message: expect.stringContaining("too large") as string },
    ]);
    expect(usable({}).check(deep(70))).toHaveLength(1);
  });

  it("finds a long text and its pattern in bounds: text that is too long is refused", () => {
    const checker = usable({ pattern: "^(a|b){1,500}" });
    expect(checker.check("ab")).toEqual([]);
    expect(checker.check("a".repeat(4_000_000))).toHaveLength(1);
  });
});

describe("the checkers", () => {
  it("compile a schema once per digest and forget the one unused for longest", () => {
    const checkers = createCheckers({ validatorsMax: 2 });
    const first = checkers.for("a", {});
    const second = checkers.for("b", {});
    expect(checkers.for("a", {})).toBe(first);
    checkers.for("c", {});
    expect(checkers.for("a", {})).toBe(first);
    expect(checkers.for("b", {})).not.toBe(second);
  });

  it("keep schemas apart that use the same names", () => {
    const checkers = createCheckers({ validatorsMax: 2 });
    const text = checkers.for("a", { $defs: { a: { type: "string" } }, $ref: "#/$defs/a" });
    const number = checkers.for("b", { $defs: { a: { type: "number" } }, $ref: "#/$defs/a" });
    expect([text, number].map((checker) => checker.usable && checker.check(1).length)).toEqual([1, 0]);
  });
});

describe("a schema that the validator makes broken code of", () => {
  const evaluated = { patternProperties: { "^a": {} }, if: { required: ["b"] }, then: { properties: { b: {} } } };

  it("judges by it all the same where nothing is asked of what was not evaluated", () => {
    expect(messagesOf(evaluated, { a: 1 })).toEqual([]);
  });

  it("judges by it where something is asked of what was not evaluated", () => {
    const asking = { anyOf: [evaluated], unevaluatedProperties: false };
    expect(messagesOf(asking, { a: 1, b: 1 })).toEqual([]);
    expect(messagesOf(asking, { a: 1, c: 1 })).toEqual(['must not have the property "c"']);
  });

  function messagesOf(schema: Json, value: Json): readonly string[] {
    const checker = createCheckers({ validatorsMax: 1 }).for("one", schema);
    return checker.usable ? checker.check(value).map(({ message }) => message) : ["unusable"];
  }
});
