import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutPresets } from "../../src/catalog/preset-schema.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { createCheckers } from "../../src/schema/checker.ts";

const presets = new Map<string, Json>([
  ["p", "eu"],
  ["q", 3],
]);
const text = { type: "string" };

describe("an input schema without presets", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["names no preset", { properties: { p: text, a: text } }, { properties: { a: text } }],
    ["requires none", { required: ["p", "a"] }, { required: ["a"] }],
    ["requires nothing where only presets were required", { type: "object", required: ["p"] }, { type: "object" }],
    [
      "stays closed",
      { properties: { p: text }, additionalProperties: false },
      { properties: {}, additionalProperties: false },
    ],
    ["counts without them", { minProperties: 3, maxProperties: 4 }, { minProperties: 1, maxProperties: 2 }],
    ["needs no count that they fill", { minProperties: 2 }, {}],
    ["asks for what they bring", { dependentRequired: { p: ["a", "q"] } }, { allOf: [{ required: ["a"] }] }],
    ["does not ask for them", { dependentRequired: { a: ["p", "b"] } }, { dependentRequired: { a: ["b"] } }],
    ["holds to what they bring", { dependentSchemas: { p: { required: ["a"] } } }, { allOf: [{ required: ["a"] }] }],
    [
      "knows the older word too",
      { dependencies: { p: ["a"], b: ["p"] } },
      { dependencies: { b: [] }, allOf: [{ required: ["a"] }] },
    ],
    [
      "names none in its parts",
      { allOf: [{ properties: { p: text } }, { required: ["q"] }] },
      { allOf: [{ properties: {} }, {}] },
    ],
    [
      "has the alternatives that a preset leaves",
      {
        oneOf: [
          { properties: { p: { const: "eu" }, a: text }, required: ["p", "a"] },
          { properties: { p: { const: "us" } } },
        ],
      },
      { oneOf: [{ properties: { a: text }, required: ["a"] }] },
    ],
    ["has no condition that a preset decides", { not: { properties: { p: { enum: ["us"] } } } }, {}],
    [
      "has the definition in the place of a reference to all of it",
      { $ref: "#/$defs/all", $defs: { all: { type: "object", properties: { p: text, a: text } } } },
      { allOf: [{ type: "object", properties: { a: text } }] },
    ],
    [
      "has no definition that only a preset needed",
      {
        properties: { p: { $ref: "#/$defs/r" }, a: { $ref: "#/$defs/s" } },
        $defs: { r: text, s: { $ref: "#/$defs/t" }, t: text },
      },
      { properties: { a: { $ref: "#/$defs/s" } }, $defs: { s: { $ref: "#/$defs/t" }, t: text } },
    ],
    ["shows no example of one", { default: { p: "x", a: "y" }, examples: [{ p: "x" }] }, { default: { a: "y" } }],
    [
      "keeps what has the same name below",
      { properties: { a: { properties: { p: text } } } },
      { properties: { a: { properties: { p: text } } } },
    ],
    [
      "stays as it is where it knows none",
      { properties: { a: text }, patternProperties: { "^x": text } },
      { properties: { a: text }, patternProperties: { "^x": text } },
    ],
  ])("%s", (_law, schema, expected) => {
    expect(withoutPresets(schema, presets)).toEqual(expected);
  });

  it.each<[string, JsonObject]>([
    ["binds all names", { propertyNames: { pattern: "^[a-z]" } }],
    ["names whole values", { enum: [{ p: "eu" }] }],
    ["names one value", { const: {} }],
    ["refers dynamically", { $dynamicRef: "#x", properties: { p: text } }],
    ["refers to the preset from elsewhere", { properties: { p: text, a: { $ref: "#/properties/p" } } }],
    ["refers to itself", { properties: { p: text, child: { $ref: "#" } } }],
    ["refers to nothing", { $ref: "#/$defs/absent" }],
    ["refers to itself without end", { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }],
    [
      "tells alternatives by more than a value",
      { anyOf: [{ properties: { p: { pattern: "^e" } } }, { required: ["a"] }] },
    ],
    ["tells alternatives by a pattern of names", { anyOf: [{ patternProperties: { "^p": text } }] }],
    ["tells a condition by the rest of the names", { if: { additionalProperties: text }, then: { required: ["a"] } }],
    ["leaves no alternative", { oneOf: [{ properties: { p: { const: "us" } } }] }],
    ["leaves no room for them", { maxProperties: 1 }],
  ])("cannot be told where it %s", (_why, schema) => {
    expect(withoutPresets(schema, presets)).toBeUndefined();
  });
});

/** Schemas of the forms above, about four names of which two are preset. */
const names = fc.constantFrom("p", "q", "a", "b");
const value = fc.constantFrom<Json>("eu", "us", 3, 4);
const member = fc.oneof(
  fc.constant<Json>({}),
  fc.constantFrom("string", "integer", "number").map((type): Json => ({ type })),
  value.map((one): Json => ({ const: one })),
  fc.array(value, { minLength: 1, maxLength: 3 }).map((list): Json => ({ enum: [...new Set(list)] })),
);
const flat: Record<string, fc.Arbitrary<Json>> = {
  properties: fc.dictionary(names, member, { maxKeys: 4 }),
  required: fc.uniqueArray(names, { maxLength: 3 }),
  additionalProperties: fc.constantFrom(false, true),
  minProperties: fc.integer({ min: 0, max: 4 }),
  maxProperties: fc.integer({ min: 1, max: 4 }),
  dependentRequired: fc.dictionary(names, fc.uniqueArray(names, { maxLength: 2 }), { maxKeys: 2 }),
};

function some(keywords: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<JsonObject> {
  return fc
    .uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 3 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((keyword) => [keyword, keywords[keyword]!]))));
}

function composed(inner: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  const list = fc.array(inner, { minLength: 1, maxLength: 2 });
  const one = { not: inner, if: inner, then: inner, else: inner };
  const dependentSchemas = fc.dictionary(names, inner, { maxKeys: 1 });
  return some({ ...flat, ...one, allOf: list, anyOf: list, oneOf: list, dependentSchemas });
}

const schema = composed(composed(some(flat)));
const sent = fc.dictionary(fc.constantFrom("a", "b", "c"), value, { maxKeys: 3 });

/** Whether a schema of these forms names a preset for the arguments themselves. */
function namesPreset(value: Json): boolean {
  return [...presets.keys()].some((name) => JSON.stringify(value).includes(`"${name}"`));
}

describe("any such schema without presets", () => {
  const checkers = createCheckers({ validatorsMax: 10 });
  const fits = (judge: JsonObject, args: JsonObject): boolean => {
    const checker = checkers.for(JSON.stringify(judge), judge);
    if (!checker.usable) throw new Error(JSON.stringify(checker.refusal));
    return checker.check(args).length === 0;
  };

  it("names none of them, and accepts what is accepted with them", () => {
    let told = 0;
    fc.assert(
      fc.property(schema, sent, (whole, args) => {
        const rest = withoutPresets(whole, presets);
        if (rest === undefined) return;
        told += 1;
        expect(namesPreset(rest)).toBe(false);
        const together = { ...args, ...Object.fromEntries(presets) };
        if (fits(whole, together)) expect(fits(rest, args)).toBe(true);
      }),
      { numRuns: 3_000 },
    );
    expect(told).toBeGreaterThan(500);
  });

  it("accepts no more than that, but for what it says of their values at its top", () => {
    fc.assert(
      fc.property(schema, sent, (whole, args) => {
        const rest = withoutPresets({ anyOf: [whole] }, presets);
        const together = { ...args, ...Object.fromEntries(presets) };
        if (rest === undefined) return;
        expect(fits(rest, args)).toBe(fits({ anyOf: [whole] }, together));
      }),
      { numRuns: 3_000 },
    );
  });
});
