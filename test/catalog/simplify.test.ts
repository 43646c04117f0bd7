import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { simplifySchema } from "../../src/catalog/simplify.ts";
import { withInput } from "../../src/catalog/table.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { partOf, tableOf, toolOf } from "./parts.ts";

const oracle = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false, logger: false });

/**
 * Whether a value fits, by another reading of JSON Schema than the gateway's own. A schema that refers to itself without
 * an end is none to it, and accepts nothing.
 */
function acceptance(schema: JsonObject): (value: Json) => boolean {
  try {
    const validate = oracle.compile(schema);
    return (value) => {
      try {
        return validate(value);
      } catch {
        return false;
      }
    };
  } catch {
    return () => false;
  } finally {
    oracle.removeSchema(schema);
  }
}

const composed = ["oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"];

function expectFlat(shown: JsonObject): void {
  for (const keyword of composed) expect(shown).not.toHaveProperty([keyword]);
  expect(shown["type"]).toBe("object");
  expect(shown["properties"]).toBeTypeOf("object");
}

const text = { type: "string" };
const number = { type: "number" };

interface Shape {
  readonly called: string;
  readonly schema: JsonObject;
  readonly shown: JsonObject;
}

/** Shapes that tools in use have at the top of their input. */
const shapes: readonly Shape[] = [
  { called: "nothing at all", schema: {}, shown: { type: "object", properties: {} } },
  {
    called: "no type",
    schema: { properties: { a: text } },
    shown: { type: "object", properties: { a: text } },
  },
  {
    called: "a list of types",
    schema: { type: ["object", "null"], properties: { a: text }, required: ["a"] },
    shown: { type: "object", properties: { a: text }, required: ["a"] },
  },
  {
    called: "two ways to name a thing",
    schema: {
      type: "object",
      properties: { id: text, name: text },
      oneOf: [{ required: ["id"] }, { required: ["name"] }],
    },
    shown: { type: "object", properties: { id: text, name: text } },
  },
  {
    called: "commands told apart by a constant",
    schema: {
      type: "object",
      oneOf: [
        {
          properties: { do: { const: "add" }, item: text },
          required: ["do", "item"],
          additionalProperties: false,
        },
        { properties: { do: { const: "clear" } }, required: ["do"], additionalProperties: false },
      ],
    },
    shown: {
      type: "object",
      properties: { do: { anyOf: [{ const: "add" }, { const: "clear" }] }, item: text },
      required: ["do"],
      additionalProperties: false,
    },
  },
  {
    called: "open branches, each with a property of its own",
    schema: { anyOf: [{ properties: { a: text }, required: ["a"] }, { properties: { b: number } }] },
    shown: { type: "object", properties: { a: { anyOf: [text, {}] }, b: { anyOf: [{}, number] } } },
  },
  {
    called: "a closed branch beside an open one",
    schema: { anyOf: [{ properties: { a: text }, additionalProperties: false }, { required: ["b"] }] },
    shown: { type: "object", properties: { a: { anyOf: [text, {}] } } },
  },
  {
    called: "a base and an extension",
    schema: {
      allOf: [
        { properties: { a: text }, required: ["a"] },
        { properties: { b: number }, required: ["b"] },
      ],
    },
    shown: { type: "object", properties: { a: text, b: number }, required: ["a", "b"] },
  },
  {
    called: "an extension that narrows",
    schema: { properties: { a: { ...text, description: "A." } }, allOf: [{ properties: { a: { minLength: 2 } } }] },
    shown: { type: "object", properties: { a: { ...text, description: "A.", allOf: [{ minLength: 2 }] } } },
  },
  {
    called: "a reference to a definition",
    schema: { $ref: "#/$defs/Input", $defs: { Input: { type: "object", properties: { a: text }, required: ["a"] } } },
    shown: {
      type: "object",
      $defs: { Input: { type: "object", properties: { a: text }, required: ["a"] } },
      properties: { a: text },
      required: ["a"],
    },
  },
  {
    called: "a definition of an older draft, used again below",
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      allOf: [{ $ref: "#/definitions/Base" }],
      definitions: { Base: { properties: { a: { $ref: "#/definitions/Id" } } }, Id: text },
    },
    shown: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      definitions: { Base: { properties: { a: { $ref: "#/definitions/Id" } } }, Id: text },
      properties: { a: { $ref: "#/definitions/Id" } },
    },
  },
  {
    called: "an object or nothing",
    schema: { anyOf: [{ type: "object", properties: { a: text }, required: ["a"] }, { type: "null" }] },
    shown: { type: "object", properties: { a: text }, required: ["a"] },
  },
  {
    called: "a condition",
    schema: {
      properties: { kind: text },
      if: { properties: { kind: { const: "x" } } },
      then: { properties: { a: text }, required: ["a"] },
    },
    shown: { type: "object", properties: { kind: text, a: { anyOf: [text, {}] } } },
  },
  {
    called: "an exclusion",
    schema: { properties: { a: text, b: text }, required: ["a"], not: { required: ["a", "b"] } },
    shown: { type: "object", properties: { a: text, b: text }, required: ["a"] },
  },
  {
    called: "whole calls written out",
    schema: { description: "Either.", enum: [{ a: 1 }, { b: 2 }] },
    shown: { description: "Either.", type: "object", properties: {} },
  },
  {
    called: "a schema that is made of itself",
    schema: { properties: { a: text, child: { $ref: "#" } }, allOf: [{ $ref: "#" }] },
    shown: { type: "object", properties: { a: text, child: {} } },
  },
  {
    called: "nothing that fits",
    schema: { anyOf: [false, { type: "string" }] },
    shown: { type: "object", properties: {} },
  },
  {
    called: "names by pattern beside closed branches",
    schema: {
      oneOf: [{ properties: { a: text }, additionalProperties: false, patternProperties: { "^x-": text } }],
    },
    shown: { type: "object", properties: { a: text } },
  },
];

describe("an input schema with composition at its top", () => {
  it.each(shapes)("that is $called is shown flat", ({ schema, shown }) => {
    expect(simplifySchema(schema)).toEqual(shown);
    expectFlat(simplifySchema(schema));
  });

  it("that is flat already stays as it is, below its top too", () => {
    const schema = { type: "object", properties: { a: { oneOf: [text, number] } }, additionalProperties: false };
    expect(simplifySchema(schema)).toEqual(schema);
  });

  it("keeps where a property says that it is mirrored into a header", () => {
    const region = { type: "string", "x-mcp-header": "Region" };
    const shown = simplifySchema({ properties: { region }, anyOf: [{ properties: { region: { minLength: 1 } } }] });
    expect(shown["properties"]).toMatchObject({ region });
  });

  it("says nothing of what a reference leads to that does not stay", () => {
    const schema = {
      allOf: [{ properties: { a: { $ref: "#/allOf/0/properties/b" }, b: text } }],
      $defs: { c: { $ref: "#/allOf/0" } },
    };
    expect(simplifySchema(schema)).toEqual({ type: "object", properties: { a: {}, b: text } });
  });

  it("ends with less to say where branches refer to each other without end", () => {
    const $defs: Record<string, Json> = { last: { properties: { deep: text } } };
    for (let at = 0; at < 40; at += 1) {
      const next = { $ref: `#/$defs/${at === 0 ? "last" : `l${at - 1}`}` };
      $defs[`l${at}`] = { allOf: [next, next, { anyOf: [next, next] }] };
    }
    expect(simplifySchema({ $ref: "#/$defs/l39", $defs })["properties"]).toEqual({ deep: text });
  });
});

const names = fc.constantFrom("a", "b", "c");
const leaf = fc.constantFrom<JsonObject>(
  {},
  { type: "string" },
  { type: "integer" },
  { const: 1 },
  { enum: ["x", 1] },
  { $ref: "#/$defs/d" },
);

const { schema: schemas } = fc.letrec<{ schema: JsonObject; branches: Json[] }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    own(fc.constant({})),
    own(fc.record({ allOf: tie("branches") })),
    own(fc.record({ anyOf: tie("branches") })),
    own(fc.record({ oneOf: tie("branches") })),
    own(fc.record({ if: tie("schema"), then: tie("schema"), else: tie("schema") }, { requiredKeys: ["if"] })),
    own(fc.record({ not: tie("schema") })),
    fc.constantFrom<JsonObject>({ $ref: "#/$defs/d" }, { $ref: "#" }),
  ),
  branches: fc.array(fc.oneof({ weight: 8, arbitrary: tie("schema") }, fc.constantFrom<Json>(true, false)), {
    minLength: 1,
    maxLength: 3,
  }),
}));

/** An object schema's own keywords beside what it is composed of. Few at a time, or hardly any object would fit. */
function own(composition: fc.Arbitrary<object>): fc.Arbitrary<JsonObject> {
  const keywords = fc.record({
    type: seldom(fc.constantFrom<Json>("object", "object", "object", ["object", "null"], "string")),
    properties: fc.dictionary(names, leaf, { maxKeys: 2 }),
    required: seldom(fc.uniqueArray(names, { maxLength: 1 })),
    additionalProperties: seldom(fc.constantFrom<Json>(false, false, true, { type: "string" })),
    patternProperties: seldom(fc.constant({ "^c": { type: "string" } })),
    unevaluatedProperties: seldom(fc.constant(false)),
  });
  return fc.tuple(keywords, composition).map(([one, other]) => {
    const said = Object.entries({ ...one, ...other }).filter(([, value]) => value !== undefined);
    return Object.fromEntries(said) as JsonObject;
  });
}

function seldom<T>(keyword: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: keyword });
}

const values = fc.dictionary(names, fc.constantFrom<Json>("x", 1, 2, null), { maxKeys: 3 });

describe("whatever is composed of whatever", () => {
  it("is shown flat, and takes every object that the original takes", () => {
    let taken = 0;
    const definition = fc.constantFrom<JsonObject>({ type: "string" }, { properties: { a: { type: "integer" } } });
    fc.assert(
      fc.property(schemas, definition, fc.array(values, { minLength: 12, maxLength: 16 }), (schema, d, objects) => {
        const whole = { ...schema, $defs: { d } };
        const shown = simplifySchema(whole);
        expectFlat(shown);
        const [before, after] = [acceptance(whole), acceptance(shown)];
        const accepted = objects.filter(before);
        taken += accepted.length;
        expect(accepted.filter((value) => !after(value))).toEqual([]);
      }),
      { numRuns: 400 },
    );
    expect(taken).toBeGreaterThan(300);
  });
});

describe("a tool of a server that shows schemas flat", () => {
  const schema = {
    type: "object",
    oneOf: [{ required: ["a"] }, { required: ["b"] }],
    properties: { a: text, b: text },
  };
  const entryOf = (simplifies: boolean) =>
    tableOf([partOf("crm", { simplifies })], [toolOf("crm", "t", { inputSchema: schema })]).entries[0]!;

  it("is shown so, and its arguments are held to the original", () => {
    const entry = entryOf(true);
    expect(entry.shown["inputSchema"]).toEqual({ type: "object", properties: { a: text, b: text } });
    expect(entry.shownInput?.schema).toEqual(schema);
    expect(entry.ownInput).toEqual(schema);
  });

  it("is shown so after it has got another schema for somebody, which is what its arguments are held to then", () => {
    const other = { ...schema, properties: { a: text } };
    const entry = withInput(entryOf(true), other);
    expect(entry.shown["inputSchema"]).toEqual({ type: "object", properties: { a: text } });
    expect(entry.shownInput?.schema).toEqual(other);
  });

  it("is not, where nobody asked for it", () => {
    expect(entryOf(false).shown["inputSchema"]).toEqual(schema);
    expect(withInput(entryOf(false), schema).shown["inputSchema"]).toEqual(schema);
  });
});
