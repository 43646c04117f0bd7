import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { rewriteContentLinks, rewriteStructuredLinks, type LinkRules } from "../../src/sanitize/links.ts";

const origin = "https://crm.internal";
/** A file is whatever stands under `/f/`. */
const rules: LinkRules = {
  origin,
  addressFor: (url) => (url.startsWith(`${origin}/f/`) ? `P:${url.slice(origin.length)}` : undefined),
  linksMax: 5,
};
const text = (value: string): JsonObject => ({ content: [{ type: "text", text: value }] });
const rewritten = (value: string): unknown => {
  const [block] = rewriteContentLinks(text(value), rules)["content"] as [{ text: string }];
  return block.text;
};

describe("URLs within text", () => {
  it.each([
    ["https://crm.internal/f/7.pdf", "P:/f/7.pdf"],
    ["See https://crm.internal/f/7.pdf.", "See P:/f/7.pdf."],
    ["(https://crm.internal/f/7.pdf)", "(P:/f/7.pdf)"],
    [
      "[report](https://crm.internal/f/7.pdf), [x](https://crm.internal/f/8.pdf)",
      "[report](P:/f/7.pdf), [x](P:/f/8.pdf)",
    ],
    ['<a href="https://crm.internal/f/7.pdf?a=b&c=%20">', '<a href="P:/f/7.pdf?a=b&c=%20">'],
    ['{"url":"https://crm.internal/f/7.pdf","n":1}', '{"url":"P:/f/7.pdf","n":1}'],
    ["<https://crm.internal/f/7.pdf#page=2>", "<P:/f/7.pdf#page=2>"],
    ["https://crm.internal/f/7.pdf\nhttps://crm.internal/f/8.pdf", "P:/f/7.pdf\nP:/f/8.pdf"],
    ["Is it https://crm.internal/f/7.pdf?", "Is it P:/f/7.pdf?"],
    ["**https://crm.internal/f/7.pdf**", "**P:/f/7.pdf**"],
  ])("%j", (value, expected) => {
    expect(rewritten(value)).toBe(expected);
  });

  it.each([
    ["of another path", "https://crm.internal/g/7.pdf"],
    ["of the bare origin", "https://crm.internal/ and https://crm.internal"],
    ["of another host that begins alike", "https://crm.internal.evil.example/f/7.pdf"],
    ["of another port", "https://crm.internal:8443/f/7.pdf"],
    ["of another scheme", "http://crm.internal/f/7.pdf"],
    ["in another spelling", "HTTPS://crm.internal/f/7.pdf https://CRM.internal/f/7.pdf"],
    ["with credentials", "https://a@crm.internal/f/7.pdf"],
    ["with a longer scheme", "git+https://crm.internal/f/7.pdf"],
    ["within another URL", "https://elsewhere.example/?to=https://crm.internal/f/7.pdf"],
    ["within a word", "xhttps://crm.internal/f/7.pdf"],
  ])("%s stay", (_name, value) => {
    const result = text(value);
    expect(rewriteContentLinks(result, rules)).toBe(result);
  });

  it("are looked at up to the bound, and text of any shape takes linear time", () => {
    const links = Array.from({ length: 7 }, (_, at) => `${origin}/f/${at}`).join(" ");
    expect(String(rewritten(links)).match(/P:/g)?.length).toBe(5);
    expect(rewritten(`${origin}/`.repeat(50_000))).toBe(`${origin}/`.repeat(50_000));
    expect(rewritten(`${origin}/${".".repeat(200_000)}`)).toBe(`${origin}/${".".repeat(200_000)}`);
  });
});

describe("which parts of a result hold links", () => {
  const uri = `${origin}/f/7.pdf`;
  const block = { type: "resource_link", uri, name: uri, title: uri, _meta: { at: uri } };

  it("the URI of a resource link, not its names", () => {
    const result = { content: [block], structuredContent: { uri }, _meta: { at: uri }, isError: false };
    expect(rewriteContentLinks(result, rules)).toEqual({ ...result, content: [{ ...block, uri: "P:/f/7.pdf" }] });
  });

  it("the messages of a prompt", () => {
    const result = {
      messages: [
        { role: "user", content: { type: "text", text: uri } },
        { role: "user", content: [block] },
      ],
    };
    expect(rewriteContentLinks(result, rules)).toEqual({
      messages: [
        { role: "user", content: { type: "text", text: "P:/f/7.pdf" } },
        { role: "user", content: [{ ...block, uri: "P:/f/7.pdf" }] },
      ],
    });
  });

  it.each<[string, JsonObject]>([
    ["an embedded resource", { content: [{ type: "resource", resource: { uri, text: uri } }] }],
    ["an image", { content: [{ type: "image", data: uri, mimeType: "image/png" }] }],
    ["a read resource", { contents: [{ uri, text: uri }] }],
    ["a resource link whose URI is no text", { content: [{ type: "resource_link", uri: 7 }] }],
    ["content that is no list", { content: uri }],
    ["a message that is none", { messages: [uri, null, { content: null }] }],
    ["nothing", {}],
  ])("not %s: the same value comes back", (_name, result) => {
    expect(rewriteContentLinks(result, rules)).toBe(result);
  });
});

describe("structured content", () => {
  const uri = `${origin}/f/7.pdf`;
  it.each<[Json, Json]>([
    [uri, "P:/f/7.pdf"],
    [
      { a: [{ b: uri }], c: 1 },
      { a: [{ b: "P:/f/7.pdf" }], c: 1 },
    ],
    [
      [uri, null, true],
      ["P:/f/7.pdf", null, true],
    ],
  ])("%j", (value, expected) => {
    expect(rewriteStructuredLinks(value, rules)).toEqual(expected);
  });

  it.each<[string, Json]>([
    ["text around a link", `see ${uri}`],
    ["a key", { [uri]: 1 }],
    ["no text", [1, null, false, { a: 2 }]],
  ])("%s stays, and is the same value", (_name, value) => {
    expect(rewriteStructuredLinks(value, rules)).toBe(value);
  });
});
