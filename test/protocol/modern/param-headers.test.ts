import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../../src/model/json.ts";
import type { Json, JsonObject } from "../../../src/model/json.ts";
import { checkParamHeaders, paramHeaderPlan, paramHeadersFor } from "../../../src/protocol/modern/param-headers.ts";
import type { ParamHeaderPlan } from "../../../src/protocol/modern/param-headers.ts";

function planOf(schema: JsonObject): ParamHeaderPlan {
  const plan = paramHeaderPlan(schema);
  if (!plan.ok) throw new Error(String(plan.refusal.facts["reason"]));
  return plan.value;
}

function property(header: Json, type: Json = "string"): JsonObject {
  return { type: "object", properties: { region: { type, "x-mcp-header": header } } };
}

describe("paramHeaderPlan", () => {
  it("is empty for a schema without annotations", () => {
    expect(planOf({ type: "object", properties: { a: { type: "string" } } })).toEqual({ headers: [] });
    expect(planOf({})).toEqual({ headers: [] });
  });

  it("finds annotations at any depth of properties", () => {
    const schema: JsonObject = {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        where: { type: "object", properties: { zone: { type: "integer", "x-mcp-header": "zone" } } },
        dry: { type: "boolean", "x-mcp-header": "Dry-Run" },
      },
    };
    expect(planOf(schema).headers).toEqual([
      { name: "Mcp-Param-Region", path: ["region"], type: "string" },
      { name: "Mcp-Param-zone", path: ["where", "zone"], type: "integer" },
      { name: "Mcp-Param-Dry-Run", path: ["dry"], type: "boolean" },
    ]);
  });

  it.each<[why: string, schema: JsonObject]>([
    ["a property of that name", { properties: { "x-mcp-header": { type: "string" } } }],
    ["a property named like a keyword", { properties: { items: { type: "string", "x-mcp-header": "Items" } } }],
    ["data in const", { const: { "x-mcp-header": "A" } }],
    ["data in enum", { properties: { a: { enum: [{ "x-mcp-header": "A" }] } } }],
    ["data in default", { default: { a: { "x-mcp-header": "A" } } }],
    ["data in examples", { examples: [{ "x-mcp-header": "A" }] }],
    ["a definition of that name", { $defs: { "x-mcp-header": { type: "string" } } }],
  ])("takes %s for no misplaced annotation", (_why, schema) => {
    expect(paramHeaderPlan(schema).ok).toBe(true);
  });

  const annotated = { type: "string", "x-mcp-header": "A" };
  it.each<[reason: string, schema: JsonObject]>([
    ["header-name-malformed", property("")],
    ["header-name-malformed", property("a b")],
    ["header-name-malformed", property("a\r\nB")],
    ["header-name-malformed", property("a:")],
    ["header-name-malformed", property("é")],
    ["header-name-malformed", property(7)],
    ["header-name-malformed", property(null)],
    ["header-type", property("A", "number")],
    ["header-type", property("A", "object")],
    ["header-type", property("A", ["string", "null"])],
    ["header-type", { properties: { a: { "x-mcp-header": "A" } } }],
    ["header-name-repeated", { properties: { a: annotated, b: { type: "string", "x-mcp-header": "a" } } }],
    ["header-not-reachable", { type: "string", "x-mcp-header": "A" }],
    ["header-not-reachable", { properties: { a: { items: annotated } } }],
    ["header-not-reachable", { properties: { a: { prefixItems: [annotated] } } }],
    ["header-not-reachable", { properties: { a: { items: { properties: { b: annotated } } } } }],
    ["header-not-reachable", { allOf: [{ properties: { a: annotated } }] }],
    ["header-not-reachable", { oneOf: [{}, annotated] }],
    ["header-not-reachable", { not: annotated }],
    ["header-not-reachable", { if: {}, then: { properties: { a: annotated } } }],
    ["header-not-reachable", { $defs: { a: annotated } }],
    ["header-not-reachable", { $defs: { a: { properties: { b: annotated } } } }],
    ["header-not-reachable", { patternProperties: { "^a": annotated } }],
    ["header-not-reachable", { additionalProperties: annotated }],
    ["header-not-reachable", { dependentSchemas: { a: { properties: { b: annotated } } } }],
    ["header-not-reachable", { "x-vendor": { nested: [annotated] } }],
    ["header-not-reachable", { properties: [annotated] }],
  ])("refuses as %s: %j", (reason, schema) => {
    const plan = paramHeaderPlan(schema);
    expect(plan.ok ? "accepted" : [plan.refusal.code, plan.refusal.facts["reason"]]).toEqual([
      "SCHEMA_UNUSABLE",
      reason,
    ]);
  });

  it("bounds how many headers one tool may have", () => {
    const names = ["a", "b", "c"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string", "x-mcp-header": name }]));
    expect(paramHeaderPlan({ properties }, 3).ok).toBe(true);
    expect(paramHeaderPlan({ properties }, 2).ok).toBe(false);
  });
});

const plan = planOf({
  properties: {
    region: { type: "string", "x-mcp-header": "Region" },
    where: { type: "object", properties: { zone: { type: "integer", "x-mcp-header": "Zone" } } },
    dry: { type: "boolean", "x-mcp-header": "Dry" },
  },
});

describe("paramHeadersFor", () => {
  it.each<[args: JsonObject, headers: (readonly [string, string])[]]>([
    [{}, []],
    [{ region: null, where: { zone: null }, dry: null }, []],
    [{ region: ["a"], where: [], dry: {} }, []],
    [{ where: null }, []],
    [
      { region: "us-west1", where: { zone: 42 }, dry: false },
      [
        ["Mcp-Param-Region", "us-west1"],
        ["Mcp-Param-Zone", "42"],
        ["Mcp-Param-Dry", "false"],
      ],
    ],
    [{ region: "" }, [["Mcp-Param-Region", "=?base64??="]]],
    [{ region: "null" }, [["Mcp-Param-Region", "null"]]],
    [{ region: "a\r\nEvil: 1" }, [["Mcp-Param-Region", "=?base64?YQ0KRXZpbDogMQ==?="]]],
    [{ where: { zone: -0 } }, [["Mcp-Param-Zone", "0"]]],
    [{ where: { zone: 1e21 } }, [["Mcp-Param-Zone", "1000000000000000000000"]]],
    [{ where: { zone: new ExactNumber("9007199254740993") } }, [["Mcp-Param-Zone", "9007199254740993"]]],
    [{ where: { zone: 1.5 } }, [["Mcp-Param-Zone", "1.5"]]],
  ])("%j: %j", (args, headers) => {
    expect(paramHeadersFor(plan, args)).toEqual(headers);
    const received = Object.fromEntries(headers.map(([name, value]) => [name.slice(10).toLowerCase(), value]));
    expect(checkParamHeaders(plan, args, received).ok).toBe(true);
  });

  it("reads own properties alone", () => {
    const inherited = planOf({ properties: { toString: { type: "string", "x-mcp-header": "A" } } });
    expect(paramHeadersFor(inherited, {})).toEqual([]);
  });
});

describe("checkParamHeaders", () => {
  it.each<[args: JsonObject, received: Record<string, string>]>([
    [{ region: "a" }, { region: "a" }],
    [{ region: "a" }, { region: "  a " }],
    [{ region: "a" }, { region: "=?base64?YQ==?=" }],
    [{ region: "a" }, { region: "a", other: "undeclared" }],
    [{ region: "" }, { region: "" }],
    [{ where: { zone: 42 } }, { zone: "42.0" }],
    [{ where: { zone: 42 } }, { zone: "4.2e1" }],
    [{ where: { zone: 0 } }, { zone: "-0" }],
    [{ where: { zone: new ExactNumber("9007199254740993") } }, { zone: "9007199254740993.0" }],
    [{ dry: true }, { dry: "true" }],
    [{ region: null }, {}],
    [{}, {}],
  ])("%j agrees with %j", (args, received) => {
    expect(checkParamHeaders(plan, args, received)).toEqual({ ok: true, value: undefined });
  });

  it.each<[args: JsonObject, received: Record<string, string>, header: string, problem: string]>([
    [{ region: "a" }, {}, "mcp-param-region", "missing"],
    [{ region: "a" }, { region: "b" }, "mcp-param-region", "differs"],
    [{ region: "a" }, { region: "A" }, "mcp-param-region", "differs"],
    [{ region: "a" }, { region: "a, a" }, "mcp-param-region", "differs"],
    [{ region: "42" }, { region: "42.0" }, "mcp-param-region", "differs"],
    [{ region: "a" }, { region: "%61" }, "mcp-param-region", "differs"],
    [{ region: "a" }, { region: "=?base64?YQ=?=" }, "mcp-param-region", "malformed"],
    [{ region: "é" }, { region: "é" }, "mcp-param-region", "malformed"],
    [{ region: null }, { region: "null" }, "mcp-param-region", "unexpected"],
    [{}, { region: "a" }, "mcp-param-region", "unexpected"],
    [{ where: { zone: 42 } }, { zone: "43" }, "mcp-param-zone", "differs"],
    [{ where: { zone: 42 } }, { zone: "420" }, "mcp-param-zone", "differs"],
    [{ where: { zone: 42 } }, { zone: "0x2a" }, "mcp-param-zone", "differs"],
    [{ where: { zone: 42 } }, { zone: "-42" }, "mcp-param-zone", "differs"],
    [{ where: { zone: 42 } }, { zone: "" }, "mcp-param-zone", "differs"],
    [
      { where: { zone: new ExactNumber("9007199254740993") } },
      { zone: "9007199254740992" },
      "mcp-param-zone",
      "differs",
    ],
    [{ dry: true }, { dry: "TRUE" }, "mcp-param-dry", "differs"],
    [{ dry: true }, { dry: "1" }, "mcp-param-dry", "differs"],
  ])("%j against %j: %s %s", (args, received, header, problem) => {
    const verdict = checkParamHeaders(plan, args, received);
    expect(verdict.ok ? "accepted" : verdict.refusal).toEqual({ code: "HEADER_MISMATCH", facts: { header, problem } });
  });
});
