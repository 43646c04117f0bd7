import { describe, expect, it } from "vitest";
import { readArguments } from "../../src/cli/arguments.ts";

describe("the command line", () => {
  it.each([
    ["serve a.yaml", { command: "serve", file: "a.yaml" }],
    ["check a.yaml", { command: "check", file: "a.yaml" }],
    ["audit verify a.jsonl", { command: "verify", file: "a.jsonl" }],
    ["why ABC --audit a.jsonl", { command: "why", ref: "ABC", from: { audit: "a.jsonl" } }],
    ["why ABC -c a.yaml", { command: "why", ref: "ABC", from: { config: "a.yaml" } }],
    ["why --config=a.yaml ABC", { command: "why", ref: "ABC", from: { config: "a.yaml" } }],
    ["token list -c a.yaml", { command: "token", config: "a.yaml", order: { does: "list" } }],
    ["token revoke 0a1b -c a.yaml", { command: "token", config: "a.yaml", order: { does: "revoke", id: "0a1b" } }],
    [
      "token create -c a.yaml --service s --server crm --item tool:crm/x --item tool:crm/y --scope r --days 7",
      {
        command: "token",
        config: "a.yaml",
        order: {
          does: "create",
          wanted: { service: "s", server: "crm", items: ["tool:crm/x", "tool:crm/y"], scopes: ["r"], days: 7 },
        },
      },
    ],
    [
      "offboard ada --issuer corp -c a.yaml",
      {
        command: "offboard",
        order: { config: "a.yaml", subject: "ada", issuer: "corp", tenant: undefined, days: 400 },
      },
    ],
    [
      "offboard ada --issuer corp --tenant acme --days 7 -c a.yaml",
      { command: "offboard", order: { config: "a.yaml", subject: "ada", issuer: "corp", tenant: "acme", days: 7 } },
    ],
    [
      "offboard ada --issuer corp --days soon -c a.yaml",
      {
        command: "offboard",
        order: { config: "a.yaml", subject: "ada", issuer: "corp", tenant: undefined, days: NaN },
      },
    ],
    [
      "readmit ada --issuer corp -c a.yaml",
      { command: "readmit", order: { config: "a.yaml", subject: "ada", issuer: "corp", tenant: undefined, days: 400 } },
    ],
    ["--version", { command: "version" }],
    ["--help", { command: "help" }],
    ["serve --help", { command: "help" }],
    ["-h", { command: "help" }],
  ])("%s is understood", (line, command) => {
    expect(readArguments(line.split(" "))).toEqual(command);
  });

  it.each([
    "",
    "offboard --issuer corp -c a.yaml",
    "offboard ada eve --issuer corp -c a.yaml",
    "offboard ada -c a.yaml",
    "offboard ada --issuer corp",
    "readmit ada --issuer corp -c a.yaml --days 7",
    "check a.yaml --issuer corp",
    "serve",
    "serve a b",
    "serv a",
    "check",
    "check a -c b",
    "audit",
    "audit a.jsonl",
    "audit verify",
    "why",
    "why ABC",
    "why ABC DEF -c a",
    "why ABC -c a --audit b",
    "why ABC -c",
    "token",
    "token list",
    "token list x -c a",
    "token revoke -c a",
    "token revoke a b -c a",
    "token make -c a",
    "token create x -c a --service s --server crm",
    "token create -c a --service s",
    "token create -c a --server crm",
    "token list -c a --service s",
    "serve a --service s",
    "--verbose",
    "serve a --audit b",
    "__proto__",
  ])("%j is misused", (line) => {
    expect(readArguments(line === "" ? [] : line.split(" "))).toMatchObject({ command: "misused" });
  });
});
