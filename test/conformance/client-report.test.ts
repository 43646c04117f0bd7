import { describe, expect, it } from "vitest";
import { clientLastLine, clientTitle, clientVerdictOn, readClientTerms, termsOf, toRun } from "./client-report.ts";
import { listItems } from "./exceptions.ts";
import { clientScenarioOf, drivenMark, eraOf } from "./suite-client.ts";
import type { Requirement, Scenario } from "./suite.ts";

function required(name: string): Requirement {
  return { name, required: true };
}

function passing(name: string): Scenario {
  return { name, required: true, succeeded: [`${name} (It)`], failures: [], warnings: [] };
}

const failing: Scenario = { ...passing("sse-retry"), succeeded: [], failures: ["sse-retry: too early"] };

const requirements = [required("initialize"), required("sse-retry"), required("auth/basic-cimd")];

const document =
  "text\n\n- `client 2025-11-25` not run: `auth/basic-cimd`,\n  `auth/dpop`. Nobody\n  signs in.\n" +
  "- `client 2025-11-25` excepted: `sse-retry`. For a while.\n- `client 2026-07-28` not run: `auth/dpop`. Neither here.\n";

describe("what the compatibility document says of clients", () => {
  const terms = readClientTerms(listItems(document));

  it("names by revision what is not run and what is excepted, with the reason", () => {
    const { notRun, excepted } = termsOf(terms, "legacy");
    const signsIn = "Nobody signs in.";
    expect(notRun).toEqual(
      new Map([
        ["auth/basic-cimd", signsIn],
        ["auth/dpop", signsIn],
      ]),
    );
    expect(excepted).toEqual(new Map([["sse-retry", "For a while."]]));
    expect(termsOf(terms, "modern")).toEqual({
      notRun: new Map([["auth/dpop", "Neither here."]]),
      excepted: new Map(),
    });
  });

  it("leaves the rest to be run", () => {
    expect(toRun(requirements, termsOf(terms, "legacy"))).toEqual([required("initialize"), required("sse-retry")]);
    expect(toRun(requirements, termsOf(new Map(), "legacy"))).toEqual(requirements);
  });

  it("names no scenario twice for a revision", () => {
    const twice = ["- `client 2025-11-25` not run: `a`. Because.", "- `client 2025-11-25` excepted: `a`. Because."];
    expect(() => readClientTerms(twice)).toThrow("a is named twice");
  });

  it.each([
    "- `client 2025-11-25` not run: `a`.",
    "- `client 2025-11-25` not run: a. Because.",
    "- `client 2025-11-25` skipped: `a`. Because.",
    "- `client` not run: `a`. Because.",
    "`client 2025-11-25` not run: `a`. Because.",
  ])("names nothing by %j, which gives no reason, scenario, known kind or revision, or is no item", (text) => {
    expect(readClientTerms([text])).toEqual(new Map());
  });
});

describe("a run of client scenarios", () => {
  const none = { notRun: new Map<string, string>(), excepted: new Map<string, string>() };
  const both = [required("initialize"), required("sse-retry")];

  it("is good when all that was run passes, and counts only that", () => {
    const terms = { ...none, notRun: new Map([["auth/basic-cimd", "Because."]]) };
    const judged = clientVerdictOn("legacy", [passing("initialize"), passing("sse-retry")], { terms, requirements });
    expect(judged).toMatchObject({ passed: 2, required: 2, good: true });
    expect(judged.lines).toContain("  1 required ones not run, named in docs/compatibility.md");
    expect([clientTitle(judged), clientLastLine(judged)]).toEqual([
      "client 2025-11-25",
      "conformance client: 2025-11-25 2/2",
    ]);
  });

  it("counts apart what no revision requires, and is not good when some of that fails", () => {
    const extension = (succeeds: boolean): Scenario => ({
      ...(succeeds ? passing("auth/extension") : { ...failing, name: "auth/extension" }),
      required: false,
    });
    const wanted = [...both, { name: "auth/extension", required: false }];
    const run = (succeeds: boolean): ReturnType<typeof clientVerdictOn> => {
      const scenarios = [passing("initialize"), passing("sse-retry"), extension(succeeds)];
      return clientVerdictOn("modern", scenarios, { terms: none, requirements: wanted });
    };
    expect([run(true).good, clientLastLine(run(true))]).toEqual([
      true,
      "conformance client: 2026-07-28 2/2, not required 1/1",
    ]);
    expect([run(false).good, clientLastLine(run(false))]).toEqual([
      false,
      "conformance client: 2026-07-28 2/2, not required 0/1",
    ]);
  });

  it("is not good when a scenario fails that is not excepted", () => {
    const scenarios = [passing("initialize"), failing];
    expect(clientVerdictOn("legacy", scenarios, { terms: none, requirements: both })).toMatchObject({ good: false });
    const terms = { ...none, excepted: new Map([["sse-retry", "Because."]]) };
    expect(clientVerdictOn("legacy", scenarios, { terms, requirements: both })).toMatchObject({
      passed: 1,
      good: true,
    });
  });

  it("is not good when an excepted scenario passes", () => {
    const terms = { ...none, excepted: new Map([["sse-retry", "Because."]]) };
    const scenarios = [passing("initialize"), passing("sse-retry")];
    expect(clientVerdictOn("legacy", scenarios, { terms, requirements: both })).toMatchObject({
      passed: 2,
      good: false,
    });
  });

  it("is not good when something is named as not run that the suite does not know", () => {
    const terms = { ...none, notRun: new Map([["auth/gone", "Because."]]) };
    const judged = clientVerdictOn("legacy", [passing("initialize"), passing("sse-retry")], { terms, requirements });
    expect(judged).toMatchObject({ passed: 2, good: false });
    expect(judged.lines).toContain("  FAIL auth/gone is named as not run, and there is no such scenario");
  });

  it("fails a scenario whose check succeeds without the gateway alone", () => {
    const skipped = { ...passing("sse-retry"), succeeded: [] };
    const alone = [passing("sse-retry")];
    expect(clientVerdictOn("legacy", [skipped], { terms: none, requirements: both, alone })).toMatchObject({
      passed: 0,
      good: false,
    });
  });
});

describe("a client scenario", () => {
  const check = (status: string): Record<string, string> => ({ id: "c", name: "C", description: "does it", status });
  const ended = { stdout: `${drivenMark}\n`, stderr: "" };

  it("passes when its checks succeed and the command came to its end", () => {
    const scenario = clientScenarioOf(required("a"), [check("SUCCESS"), check("SKIPPED"), check("INFO")], ended);
    expect(scenario).toEqual({ ...required("a"), succeeded: ["c (C)"], failures: [], warnings: [] });
  });

  it.each(["FAILURE", "WARNING"])("fails with a check that is a %s", (status) => {
    expect(clientScenarioOf(required("a"), [check("SUCCESS"), check(status)], ended).failures).toEqual(["c: does it"]);
  });

  it("fails when the command ended early, whatever the checks say", () => {
    const output = { stdout: "", stderr: "first\nthe last word\n" };
    expect(clientScenarioOf(required("a"), [check("SUCCESS")], output).failures).toEqual([
      "command: ended early. the last word",
    ]);
  });

  it("fails without a check", () => {
    expect(clientScenarioOf(required("a"), [], ended).failures).toEqual(["left no result"]);
  });

  it("is of the era that its revision stands for", () => {
    expect([eraOf("2025-11-25"), eraOf("2026-07-28")]).toEqual(["legacy", "modern"]);
    expect(() => eraOf("2025-06-18")).toThrow("No era");
  });
});
