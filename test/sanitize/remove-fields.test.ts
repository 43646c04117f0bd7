import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { freeError, freeResult, removeFields } from "../../src/sanitize/remove-fields.ts";

const row = { name: "Ada", ssn: "123-45-6789" };
const block = (text: string): JsonObject => ({ type: "text", text });
const texts = ({ value }: { value: JsonObject }): Json[] =>
  ((value["content"] ?? []) as JsonObject[]).map((one) => one["text"] ?? null);

describe("fields named by JSON pointers", () => {
  it.each<[string, Json, Json]>([
    ["/ssn", row, { name: "Ada" }],
    ["/rows/*/ssn", { rows: [row, row] }, { rows: [{ name: "Ada" }, { name: "Ada" }] }],
    ["/*/ssn", { a: row, b: row }, { a: { name: "Ada" }, b: { name: "Ada" } }],
    ["/rows/1", { rows: [1, 2, 3] }, { rows: [1, 3] }],
    ["/rows/*", { rows: [1, 2] }, { rows: [] }],
    ["/a~1b/c~0d", { "a/b": { "c~d": 1, e: 2 } }, { "a/b": { e: 2 } }],
    ["/0", { 0: "a" }, {}],
    ["/ssn", [row], [row]],
    ["/rows/01", { rows: [1, 2] }, { rows: [1, 2] }],
    ["/a/b/c", { a: "text" }, { a: "text" }],
  ])("%s of %j leaves %j", (pointer, value, left) => {
    expect(removeFields(value, [pointer]).value).toEqual(left);
  });

  it("are told apart by whether they named something", () => {
    expect([...removeFields(row, ["/ssn", "/other"]).met]).toEqual(["/ssn"]);
  });
});

describe("a result whose fields are removed", () => {
  const fields = ["/rows/*/ssn"];
  const structured = { rows: [row] };
  const freed = '{"rows":[{"name":"Ada"}]}';

  it.each<[string, JsonObject, Json[]]>([
    ["written anew where it is JSON", { content: [block(JSON.stringify(structured))] }, [freed]],
    [
      "the same beside structured content",
      { structuredContent: structured, content: [block(JSON.stringify(structured))] },
      [freed],
    ],
    [
      "replaced by what is left of the structured content where it is prose",
      { structuredContent: structured, content: [block("123-45-6789")] },
      [freed],
    ],
    [
      "replaced where it is a number, which may be one",
      { structuredContent: structured, content: [block("123456789")] },
      [freed],
    ],
    [
      "left out where it is JSON of another shape",
      { structuredContent: structured, content: [block(JSON.stringify(row)), block(JSON.stringify(structured))] },
      [freed],
    ],
    ["left out where it is a number by itself", { content: [block("123456789"), block("{}")] }, ["{}"]],
    ["left out where two keys are one", { content: [block('{"rows":[{"ssn":"1","ssn":"2"}]}'), block("{}")] }, ["{}"]],
    ["absent where it was absent", { structuredContent: structured }, []],
    ["empty where it was empty", { structuredContent: structured, content: [] }, []],
  ])("has its text %s", (_how, result, left) => {
    expect(texts(freeResult(result, fields))).toEqual(left);
  });

  it("says so in one block where nothing is left", () => {
    const { value, findings } = freeResult({ content: [block("one"), block("two")], isError: true }, fields);
    expect(texts({ value })).toEqual([expect.stringContaining("Nothing of the result can be shown")]);
    expect(value["isError"]).toBe(true);
    expect(findings.map(({ kind, where }) => [kind, where])).toEqual([
      ["content-left-out", "/content/0"],
      ["content-left-out", "/content/1"],
    ]);
  });

  it.each<[string, JsonObject]>([
    ["a picture", { type: "image", data: "aGk=", mimeType: "image/png" }],
    ["a sound", { type: "audio", data: "aGk=", mimeType: "audio/wav" }],
    ["a link", { type: "resource_link", uri: "file:///123-45-6789", name: "123-45-6789" }],
    ["a blob", { type: "resource", resource: { uri: "x://y", blob: "aGk=" } }],
    ["an embedded text", { type: "resource", resource: { uri: "x://y", text: "123-45-6789" } }],
    ["a block of a kind that nobody knows", { type: "novel", ssn: "123-45-6789" }],
  ])("has no block that is %s", (_what, hidden) => {
    const { value } = freeResult({ content: [hidden, block("{}")] }, fields);
    expect(value["content"]).toEqual([block("{}")]);
  });

  it("keeps an embedded resource that is JSON, freed, under its URI and type alone", () => {
    const resource = {
      uri: "x://y",
      mimeType: "application/json",
      text: JSON.stringify(structured),
      _meta: row,
      title: "123-45-6789",
    };
    expect(freeResult({ content: [{ type: "resource", resource }] }, fields).value["content"]).toEqual([
      { type: "resource", resource: { uri: "x://y", mimeType: "application/json", text: freed } },
    ]);
  });

  it("has no members and no metadata of the upstream's own, but for which task it is of", () => {
    const related = { "io.modelcontextprotocol/related-task": { taskId: "t" } };
    const { value } = freeResult(
      { content: [{ ...block("{}"), _meta: row, annotations: row }], extra: row, _meta: { ...related, row } },
      fields,
    );
    expect(value).toEqual({ content: [block("{}")], _meta: related });
  });

  it("never holds a removed value that stood where the fields are, in whatever form it came", () => {
    const secret = "SECRET-VALUE";
    const blocks = fc.constantFrom<JsonObject>(
      block(secret),
      block(JSON.stringify({ rows: [{ ssn: secret }] })),
      block(JSON.stringify({ ssn: secret })),
      block(JSON.stringify([{ ssn: secret }])),
      { type: "resource", resource: { uri: secret, text: secret } },
      { type: "resource_link", uri: "x://y", name: secret },
    );
    fc.assert(
      fc.property(fc.array(blocks, { maxLength: 4 }), fc.integer({ min: 1, max: 3 }), (content, count) => {
        const structuredContent = { rows: Array.from({ length: count }, () => ({ ssn: secret })) };
        expect(
          JSON.stringify(freeResult({ content, structuredContent, _meta: { secret } }, fields).value),
        ).not.toContain(secret);
      }),
    );
  });
});

describe("an error of a tool whose fields are removed", () => {
  it("keeps its code and none of its words", () => {
    const freed = freeError({ code: -32000, message: "no customer 123-45-6789", data: row });
    expect(freed).toEqual({ code: -32000, message: expect.not.stringContaining("123") as string });
  });
});
