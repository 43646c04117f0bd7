import { describe, expect, it } from "vitest";
import { authorizationLastLine, authorizationVerdict } from "./authorization-report.ts";
import type { Scenario } from "./suite.ts";

function scenario(changes: Partial<Scenario>): Scenario {
  return { name: "code", required: true, succeeded: ["code (Code)"], failures: [], warnings: [], ...changes };
}

describe("the verdict on the built-in authorization server", () => {
  it.each<[string, readonly Scenario[], string, boolean]>([
    ["all succeed", [scenario({}), scenario({ name: "metadata" })], "2/2", true],
    ["one fails beside what succeeds", [scenario({}), scenario({ failures: ["x"] })], "1/2", false],
    ["one was skipped", [scenario({}), scenario({ succeeded: [] })], "1/2", false],
    ["none was run", [], "0/0", false],
  ])("when %s", (_what, scenarios, count, good) => {
    const verdict = authorizationVerdict(scenarios);
    expect([authorizationLastLine(verdict), verdict.good]).toEqual([`conformance authorization: ${count}`, good]);
  });

  it("shows what failed", () => {
    expect(authorizationVerdict([scenario({ failures: ["code: no iss"] })]).lines).toEqual([
      "  FAIL code",
      "    code: no iss",
    ]);
  });
});
