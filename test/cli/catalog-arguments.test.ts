import { describe, expect, it } from "vitest";
import { readArguments } from "../../src/cli/arguments.ts";

const signed = ["--approver", "ada", "--reason", "Seen."];

describe("sallyport catalog, as it is typed", () => {
  it.each([
    ["diff -c f", { does: "diff" }],
    ["update -c f --upstream crm", { does: "update", by: "catalog update", reason: "As its upstream offers it." }],
    ["update -c f --approver ada --reason Seen.", { does: "update", by: "ada", reason: "Seen." }],
    [
      "approve crm tool get -c f --approver ada --reason Seen. --replace --digest sha256:0",
      {
        does: "approve",
        by: "ada",
        reason: "Seen.",
        approval: { kind: "tool", name: "get", digest: "sha256:0", replaces: true },
      },
    ],
    [
      "approve crm instructions -c f --approver ada --reason Seen.",
      {
        does: "approve",
        by: "ada",
        reason: "Seen.",
        approval: { kind: "instructions", name: "", digest: undefined, replaces: false },
      },
    ],
  ])("%s", (line, wanted) => {
    expect(readArguments(["catalog", ...line.split(" ")])).toMatchObject({
      command: "catalog",
      order: { config: "f", wanted },
    });
  });

  it("reads which upstream, and which files stand for one", () => {
    const line = ["catalog", "diff", "-c", "f", "--upstream", "crm", "--from-definition", "crm=a=b.json"];
    expect(readArguments(line)).toMatchObject({
      order: { upstream: "crm", definitions: new Map([["crm", "a=b.json"]]) },
    });
    expect(readArguments(["catalog", "--help"])).toEqual({ command: "help" });
  });

  it.each([
    [[]],
    [["purge", "-c", "f"]],
    [["diff"]],
    [["diff", "more", "-c", "f"]],
    [["diff", "-c", "f", "--approver", "ada"]],
    [["update", "-c", "f", "--digest", "x"]],
    [["update", "-c", "f", "--bogus"]],
    [["diff", "-c", "f", "--from-definition", "crm"]],
    [["diff", "-c", "f", "--from-definition", "=x"]],
    [["approve", "crm", "tool", "get", "-c", "f"]],
    [["approve", "crm", "tool", "get", "-c", "f", "--approver", "ada"]],
    [["approve", "crm", "tool", "-c", "f", ...signed]],
    [["approve", "crm", "resource", "x://a", "-c", "f", ...signed]],
    [["approve", "crm", "instructions", "get", "-c", "f", ...signed]],
    [["approve", "crm", "tool", "get", "more", "-c", "f", ...signed]],
    [["approve", "crm", "tool", "get", "--upstream", "crm", "-c", "f", ...signed]],
  ])("%j is misused", (args) => {
    expect(readArguments(["catalog", ...args])).toMatchObject({ command: "misused" });
  });
});
