import type { Json } from "../../src/model/json.ts";

/** A tool's schema as servers write it, with values that it takes and values that it does not. */
export interface Golden {
  readonly name: string;
  readonly schema: Json;
  readonly good: readonly Json[];
  readonly bad: readonly Json[];
}

const text = { type: "string" };
const draft07 = "http://json-schema.org/draft-07/schema#";

/** Schemas that mean the same in every dialect. */
export const portable: readonly Golden[] = [
  { name: "no parameters", schema: { type: "object" }, good: [{}, { a: 1 }], bad: [[], null, "x"] },
  { name: "anything", schema: {}, good: [{}, 1, null], bad: [] },
  { name: "closed and empty", schema: { type: "object", additionalProperties: false }, good: [{}], bad: [{ a: 1 }] },
  {
    name: "read a file",
    schema: { type: "object", properties: { path: text, head: { type: "number" } }, required: ["path"] },
    good: [{ path: "a" }, { path: "a", head: 1.5 }],
    bad: [{}, { path: 1 }, { path: "a", head: "1" }],
  },
  {
    name: "create an issue",
    schema: {
      type: "object",
      properties: {
        title: { type: "string", minLength: 1, maxLength: 3 },
        labels: { type: "array", items: text, maxItems: 2, uniqueItems: true },
        state: { enum: ["open", "closed"] },
      },
      required: ["title"],
      additionalProperties: false,
    },
    good: [{ title: "abc", labels: ["a", "b"], state: "open" }, { title: "😀😀😀" }],
    bad: [
      { title: "" },
      { title: "abcd" },
      { title: "a", labels: ["a", "a"] },
      { title: "a", state: "Open" },
      { title: "a", x: 1 },
    ],
  },
  {
    name: "nullable text",
    schema: { properties: { a: { type: ["string", "null"] } } },
    good: [{ a: null }, { a: "" }],
    bad: [{ a: 0 }],
  },
  {
    name: "nullable by union",
    schema: { properties: { a: { anyOf: [text, { type: "null" }] } } },
    good: [{ a: null }],
    bad: [{ a: 0 }],
  },
  {
    name: "page size",
    schema: { type: "integer", minimum: 1, maximum: 100 },
    good: [1, 100],
    bad: [0, 101, 1.5, "1", true],
  },
  { name: "open interval", schema: { exclusiveMinimum: 0, exclusiveMaximum: 1 }, good: [0.5, "x"], bad: [0, 1] },
  { name: "price", schema: { type: "number", multipleOf: 0.01 }, good: [19.99, 0, -1.1], bad: [19.999] },
  {
    name: "slug",
    schema: { type: "string", pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" },
    good: ["a-b", "a"],
    bad: ["-a", "a-", "A", "a\n"],
  },
  {
    name: "two patterns are two patterns",
    schema: { properties: { a: { pattern: "^a$" }, b: { pattern: "^b$" } } },
    good: [{ a: "a", b: "b" }],
    bad: [{ a: "b" }, { b: "a" }],
  },
  { name: "blank-free", schema: { pattern: "^\\S+$" }, good: ["a\u200b"], bad: ["a\u00a0b", "a b", "\ufeff"] },
  {
    name: "letters of any script",
    schema: { pattern: "^\\p{L}[\\p{L}\\p{M}\\s'-]{0,9}$" },
    good: ["Łukasz", "D'Arc"],
    bad: ["1a"],
  },
  {
    name: "nested quantifiers",
    schema: { pattern: "^(a+)+$" },
    good: ["aaa"],
    bad: ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"],
  },
  {
    name: "prototype names required",
    schema: { required: ["toString", "constructor"] },
    good: [{ toString: 1, constructor: 1 }],
    bad: [{}, { toString: 1 }],
  },
  {
    name: "prototype names typed",
    schema: { properties: { constructor: text, valueOf: text } },
    good: [{}, { constructor: "Ferrari" }],
    bad: [{ constructor: 1 }],
  },
  {
    name: "labels",
    schema: { patternProperties: { "^x-": text }, additionalProperties: false },
    good: [{ "x-a": "b" }],
    bad: [{ "x-a": 1 }, { y: "b" }],
  },
  {
    name: "map of numbers",
    schema: { type: "object", additionalProperties: { type: "number" } },
    good: [{ a: 1 }],
    bad: [{ a: "1" }],
  },
  {
    name: "key names",
    schema: { propertyNames: { pattern: "^[a-z]+$" }, minProperties: 1, maxProperties: 2 },
    good: [{ a: 1 }],
    bad: [{}, { A: 1 }, { a: 1, b: 1, c: 1 }],
  },
  { name: "key names by enum", schema: { propertyNames: { enum: ["a", "b"] } }, good: [{ a: 1 }], bad: [{ c: 1 }] },
  {
    name: "either id or name",
    schema: { type: "object", oneOf: [{ required: ["id"] }, { required: ["name"] }] },
    good: [{ id: 1 }, { name: 1 }],
    bad: [{}, { id: 1, name: 1 }],
  },
  {
    name: "all of",
    schema: { allOf: [{ required: ["a"] }, { properties: { a: text } }] },
    good: [{ a: "" }],
    bad: [{}, { a: 1 }],
  },
  { name: "not", schema: { not: { required: ["password"] } }, good: [{}], bad: [{ password: "" }] },
  {
    name: "constant",
    schema: { properties: { kind: { const: "sms" }, deep: { const: { a: [1, { b: null }] } } } },
    good: [{ kind: "sms", deep: { a: [1, { b: null }] } }],
    bad: [{ kind: "SMS" }, { deep: { a: [1, {}] } }],
  },
  {
    name: "enum of mixed types",
    schema: { enum: [1, "1", null, [1], { a: 1 }] },
    good: [1, "1", null, [1], { a: 1 }],
    bad: [true, [2], { a: 2 }, "null"],
  },
  { name: "contains", schema: { contains: { const: "admin" } }, good: [["x", "admin"]], bad: [["x"], []] },
  {
    name: "unique objects",
    schema: { uniqueItems: true },
    good: [
      [{ a: 1 }, { a: 2 }],
      [1, "1", true],
    ],
    bad: [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      [1, 1],
    ],
  },
  {
    name: "pointer into properties",
    schema: {
      properties: { a: { type: "integer" }, "b/c": { $ref: "#/properties/a" }, d: { $ref: "#/properties/b~1c" } },
    },
    good: [{ d: 1 }],
    bad: [{ d: "1" }, { "b/c": "1" }],
  },
  {
    name: "definitions by either name",
    schema: { definitions: { a: text }, properties: { x: { $ref: "#/definitions/a" } } },
    good: [{ x: "" }],
    bad: [{ x: 1 }],
  },
  {
    name: "tree",
    schema: {
      $defs: { n: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/n" } } } } },
      properties: { root: { $ref: "#/$defs/n" } },
    },
    good: [{ root: { kids: [{ kids: [] }] } }],
    bad: [{ root: { kids: [{ kids: [1] }] } }],
  },
  {
    name: "root recursion",
    schema: { type: "object", properties: { next: { $ref: "#" } } },
    good: [{ next: { next: {} } }],
    bad: [{ next: { next: 1 } }],
  },
  {
    name: "unknown keywords",
    schema: { type: "string", nullable: true, "x-mcp-header": "Region", discriminator: { propertyName: 1 }, $data: 1 },
    good: ["a"],
    bad: [null],
  },
  { name: "format is not asserted", schema: { type: "string", format: "email" }, good: ["not an address"], bad: [1] },
  {
    name: "defaults are not filled in",
    schema: { type: "object", properties: { a: { default: 1 } }, required: ["a"] },
    good: [{ a: 2 }],
    bad: [{}],
  },
  {
    name: "numeric text is no number",
    schema: { properties: { n: { type: "number" }, b: { type: "boolean" } } },
    good: [{ n: 1, b: true }],
    bad: [{ n: "1e400" }, { b: "true" }, { b: 0 }],
  },
  { name: "false property", schema: { properties: { old: false } }, good: [{}], bad: [{ old: 1 }] },
  {
    name: "weather result",
    schema: {
      type: "object",
      properties: { temperature: { type: "number" }, conditions: text },
      required: ["temperature", "conditions"],
    },
    good: [{ temperature: 22.5, conditions: "x", extra: 1 }],
    bad: [{ temperature: 22.5 }],
  },
  {
    name: "list result",
    schema: {
      type: "object",
      properties: { items: { type: "array", items: { type: "object", required: ["id"] } } },
      required: ["items"],
    },
    good: [{ items: [{ id: 1 }] }],
    bad: [{ items: [{}] }, {}],
  },
  {
    name: "non-Latin names",
    schema: { properties: { 都市: text }, required: ["都市"] },
    good: [{ 都市: "東京" }],
    bad: [{}, { 都市: 1 }],
  },
];

/** Schemas whose meaning depends on the dialect. */
export const dialectal: readonly Golden[] = [
  {
    name: "2020-12 tuple",
    schema: { prefixItems: [text, { type: "number" }], items: false },
    good: [["a", 1]],
    bad: [[1], ["a", 1, 2]],
  },
  {
    name: "draft-07 tuple",
    schema: { $schema: draft07, items: [text], additionalItems: false },
    good: [["a"]],
    bad: [[1], ["a", "b"]],
  },
  {
    name: "undeclared draft-07 tuple",
    schema: { items: [text], additionalItems: false },
    good: [["a"]],
    bad: [[1], ["a", "b"]],
  },
  {
    name: "2019-09 tuple",
    schema: {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      items: [text],
      additionalItems: { type: "number" },
    },
    good: [["a", 1]],
    bad: [["a", "b"]],
  },
  {
    name: "prefixItems in draft-07 says nothing",
    schema: { $schema: draft07, prefixItems: [text] },
    good: [[1]],
    bad: [],
  },
  {
    name: "siblings of $ref count in 2020-12",
    schema: { $defs: { a: text }, properties: { x: { $ref: "#/$defs/a", maxLength: 1 } } },
    good: [{ x: "a" }],
    bad: [{ x: "ab" }],
  },
  {
    name: "siblings of $ref do not in draft-07",
    schema: {
      $schema: draft07,
      definitions: { a: text },
      properties: { x: { $ref: "#/definitions/a", maxLength: 1 } },
    },
    good: [{ x: "ab" }],
    bad: [{ x: 1 }],
  },
  {
    name: "generator's draft-07 wrapper",
    schema: {
      $schema: draft07,
      $ref: "#/definitions/Tool",
      definitions: { Tool: { type: "object", required: ["a"] } },
    },
    good: [{ a: 1 }],
    bad: [{}],
  },
  {
    name: "dependencies in draft-07",
    schema: { $schema: draft07, dependencies: { card: ["address"], a: { required: ["b"] } } },
    good: [{ card: 1, address: 1 }, {}],
    bad: [{ card: 1 }, { a: 1 }],
  },
  {
    name: "dependentRequired in 2020-12",
    schema: { dependentRequired: { card: ["address"] } },
    good: [{ card: 1, address: 1 }],
    bad: [{ card: 1 }],
  },
  {
    name: "dependentSchemas in 2019-09",
    schema: { $schema: "https://json-schema.org/draft/2019-09/schema#", dependentSchemas: { a: { required: ["b"] } } },
    good: [{ a: 1, b: 1 }],
    bad: [{ a: 1 }],
  },
  {
    name: "condition",
    schema: { if: { properties: { a: { const: 1 } } }, then: { required: ["b"] }, else: { required: ["c"] } },
    good: [
      { a: 1, b: 1 },
      { a: 2, c: 1 },
    ],
    bad: [{ a: 1 }, { a: 2 }],
  },
  {
    name: "draft-06 has no conditions",
    schema: { $schema: "http://json-schema.org/draft-06/schema#", if: {}, then: false, required: ["a"] },
    good: [{ a: 1 }],
    bad: [{}],
  },
  {
    name: "unevaluated properties",
    schema: { allOf: [{ properties: { a: text } }], unevaluatedProperties: false },
    good: [{ a: "" }],
    bad: [{ b: 1 }],
  },
  { name: "unevaluated items", schema: { prefixItems: [true], unevaluatedItems: false }, good: [[1]], bad: [[1, 2]] },
  {
    name: "minContains",
    schema: { contains: { type: "string" }, minContains: 2, maxContains: 2 },
    good: [["a", "b", 1]],
    bad: [["a"], ["a", "b", "c"]],
  },
  {
    name: "anchor",
    schema: { $defs: { a: { $anchor: "text", type: "string" } }, properties: { x: { $ref: "#text" } } },
    good: [{ x: "" }],
    bad: [{ x: 1 }],
  },
  {
    name: "dynamic recursion",
    schema: { $dynamicAnchor: "node", type: "object", properties: { next: { $dynamicRef: "#node" } } },
    good: [{ next: {} }],
    bad: [{ next: 1 }],
  },
  {
    name: "2019-09 recursion",
    schema: {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      type: "object",
      properties: { next: { $recursiveRef: "#" } },
    },
    good: [{ next: {} }],
    bad: [{ next: 1 }],
  },
  {
    name: "draft-07 named id",
    schema: {
      $schema: draft07,
      definitions: { a: { $id: "#text", type: "string" } },
      properties: { x: { $ref: "#text" } },
    },
    good: [{ x: "" }],
    bad: [{ x: 1 }],
  },
];
