import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareDefinitions } from "../../../src/catalog/lock/compare-definitions.ts";
import type { LockedKind } from "../../../src/catalog/lock/document.ts";
import { lockDigest } from "../../../src/catalog/lock/lock-digest.ts";
import type { Json, JsonObject } from "../../../src/model/json.ts";
import { parseJsonText } from "../../../src/protocol/json/parse.ts";

/** What is said of two schemas of a tool. */
function toldOf(before: JsonObject, after: JsonObject): string[] {
  const tool = (inputSchema: JsonObject): JsonObject => ({ name: "t", inputSchema });
  return compareDefinitions("tool", tool(before), tool(after)).map(
    ({ at, what, effect }) => `${at} ${what}${effect === undefined ? "" : ` (${effect})`}`,
  );
}

const props = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });
const s = { type: "string" };

describe("what differs between two schemas", () => {
  it.each<[JsonObject, JsonObject, string[]]>([
    [props({}), props({ a: s }), ["/inputSchema/properties/a optional parameter added (widened)"]],
    [
      props({}),
      props({ a: s }, { required: ["a"] }),
      ["/inputSchema/properties/a required parameter added (narrowed)"],
    ],
    [props({ a: s }), props({}), ["/inputSchema/properties/a parameter removed (narrowed)"]],
    [props({ a: s }, { required: ["a"] }), props({}), ["/inputSchema/properties/a parameter removed (narrowed)"]],
    [
      props({ a: s }),
      props({ a: s }, { required: ["a"] }),
      ['/inputSchema/required parameter "a" made required (narrowed)'],
    ],
    [
      props({ a: s }, { required: ["a"] }),
      props({ a: s }),
      ['/inputSchema/required parameter "a" made optional (widened)'],
    ],
    [
      props({ a: s, b: s }, { required: ["a", "b"] }),
      props({ a: s, b: s }, { required: ["b", "a"] }),
      ["/inputSchema/required required changed"],
    ],
    [props({ a: s }), props({ a: { type: "integer" } }), ["/inputSchema/properties/a/type type changed"]],
    [
      props({ a: s }),
      props({ a: { type: ["string", "null"] } }),
      ["/inputSchema/properties/a/type type changed (widened)"],
    ],
    [
      props({ a: { enum: ["x", "y"] } }),
      props({ a: { enum: ["x"] } }),
      ["/inputSchema/properties/a/enum enum changed (narrowed)"],
    ],
    [
      props({ a: { enum: ["x"] } }),
      props({ a: { enum: ["x", "y"] } }),
      ["/inputSchema/properties/a/enum enum changed (widened)"],
    ],
    [props({ a: { enum: ["x"] } }), props({ a: { enum: ["y"] } }), ["/inputSchema/properties/a/enum enum changed"]],
    [props({ a: {} }), props({ a: { default: 1 } }), ["/inputSchema/properties/a/default default added"]],
    [
      props({ a: { description: "x" } }),
      props({ a: { description: "y" } }),
      ["/inputSchema/properties/a/description description changed"],
    ],
    [
      props({ a: { maximum: 1 } }),
      props({ a: { maximum: 2 } }),
      ["/inputSchema/properties/a/maximum maximum changed (widened)"],
    ],
    [
      props({ a: { minLength: 1 } }),
      props({ a: { minLength: 2 } }),
      ["/inputSchema/properties/a/minLength minLength changed (narrowed)"],
    ],
    [props({ a: {} }), props({ a: { maxItems: 2 } }), ["/inputSchema/properties/a/maxItems maxItems added (narrowed)"]],
    [props({ a: { pattern: "x" } }), props({ a: {} }), ["/inputSchema/properties/a/pattern pattern removed (widened)"]],
    [
      props({}),
      props({}, { additionalProperties: false }),
      ["/inputSchema/additionalProperties additionalProperties added (narrowed)"],
    ],
    [
      props({}, { additionalProperties: false }),
      props({}, { additionalProperties: s }),
      ["/inputSchema/additionalProperties additionalProperties changed (widened)"],
    ],
    [
      props({ a: { type: "array", items: props({ b: s }) } }),
      props({ a: { type: "array", items: props({ b: s, c: s }) } }),
      ["/inputSchema/properties/a/items/properties/c optional parameter added (widened)"],
    ],
    [
      props({}, { $defs: { x: s } }),
      props({}, { $defs: { x: { type: "integer" } } }),
      ["/inputSchema/$defs/x/type type changed"],
    ],
    [props({}, { anyOf: [s] }), props({}, { anyOf: [s, {}] }), ["/inputSchema/anyOf anyOf changed"]],
    [props({ "a/b~": s }), props({}), ["/inputSchema/properties/a~1b~0 parameter removed (narrowed)"]],
    [{ type: "object", properties: 5 }, props({}), ["/inputSchema/properties properties changed"]],
    [props({}, { $defs: 5 }), props({}, { $defs: {} }), ["/inputSchema/$defs $defs changed"]],
  ])("%j and %j: %j", (before, after, told) => {
    expect(toldOf(before, after)).toEqual(told);
  });
});

describe("what differs between two definitions", () => {
  it.each<[LockedKind, JsonObject, JsonObject, string[]]>([
    ["tool", { description: "a" }, { description: "b" }, ["/description description changed"]],
    ["tool", { annotations: { x: 1 } }, { annotations: { x: 2 } }, ["/annotations/x annotation changed"]],
    ["tool", {}, { icons: [] }, ["/icons icons added"]],
    ["tool", { _meta: { a: { b: 1 } } }, { _meta: { a: { b: 2 } } }, ["/_meta/a/b _meta changed"]],
    ["prompt", { arguments: [] }, { arguments: [{ name: "a" }] }, ["/arguments/a argument added"]],
    ["prompt", { arguments: [{ name: "a" }] }, { arguments: [] }, ["/arguments/a argument removed"]],
    [
      "prompt",
      { arguments: [{ name: "a" }, { name: "b" }] },
      { arguments: [{ name: "b" }, { name: "a" }] },
      ["/arguments order of arguments changed"],
    ],
    [
      "prompt",
      { arguments: [{ name: "a", required: false }] },
      { arguments: [{ name: "a", required: true }] },
      ["/arguments/a/required argument changed"],
    ],
    ["template", { mimeType: "a" }, {}, ["/mimeType mimeType removed"]],
  ])("of a %s, %j and %j: %j", (kind, before, after, told) => {
    expect(compareDefinitions(kind, before, after).map(({ at, what }) => `${at} ${what}`)).toEqual(told);
  });

  it("shows what hides in them, of both sides", () => {
    const [told] = compareDefinitions("tool", { title: "a b" }, { title: "a\u00a0b\u200b\u{e0041}" });
    expect([told?.before, told?.after]).toEqual(['"a b"', '"a\\u{a0}b\\u{200b}\\u{e0041}"']);
  });

  it("is something whenever their digests differ, and nothing when they do not", () => {
    const keyword = fc.constantFrom(
      ...["type", "properties", "required", "enum", "items", "$defs", "additionalProperties", "not", "maximum", "x"],
    );
    const value = fc.jsonValue({ maxDepth: 3 }).map((json) => parsedOf(json));
    const schema = fc.dictionary(keyword, fc.oneof(value, fc.dictionary(keyword, value)), { maxKeys: 4 });
    const member = fc.constantFrom("title", "inputSchema", "outputSchema", "annotations", "_meta", "arguments");
    const definition = fc.dictionary(member, fc.oneof(schema, value), { maxKeys: 4 });
    const kind = fc.constantFrom<LockedKind>("tool", "prompt", "template");
    fc.assert(
      fc.property(kind, definition, definition, (of, before, after) => {
        const [one, other] = [before as JsonObject, after as JsonObject];
        expect(compareDefinitions(of, one, other).length > 0).toBe(lockDigest(one) !== lockDigest(other));
        expect(compareDefinitions(of, one, one)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});

function parsedOf(value: unknown): Json {
  const parsed = parseJsonText(JSON.stringify(value));
  return parsed.ok ? parsed.value : null;
}
