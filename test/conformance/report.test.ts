import { describe, expect, it } from "vitest";
import { readExceptions } from "./exceptions.ts";
import { lastLine, verdictOn } from "./report.ts";
import type { Scenario } from "./suite.ts";

const matched = { client: "modern", server: "modern" } as const;
const crossed = { client: "modern", server: "legacy" } as const;

function scenario(name: string, more: Partial<Scenario> = {}): Scenario {
  return { name, required: true, succeeded: [`${name} (It)`], failures: [], warnings: [], ...more };
}

const failed = scenario("caching", { succeeded: [], failures: ["caching: no ttlMs"] });

describe("a conformance run", () => {
  it("is good when every required scenario passes", () => {
    const judged = verdictOn(matched, [scenario("caching"), scenario("tools-list")], {});
    expect(judged).toMatchObject({ passed: 2, required: 2, good: true });
    expect(lastLine(judged)).toBe("conformance: 2026-07-28 modern/modern 2/2");
  });

  it("is not good when one of them fails", () => {
    const judged = verdictOn(matched, [failed, scenario("tools-list")], {});
    expect(judged).toMatchObject({ passed: 1, required: 2, good: false });
    expect(judged.lines).toContain("         caching: no ttlMs");
  });

  it("is not good when nothing ran", () => {
    expect(verdictOn(matched, [], {})).toMatchObject({ required: 0, good: false });
  });

  it("does not count what is not required", () => {
    const judged = verdictOn(matched, [scenario("caching"), { ...failed, name: "tasks", required: false }], {});
    expect(judged).toMatchObject({ passed: 1, required: 1, good: true });
  });

  it("fails a scenario whose check succeeds against the server alone and is skipped through the gateway", () => {
    const skipped = scenario("caching", { succeeded: [] });
    expect(verdictOn(matched, [skipped], {})).toMatchObject({ passed: 1, good: true });
    const judged = verdictOn(matched, [skipped], { alone: [scenario("caching")] });
    expect(judged).toMatchObject({ passed: 0, good: false });
    expect(judged.lines).toContain("         caching (It): succeeds without the gateway");
  });
});

describe("an exception", () => {
  const excepted = new Map([["caching", "the server cannot"]]);

  it("excuses the scenario that fails, which still does not count as passed", () => {
    expect(verdictOn(crossed, [failed], { excepted })).toMatchObject({ passed: 0, required: 1, good: true });
  });

  it("is void for a scenario that passes", () => {
    expect(verdictOn(crossed, [scenario("caching")], { excepted })).toMatchObject({ passed: 1, good: false });
  });

  it("is void for a scenario that is not there", () => {
    expect(verdictOn(crossed, [scenario("tools-list")], { excepted })).toMatchObject({ passed: 1, good: false });
  });
});

describe("the compatibility document", () => {
  it("excepts scenarios by cell, with their reason", () => {
    const document =
      "text\n\n- `modern/legacy`: `caching`,\n  `tools-list`. Nobody says\n  how long.\n- `legacy/modern`: `ping`. Gone.\n";
    const exceptions = readExceptions(document);
    expect(exceptions.get("modern/legacy")).toEqual(
      new Map([
        ["caching", "Nobody says how long."],
        ["tools-list", "Nobody says how long."],
      ]),
    );
    expect(exceptions.get("legacy/modern")).toEqual(new Map([["ping", "Gone."]]));
  });

  it("excepts nothing where the eras match", () => {
    expect(() => readExceptions("- `modern/modern`: `caching`. Because.")).toThrow("Nothing is excepted");
  });

  it.each([
    "- `modern/legacy`: `caching`.",
    "- `modern/legacy`: caching. Because.",
    "`modern/legacy`: `caching`. Because.",
  ])("excepts nothing by %j, which gives no reason, no scenario or no item", (document) => {
    expect(readExceptions(document)).toEqual(new Map());
  });
});
