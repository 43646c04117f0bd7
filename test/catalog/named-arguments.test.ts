import { describe, expect, it } from "vitest";
import { namedArguments } from "../../src/catalog/named-arguments.ts";
import type { JsonObject } from "../../src/model/json.ts";

const b = { properties: { b: {} } };
const named = (schema: JsonObject): unknown => {
  const found = namedArguments({ properties: { a: {} }, ...schema });
  return found && [[...found.names].sort(), [...found.patterns]];
};

describe("the arguments that a schema names", () => {
  it.each<[string, JsonObject]>([
    ["allOf", { allOf: [b] }],
    ["anyOf", { anyOf: [{}, { oneOf: [b] }] }],
    ["not", { not: b }],
    ["if", { if: b }],
    ["then", { if: {}, then: b }],
    ["else", { if: {}, else: b }],
    ["required", { required: ["b"] }],
    ["dependentRequired", { dependentRequired: { a: ["b"] } }],
    ["a name that dependentRequired asks for", { dependentRequired: { b: [] } }],
    ["dependentSchemas", { dependentSchemas: { a: b } }],
    ["a name of dependentSchemas", { dependentSchemas: { b: true } }],
    ["dependencies by schema", { dependencies: { a: b } }],
    ["dependencies by names", { dependencies: { a: ["b"] } }],
    ["a pointer", { $ref: "#/$defs/q", $defs: { q: b } }],
    ["an anchor", { $ref: "#q", $defs: { q: { $anchor: "q", ...b } } }],
    ["a dynamic anchor", { $dynamicRef: "#q", $defs: { q: { $dynamicAnchor: "q", ...b } } }],
    ["an identifier of draft-07", { allOf: [{ $ref: "#q" }], definitions: { q: { $id: "#q", ...b } } }],
    ["what refers to itself", { allOf: [{ $ref: "#" }, { $recursiveRef: "#" }, b] }],
  ])("are those of %s too", (_where, schema) => {
    expect(named(schema)).toEqual([["a", "b"], []]);
  });

  it("are not those of an argument's own value, nor of definitions that nothing refers to", () => {
    expect(named({ properties: { a: b }, $defs: { b } })).toEqual([["a"], []]);
  });

  it("are those that fit a pattern in whatever part", () => {
    expect(named({ patternProperties: { "^x": {} }, anyOf: [{ patternProperties: { "^y": {} } }] })).toEqual([
      ["a"],
      ["^x", "^y"],
    ]);
  });

  it.each(["#/$defs/none", "#none", "https://schemas.example/q", "q"])("cannot be told of %s", ($ref) => {
    expect(named({ anyOf: [{ $ref }] })).toBe(undefined);
  });
});
