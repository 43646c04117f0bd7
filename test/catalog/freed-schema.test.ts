import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withoutFields } from "../../src/catalog/freed-schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../../src/model/json.ts";
import { removeFields } from "../../src/sanitize/remove-fields.ts";
import { createCheckers } from "../../src/schema/checker.ts";

const text = { type: "string" };
const anything = { type: "object" };
const person: JsonObject = {
  type: "object",
  properties: { name: text, ssn: text },
  required: ["name", "ssn"],
  additionalProperties: false,
};
const freedPerson: JsonObject = {
  type: "object",
  properties: { name: text },
  required: ["name"],
  additionalProperties: false,
};
const list = (items: Json): JsonObject => ({ type: "object", properties: { rows: { type: "array", items } } });

describe("an output schema without removed fields", () => {
  it.each<[string, JsonObject, string, JsonObject]>([
    ["promises none at the top", person, "/ssn", freedPerson],
    ["promises none in a list", list(person), "/rows/*/ssn", list(freedPerson)],
    [
      "promises none below any key",
      { properties: { a: person, b: person } },
      "/*/ssn",
      { properties: { a: freedPerson, b: freedPerson } },
    ],
    [
      "promises none below unnamed keys",
      { additionalProperties: person },
      "/*/ssn",
      { additionalProperties: freedPerson },
    ],
    [
      "promises none below keys of a pattern",
      { patternProperties: { "^a": person } },
      "/*/ssn",
      { patternProperties: { "^a": freedPerson } },
    ],
    [
      "says nothing of a key that only a pattern may name",
      { patternProperties: { "^a": person } },
      "/ada/ssn",
      { patternProperties: { "^a": {} } },
    ],
    [
      "says nothing of a key that it does not name",
      { additionalProperties: person },
      "/ada/ssn",
      { additionalProperties: {} },
    ],
    [
      "has the definition in the place of a reference, and no definition that is not used",
      { ...list({ $ref: "#/$defs/person" }), $defs: { person } },
      "/rows/*/ssn",
      list({ allOf: [freedPerson] }),
    ],
    [
      "keeps a definition that something else refers to",
      { properties: { a: { $ref: "#/$defs/person" }, b: { $ref: "#/$defs/person" } }, $defs: { person } },
      "/a/ssn",
      { properties: { a: { allOf: [freedPerson] }, b: { $ref: "#/$defs/person" } }, $defs: { person } },
    ],
    [
      "takes one of several for any of them",
      { properties: { a: { oneOf: [person, { type: "null" }] } } },
      "/a/ssn",
      { properties: { a: { allOf: [{ anyOf: [freedPerson, { type: "null" }] }] } } },
    ],
    [
      "says nothing of the whole on the way",
      { ...person, minProperties: 2, unevaluatedProperties: false, not: { required: ["x"] }, default: { ssn: "1" } },
      "/ssn",
      freedPerson,
    ],
    [
      "does not ask that elements differ once they are less",
      { properties: { l: { type: "array", items: person, uniqueItems: true } } },
      "/l/*/ssn",
      { properties: { l: { type: "array", items: freedPerson } } },
    ],
    ["stays as it is elsewhere", { properties: { a: person } }, "/b/ssn", { properties: { a: person } }],
    [
      "counts no elements of a list that loses some",
      { properties: { l: { type: "array", items: text, minItems: 2 } } },
      "/l/*",
      { properties: { l: { type: "array" } } },
    ],
    [
      "is any object where it refers to itself",
      { properties: { child: { $ref: "#" }, ssn: text } },
      "/child/ssn",
      anything,
    ],
    ["is any object where it is too large to follow", deepUnion(12), `${"/a".repeat(12)}/ssn`, anything],
  ])("%s", (_law, schema, pointer, expected) => {
    expect(withoutFields(schema, [pointer])).toEqual(expected);
  });
});

/** Each level refers to the next three times over. */
function deepUnion(levels: number): JsonObject {
  const next = (at: number): Json => ({ $ref: `#/$defs/d${at + 1}` });
  const unionAt = (at: number): JsonObject => ({ properties: { a: { anyOf: [next(at), next(at), next(at)] } } });
  const $defs: JsonObject = { [`d${levels}`]: person };
  for (let at = 0; at < levels; at += 1) $defs[`d${at}`] = unionAt(at);
  return { ...unionAt(0), $defs };
}

const names = fc.constantFrom("a", "b", "ssn");
const leaf = fc.constantFrom<Json>({}, text, { type: "integer" }, { const: "x" }, true);
const segment = fc.constantFrom("a", "b", "ssn", "*", "0", "1");
const pointers = fc.array(
  fc.array(segment, { minLength: 1, maxLength: 3 }).map((list) => `/${list.join("/")}`),
  { minLength: 1, maxLength: 2 },
);

function some(keywords: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<JsonObject> {
  return fc
    .uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 4 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((keyword) => [keyword, keywords[keyword]!]))));
}

function schemaOver(inner: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> {
  const several = fc.array(inner, { minLength: 1, maxLength: 2 });
  const count = fc.integer({ min: 0, max: 3 });
  // Not both: where `prefixItems` finds no element, ajv 8 does not look for what `contains` asks for.
  const lists = [{ prefixItems: several }, { contains: inner, maxContains: fc.integer({ min: 1, max: 2 }) }];
  const common = {
    properties: fc.dictionary(names, inner, { maxKeys: 3 }),
    required: fc.uniqueArray(names, { maxLength: 2 }),
    additionalProperties: fc.oneof(fc.constant<Json>(false), inner),
    minProperties: count,
    maxProperties: count,
    dependentRequired: fc.dictionary(names, fc.uniqueArray(names, { maxLength: 1 }), { maxKeys: 1 }),
    propertyNames: fc.constant<Json>({ enum: ["a", "b", "ssn"] }),
    items: inner,
    minItems: count,
    uniqueItems: fc.constant<Json>(true),
    allOf: several,
    anyOf: several,
    oneOf: several,
    not: inner,
    if: inner,
    then: inner,
    else: inner,
    $ref: fc.constantFrom("#/$defs/x", "#/$defs/y"),
  };
  return fc.oneof(...lists.map((list) => some({ ...common, ...list })));
}

const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<Json>("x", "y", 1, null),
    fc.dictionary(fc.constantFrom("a", "b", "ssn", "0"), tie("value"), { maxKeys: 3 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
}));
const inner = fc.oneof(leaf, schemaOver(leaf));
const schema = fc
  .record({ top: schemaOver(fc.oneof(inner, schemaOver(inner))), x: inner, y: schemaOver(leaf) })
  .map(({ top, x, y }): JsonObject => ({ ...top, $defs: { x: withoutReferences(x), y: withoutReferences(y) } }));

/** So that no definition refers to itself. */
function withoutReferences(of: Json): Json {
  if (Array.isArray(of)) return of.map(withoutReferences);
  if (!isJsonObject(of)) return of;
  return Object.fromEntries(
    Object.entries(of)
      .filter(([key]) => key !== "$ref")
      .map(([key, member]) => [key, withoutReferences(member)]),
  );
}

/** Whether a schema names a key of the object it is about, by itself or by what applies in its place. */
function isNamed(of: Json | undefined, key: string, root: JsonObject): boolean {
  if (!isJsonObject(of)) return false;
  const parts = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => (of[keyword] ?? []) as Json[]);
  const reference = of["$ref"];
  const target =
    typeof reference === "string" ? (root["$defs"] as JsonObject)[reference.slice("#/$defs/".length)] : undefined;
  const own =
    Object.hasOwn((of["properties"] ?? {}) as object, key) || ((of["required"] ?? []) as Json[]).includes(key);
  return (
    own || [...parts, target, of["not"], of["if"], of["then"], of["else"]].some((part) => isNamed(part, key, root))
  );
}

describe("any output schema without removed fields", () => {
  const checkers = createCheckers({ validatorsMax: 10 });
  const fits = (judge: JsonObject, result: Json): boolean => {
    const checker = checkers.for(JSON.stringify(judge), judge);
    if (!checker.usable) throw new Error(JSON.stringify([judge, checker.refusal]));
    return checker.check(result).length === 0;
  };

  it("names no field that is removed at its top", () => {
    fc.assert(
      fc.property(schema, (whole) => {
        const freed = withoutFields({ type: "object", ...whole }, ["/ssn"]);
        expect(isNamed(freed, "ssn", freed)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  it("accepts every result that it accepted, once the fields are removed", () => {
    let met = 0;
    fc.assert(
      fc.property(schema, fc.array(value, { minLength: 3, maxLength: 6 }), pointers, (whole, results, fields) => {
        const freed = withoutFields({ type: ["object", "array", "string", "number", "null"], ...whole }, fields);
        for (const result of results) {
          if (!fits(whole, result)) continue;
          const removed = removeFields(result, fields);
          if (removed.met.size > 0) met += 1;
          expect(fits(freed, removed.value)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
    expect(met).toBeGreaterThan(200);
  });
});
