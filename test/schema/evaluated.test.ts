import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber, isJsonObject, type Json, type JsonObject } from "../../src/model/json.ts";
import { createCheckers } from "../../src/schema/checker.ts";
import { isValidPlainly } from "./plain-judge.ts";

const names = ["a", "b", "x1", "x2"];
const asking = ["unevaluatedProperties", "unevaluatedItems"];
const scalar = fc.constantFrom<Json>(1, 2, "s", null, true);

/** A value of at most two levels. */
const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, depthIdentifier: "value" },
    scalar,
    fc.dictionary(fc.constantFrom(...names), tie("value"), { maxKeys: 4 }),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
})).value;

const schema: fc.Arbitrary<Json> = fc.letrec<{ schema: Json }>((tie) => {
  const one = tie("schema");
  const list = fc.array(one, { minLength: 1, maxLength: 3 });
  const map = (of: readonly string[]): fc.Arbitrary<JsonObject> =>
    fc.dictionary(fc.constantFrom(...of), one, { minKeys: 1, maxKeys: 2 });
  const keyword: fc.Arbitrary<JsonObject> = fc.oneof(
    { maxDepth: 5, depthIdentifier: "schema" },
    fc.constantFrom<JsonObject>(...["array", "object", "string", "number"].map((type) => ({ type }))),
    scalar.map((only) => ({ const: only })),
    fc.subarray(names, { minLength: 1, maxLength: 2 }).map((required) => ({ required })),
    fc.constantFrom<JsonObject>({ uniqueItems: true }, { $ref: "#/$defs/one" }, { $ref: "#/$defs/two" }),
    map(names).map((properties) => ({ properties })),
    map(["^x", "1$"]).map((patternProperties) => ({ patternProperties })),
    map(names).map((dependentSchemas) => ({ dependentSchemas })),
    fc
      .tuple(fc.constantFrom("allOf", "anyOf", "oneOf", "prefixItems"), list)
      .map(([name, members]) => ({ [name]: members })),
    fc
      .tuple(fc.constantFrom("not", "additionalProperties", "items", "contains"), one)
      .map(([name, member]) => ({ [name]: member })),
    fc
      .tuple(fc.constantFrom(...asking), fc.oneof(fc.constant(false), one))
      .map(([name, member]) => ({ [name]: member })),
    fc.tuple(one, one, one).map(([condition, then, other]) => ({ if: condition, then, else: other })),
  );
  return {
    schema: fc.oneof(
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 9, arbitrary: fc.array(keyword, { maxLength: 3 }).map(merged) },
    ),
  };
}).schema;

function merged(parts: readonly JsonObject[]): JsonObject {
  return Object.fromEntries(parts.flatMap((part) => Object.entries(part)));
}

/** One in three asks for nothing that is unevaluated at its root. */
const rooted: fc.Arbitrary<JsonObject> = fc
  .record({ root: schema, one: schema, two: schema, asks: fc.constantFrom(...asking, "title") })
  .map(({ root, one, two, asks }) => ({
    ...(isJsonObject(root) ? root : {}),
    ...(asks === "title" ? {} : { [asks]: false }),
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: { one, two },
  }));

function accepts(root: JsonObject, one: Json): boolean {
  const checker = createCheckers({ validatorsMax: 1 }).for("", root);
  if (!checker.usable) throw new Error(checker.refusal.code);
  return checker.check(one).length === 0;
}

describe("a checker", () => {
  it("accepts what the specification accepts and nothing else, for schemas made at random", { timeout: 60_000 }, () => {
    let judged = 0;
    fc.assert(
      fc.property(rooted, fc.array(value, { minLength: 8, maxLength: 16 }), (root, values) => {
        const checker = createCheckers({ validatorsMax: 1 }).for("", root);
        if (!checker.usable) return;
        judged += values.length;
        const accepted = values.filter((one) => checker.check(one).length === 0);
        expect(accepted).toEqual(values.filter((one) => isValidPlainly(root, one)));
      }),
      { numRuns: 1_500, seed: 20_260_728 },
    );
    expect(judged).toBeGreaterThan(10_000);
  });

  const array = { properties: { a: { type: "array" } } };
  const needsP = { properties: { p: { const: 2 } }, required: ["p"] };

  it.each<[string, JsonObject, Json]>([
    [
      "an alternative within an alternative that failed",
      { oneOf: [{ ...array, oneOf: [needsP, { properties: { evil: {} } }] }, {}], unevaluatedProperties: false },
      { a: true, evil: 1 },
    ],
    [
      "a condition that does not hold",
      { allOf: [{ if: { unevaluatedProperties: false }, else: {} }], unevaluatedProperties: false },
      { a: 1 },
    ],
    [
      "a branch of a condition that does not apply",
      { if: {}, then: {}, else: { prefixItems: [false] }, unevaluatedItems: false },
      [{}],
    ],
    ["what is ruled out", { not: { not: { properties: { a: {} } } }, unevaluatedProperties: false }, { a: 1 }],
  ])("does not take as evaluated what was looked at by %s", (_by, root, one) => {
    expect(accepts(root, one)).toBe(false);
  });

  it.each<[string, JsonObject, Json, boolean]>([
    ["contains", { prefixItems: [{ const: "x" }], contains: {} }, [], false],
    ["contains", { prefixItems: [{ const: "x" }], contains: {} }, ["x"], true],
    ["minContains", { prefixItems: [{}, { const: 1 }], contains: {}, minContains: 2 }, [1], false],
    ["uniqueItems", { prefixItems: [{}, {}, { const: 1 }], uniqueItems: true }, [1, 1], false],
    ["uniqueItems", { prefixItems: [{}, {}, { const: 1 }], uniqueItems: true }, [1, 2], true],
  ])("asks for %s of a list that is shorter than the tuple: %j of %j is %s", (_keyword, root, one, accepted) => {
    expect(accepts(root, one)).toBe(accepted);
  });

  it("asks for uniqueItems of a list that is shorter than the tuple of an earlier dialect", () => {
    const root = {
      $schema: "http://json-schema.org/draft-07/schema#",
      items: [{}, {}, { const: 1 }],
      uniqueItems: true,
    };
    expect([accepts(root, [1, 1]), accepts(root, [1, 2])]).toEqual([false, true]);
  });

  it("takes an item that contains found as evaluated since 2020-12 only", () => {
    const root = { contains: { const: 1 }, unevaluatedItems: false };
    const earlier = { ...root, $schema: "https://json-schema.org/draft/2019-09/schema" };
    expect([accepts(root, [1]), accepts(root, [1, 2]), accepts(earlier, [1])]).toEqual([true, false, false]);
  });

  it.each<[string, JsonObject]>([
    ["allOf", { allOf: [array] }],
    ["a branch that holds", { anyOf: [array, false] }],
    ["a condition that holds", { if: array }],
    ["the branch of a condition", { if: array, then: {}, else: {} }],
    ["a schema of a property that is there", { dependentSchemas: { a: array } }],
    ["a reference", { $ref: "#/$defs/one", $defs: { one: array } }],
    ["a pattern", { patternProperties: { "^a$": {} } }],
  ])("takes as evaluated what was looked at by %s", (_by, root) => {
    const asked = { ...root, unevaluatedProperties: false };
    expect([accepts(asked, { a: [] }), accepts(asked, { a: [], b: 1 })]).toEqual([true, false]);
  });

  it.each([
    [3, true],
    [12, false],
  ])("of %i schemas that keep account within each other is usable: %s", (levels, isUsable) => {
    let root: JsonObject = { properties: { a: {} } };
    for (let level = 0; level < levels; level += 1) root = { anyOf: [root], unevaluatedProperties: false };
    const checker = createCheckers({ validatorsMax: 1 }).for("", root);
    expect([checker.usable, checker.usable ? "" : checker.refusal.facts["reason"]]).toEqual([
      isUsable,
      isUsable ? "" : "too-costly",
    ]);
  });

  it("compares numbers that no double holds exactly in alternatives too", () => {
    const [one, other] = [new ExactNumber("9007199254740993"), new ExactNumber("9007199254740995")];
    const root = { anyOf: [{ properties: { a: { const: one } } }, {}], unevaluatedProperties: { const: other } };
    expect([accepts(root, { a: one }), accepts(root, { a: other })]).toEqual([true, true]);
    expect(accepts(root, { a: new ExactNumber("9007199254740997") })).toBe(false);
  });

  it("names what should not be there", () => {
    const check = (root: JsonObject, one: Json): unknown => {
      const checker = createCheckers({ validatorsMax: 1 }).for("", root);
      return checker.usable ? checker.check(one) : checker.refusal;
    };
    const nested = { properties: { "a/b": { anyOf: [{ properties: { c: {} } }], unevaluatedProperties: false } } };
    expect(check(nested, { "a/b": { c: 1, d: 1 } })).toEqual([
      { pointer: "/a~1b", keyword: "unevaluatedProperties", message: 'must not have the property "d"' },
    ]);
    expect(check({ prefixItems: [{}], unevaluatedItems: false }, [1, 2])).toEqual([
      { pointer: "", keyword: "unevaluatedItems", message: "must not have more than 1 items" },
    ]);
    expect(check({ unevaluatedProperties: { type: "string" } }, { d: 1 })).toEqual([
      { pointer: "/d", keyword: "type", message: "must be string" },
    ]);
  });
});
