// An upstream's definitions must not make the gateway slow for everybody, nor a long text slip past a pattern.
import { describe, expect, it } from "vitest";
import { fetchUpstream } from "../../src/catalog/fetch-upstream.ts";
import { compileUriTemplate } from "../../src/catalog/uri-template.ts";
import { limits } from "../../src/model/limits.ts";
import { ok } from "../../src/model/result.ts";
import { createCheckers } from "../../src/schema/checker.ts";

function check(schema: Parameters<ReturnType<typeof createCheckers>["for"]>[1], value: string): readonly unknown[] {
  const checker = createCheckers({ validatorsMax: 1 }).for("digest", schema);
  if (!checker.usable) throw new Error(checker.refusal.code);
  return checker.check(value);
}

describe("patterns", () => {
  const size = 3_000_000;

  it("of one schema share one budget, and a value that would exceed it is refused", () => {
    const allOf = Array.from({ length: limits.schemaPatternsMax }, (_, index) => ({ pattern: `^(a|b)*(${index})?$` }));
    expect(check({ allOf }, "a".repeat(100))).toEqual([]);
    expect(check({ allOf }, "a".repeat(size))).toMatchObject([
      { message: "is too large or too deep to be checked against its schema" },
    ]);
  });

  it("that cannot be tried on a long text do not let it pass `not`", () => {
    const not = { pattern: "(?:DROP|DELETE|ALTER)\\s+(?:TABLE|SCHEMA|ROLE)[a-z]{0,60}" };
    expect(check({ not }, "select 1")).toEqual([]);
    expect(check({ not }, "DROP TABLE t")).toHaveLength(1);
    expect(check({ not }, `DROP TABLE t --${"x".repeat(size)}`)).toHaveLength(1);
  });

  it("have the whole budget again for the next value", () => {
    const checker = createCheckers({ validatorsMax: 1 }).for("digest", { pattern: "^a*$" });
    const text = "a".repeat(2_000_000);
    expect([1, 2, 3, 4].map(() => checker.usable && checker.check(text))).toEqual([[], [], [], []]);
  });
});

describe("a URI template", () => {
  it("has at most so many expressions", () => {
    const max = limits.uriTemplateExpressionsMax;
    expect(compileUriTemplate("{a}".repeat(max))?.("x".repeat(max))).toBe(true);
    expect(compileUriTemplate("{a}".repeat(max + 1))).toBeUndefined();
  });
});

describe("a list", () => {
  it.each([
    [10, 3, true],
    [11, 3, false],
  ])("of pages of %i bytes, %i of them, under a bound of 30: read %s", async (bytes, pages, read) => {
    let asked = 0;
    const source = {
      identify: () =>
        Promise.resolve(ok({ era: "modern" as const, capabilities: { tools: {} }, instructions: undefined })),
      page: () => {
        asked += 1;
        return Promise.resolve(ok({ definitions: [], nextCursor: asked < pages ? `${asked}` : undefined, bytes }));
      },
    };
    const clean = (_kind: unknown, definition: object): never => {
      throw new Error(`nothing to clean in ${JSON.stringify(definition)}`);
    };
    const bounds = { listPagesMax: 50, itemsPerUpstreamMax: 10, listBytesMax: 30 };
    const answer = await fetchUpstream("u", { source, clean, bounds }, new AbortController().signal);
    expect(answer.ok || answer.refusal.code).toBe(read || "UPSTREAM_ANSWER_TOO_LARGE");
  });
});
