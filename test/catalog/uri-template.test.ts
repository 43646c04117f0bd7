import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileUriTemplate } from "../../src/catalog/uri-template.ts";

describe("a URI belongs to a template", () => {
  it.each([
    ["ticket://{id}", "ticket://17", true],
    ["ticket://{id}", "ticket://", false],
    ["ticket://{id}", "ticket://17/notes", false],
    ["ticket://{id}/notes", "ticket://17/notes", true],
    ["ticket://{id}/notes", "ticket://17/other", false],
    ["file:///{+path}", "file:///a/b/c.txt", true],
    ["file:///{path}", "file:///a/b", false],
    ["test://template/{id}/data", "test://template/1/data", true],
    ["search://x{?q,page}", "search://x", true],
    ["search://x{?q,page}", "search://x?q=1&page=2", true],
    ["a{b}c{d}e", "aXcYcZe", true],
    ["plain://uri", "plain://uri", true],
    ["plain://uri", "plain://uri2", false],
  ])("%s and %s: %s", (template, uri, expected) => {
    expect(compileUriTemplate(template)?.(uri)).toBe(expected);
  });

  it("accepts every expansion of a simple variable that holds no slash", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9%._~-]{1,40}$/), fc.stringMatching(/^[a-z0-9-]{1,20}$/), (one, two) => {
        expect(compileUriTemplate("x://{a}/mid/{b}/end")?.(`x://${one}/mid/${two}/end`)).toBe(true);
      }),
    );
  });

  it("decides in bounded steps on a template made to backtrack", () => {
    const matches = compileUriTemplate("{+a}".repeat(30) + "!");
    expect(matches?.("a".repeat(8_000))).toBe(false);
  });
});
