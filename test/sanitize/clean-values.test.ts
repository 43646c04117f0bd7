import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { ExactNumber } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { cleanDefinition } from "../../src/sanitize/clean-definition.ts";
import { cleanError, cleanResult } from "../../src/sanitize/clean-result.ts";
import { cleanValue } from "../../src/sanitize/clean-value.ts";
import { contentFields } from "../../src/sanitize/field-rule.ts";

const hidden = "\u{e0061}\u{e0062}";

describe("a value", () => {
  it("is the same reference when nothing changed, exact numbers included", () => {
    const value = { a: [new ExactNumber("9007199254740993"), "x"], constructor: { toString: "y" } } as unknown as Json;
    expect(cleanValue(value, { fields: contentFields }).value).toBe(value);
  });

  it("is cleaned in values and keys at any depth, and untouched parts are shared", () => {
    const untouched = { c: 1 };
    const value = { a: [{ [`k${hidden}`]: `v${hidden}` }], untouched, "x/y~": hidden };
    const cleaned = cleanValue(value, { fields: contentFields });
    expect(cleaned.value).toEqual({ a: [{ k: "v" }], untouched: { c: 1 }, "x/y~": "" });
    expect((cleaned.value as JsonObject)["untouched"]).toBe(untouched);
    expect(cleaned.findings.map((finding) => finding.where)).toEqual(["/a/0/k", "/a/0/k", "/x~1y~0"]);
  });

  it("loses no member when keys become equal", () => {
    const value = { a: 1, [`a${hidden}`]: 2, "a\u200b": 3, "a (2)\u200b": 4 };
    const cleaned = cleanValue(value, { fields: contentFields }).value as JsonObject;
    expect(Object.values(cleaned)).toEqual([1, 2, 3, 4]);
  });

  it("keeps ten thousand keys that clean to one name cheap", () => {
    const value = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [
        `a${"\u200b".repeat(index % 97)}\u200c${"\u200d".repeat(index / 97)}`,
        index,
      ]),
    );
    const cleaned = cleanValue(value, { fields: contentFields }).value;
    expect(Object.keys(cleaned as JsonObject).length).toBe(Object.keys(value).length);
  });

  it("reports no more findings than allowed but cleans on", () => {
    const value = Array.from({ length: 5 }, () => "a\u200b");
    const cleaned = cleanValue(value, { fields: contentFields, findingsMax: 2 });
    expect(cleaned.findings).toHaveLength(2);
    expect(cleaned.value).toEqual(["a", "a", "a", "a", "a"]);
  });

  it("deeper than the parser allows is a fault of the caller", () => {
    const nest = (depth: number): Json => Array.from({ length: depth }).reduce<Json>((inner) => [inner], "x");
    expect(cleanValue(nest(limits.jsonDepthMax), { fields: contentFields }).findings).toEqual([]);
    expect(() => cleanValue(nest(limits.jsonDepthMax + 2), { fields: contentFields })).toThrow(RangeError);
  });
});

describe("a definition", () => {
  it.each<[string, JsonObject]>([
    ["title", { title: `t${hidden}` }],
    ["description", { description: `d${hidden}` }],
    ["annotations.title", { annotations: { title: `t${hidden}` } }],
    ["icon", { icons: [{ src: `https://e/i.png${hidden}` }] }],
    ["_meta", { _meta: { note: `n${hidden}` } }],
    ["a nested schema description", { inputSchema: { properties: { a: { items: { description: `d${hidden}` } } } } }],
    ["a property called title", { inputSchema: { properties: { title: { title: `t${hidden}` } } } }],
    ["examples", { inputSchema: { examples: [`e${hidden}`] } }],
    ["an output schema description", { outputSchema: { $defs: { a: { description: `d${hidden}` } } } }],
    ["an unknown member", { extension: { text: `t${hidden}` } }],
  ])("has its %s cleaned and stays", (_, members) => {
    const cleaned = cleanDefinition("tool", { name: "a", ...members });
    expect(cleaned.unsafe).toEqual([]);
    expect(cleaned.findings.map((finding) => [finding.kind, finding.detail])).toEqual([
      ["invisible-text-removed", "ab"],
    ]);
    expect(JSON.stringify(cleaned.definition)).not.toContain(hidden);
  });

  it.each<[string, JsonObject]>([
    ["name", { name: `a${hidden}` }],
    ["name with a line break", { name: "run\r\nX-Admin: 1" }],
    ["name outside ASCII", { name: "se\u0430rch" }],
    ["name over 128 characters", { name: "x".repeat(129) }],
    ["empty name", { name: "" }],
    ["name that ends in a blank", { name: "send_mail " }],
    ["property name", { inputSchema: { properties: { [`a${hidden}`]: {} } } }],
    ["definition name", { inputSchema: { $defs: { [`a${hidden}`]: {} } } }],
    ["enum value", { inputSchema: { properties: { a: { enum: [`a${hidden}`] } } } }],
    ["const", { inputSchema: { const: { deep: [`a${hidden}`] } } }],
    ["default", { inputSchema: { allOf: [{ default: `a${hidden}` }] } }],
    ["required", { outputSchema: { required: [`a${hidden}`] } }],
    ["pattern", { inputSchema: { additionalProperties: { pattern: `a${hidden}` } } }],
    ["header name", { inputSchema: { properties: { a: { "x-mcp-header": `a${hidden}` } } } }],
    ["description over its bound", { description: "d".repeat(16_385) }],
    [
      "parameter description over its bound",
      { inputSchema: { properties: { a: { description: "d".repeat(8_193) } } } },
    ],
    ["size over its bound", { _meta: { pad: Array.from({ length: 20 }, () => "x".repeat(7_000)) } }],
  ])("with an unsafe %s is withheld and not repaired", (_, members) => {
    const definition = { name: "a", ...members };
    const cleaned = cleanDefinition("tool", definition);
    expect(cleaned.unsafe.length).toBeGreaterThan(0);
    expect(cleaned.definition).toBe(definition);
  });

  it.each<[string, JsonObject, string[]]>([
    ["a description at its noted length", { description: "d".repeat(4_096) }, []],
    ["a description over its noted length", { description: "d".repeat(4_097) }, ["text-oversized"]],
    ["a description at its bound", { description: "d".repeat(16_384) }, ["text-oversized"]],
    ["a name of 128 characters", { name: "x".repeat(128) }, []],
    ["a name with a space and a slash", { name: "get item/list" }, []],
    ["a default of several lines", { inputSchema: { default: "a\nb" } }, []],
  ])("with %s stays", (_, members, kinds) => {
    const cleaned = cleanDefinition("tool", { name: "a", ...members });
    expect(cleaned.unsafe).toEqual([]);
    expect(cleaned.findings.map((finding) => finding.kind)).toEqual(kinds);
  });

  it.each<["prompt" | "resource" | "template", JsonObject]>([
    ["prompt", { name: "p", arguments: [{ name: `a${hidden}` }] }],
    ["resource", { name: "r", uri: `file:///a${hidden}` }],
    ["resource", { name: "r", uri: `file:///${"a".repeat(8_192)}` }],
    ["template", { name: "r", uriTemplate: `file:///{a${hidden}}` }],
    ["resource", { name: "r", uri: "file:///a", mimeType: `text/plain${hidden}` }],
  ])("of a %s with an unsafe identifier is withheld", (kind, definition) => {
    expect(cleanDefinition(kind, definition).unsafe.length).toBeGreaterThan(0);
  });

  it("of a prompt may have a name outside ASCII", () => {
    expect(cleanDefinition("prompt", { name: "検索" }).unsafe).toEqual([]);
  });
});

describe("a result", () => {
  it.each<[string, string, JsonObject, string]>([
    ["text", "tools/call", { content: [{ type: "text", text: `x${hidden}` }] }, "/content/0/text"],
    ["embedded text", "tools/call", { content: [{ resource: { text: `x${hidden}` } }] }, "/content/0/resource/text"],
    ["link", "tools/call", { content: [{ type: "resource_link", uri: `https://e/${hidden}` }] }, "/content/0/uri"],
    ["structured content", "tools/call", { structuredContent: { a: [`x${hidden}`] } }, "/structuredContent/a/0"],
    ["_meta", "tools/call", { content: [], _meta: { a: `x${hidden}` } }, "/_meta/a"],
    ["prompt message", "prompts/get", { messages: [{ content: { text: `x${hidden}` } }] }, "/messages/0/content/text"],
    ["resource", "resources/read", { contents: [{ uri: "a:b", text: `x${hidden}` }] }, "/contents/0/text"],
    ["false blob", "resources/read", { contents: [{ uri: "a:b", blob: `QUJD${hidden}` }] }, "/contents/0/blob"],
    ["instructions", "initialize", { instructions: `x${hidden}` }, "/instructions"],
    ["server title", "server/discover", { serverInfo: { title: `x${hidden}` } }, "/serverInfo/title"],
    ["anything of an unknown method", "later/method", { a: `x${hidden}` }, "/a"],
  ])("has its %s cleaned", (_, method, result, where) => {
    const cleaned = cleanResult(method, result);
    expect(cleaned.findings).toEqual([{ kind: "invisible-text-removed", where, detail: "ab", count: 2 }]);
    expect(JSON.stringify(cleaned.value)).not.toContain(hidden);
  });

  it.each(["tools", "prompts", "resources", "resourceTemplates"])(
    "of a list leaves %s to the judge of definitions",
    (key) => {
      const method = key === "resourceTemplates" ? "resources/templates/list" : `${key}/list`;
      const result = { [key]: [{ name: `a${hidden}` }], nextCursor: "a\u200b", _meta: { a: `x${hidden}` } };
      const cleaned = cleanResult(method, result);
      expect(cleaned.value).toEqual({ ...result, _meta: { a: "x" } });
      expect(cleaned.value[key]).toBe(result[key]);
    },
  );

  it("notes text over its bound and leaves base64 of any length", () => {
    const long = "a".repeat(limits.textCharsMax + 1);
    expect(cleanResult("tools/call", { content: [{ type: "text", text: long }] }).findings).toHaveLength(1);
    expect(cleanResult("tools/call", { content: [{ type: "image", data: long }] }).findings).toEqual([]);
  });
});

describe("an error", () => {
  it("has one clean line of at most 1,000 characters and clean data", () => {
    const cleaned = cleanError({
      code: -32000,
      message: `a\nb\u001b[31m${"c".repeat(2_000)}`,
      data: { d: `x${hidden}` },
    });
    expect(cleaned.error.message).toBe(`a b${"c".repeat(997)}`);
    expect(cleaned.error.data).toEqual({ d: "x" });
    expect(cleaned.findings.map((finding) => finding.where)).toEqual(["/message", "/message", "/message", "/data/d"]);
  });

  it("keeps its code and gets no data that it did not have", () => {
    expect(cleanError({ code: 5, message: "x" }).error).toStrictEqual({ code: 5, message: "x" });
  });

  it("is not cut inside a surrogate pair", () => {
    expect(cleanError({ code: 5, message: `${"a".repeat(999)}😀` }).error.message.length).toBe(999);
  });
});
