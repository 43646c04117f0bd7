import { describe, expect, it } from "vitest";
import { readArguments, type Command } from "../../src/cli/arguments.ts";
import type { GrantWish } from "../../src/cli/grant.ts";

function grantOrder(subject: string, issuer: string, wanted: GrantWish, tenant?: string): Command {
  return { command: "grant", order: { config: "a.yaml", subject, issuer, tenant, wanted } };
}

describe("the command line", () => {
  it.each([
    ["serve a.yaml", { command: "serve", file: "a.yaml" }],
    ["check a.yaml", { command: "check", file: "a.yaml", budget: false, live: false }],
    ["check --budget a.yaml --live", { command: "check", file: "a.yaml", budget: true, live: true }],
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
    ["grant list ada --issuer corp -c a.yaml", grantOrder("ada", "corp", { does: "list" })],
    [
      "grant revoke ada --issuer corp --tenant acme --upstream crm -c a.yaml",
      grantOrder("ada", "corp", { does: "revoke", upstream: "crm" }, "acme"),
    ],
    [
      "grant admit nightly --issuer robots --upstream crm --client x --client y -c a.yaml",
      grantOrder("nightly", "robots", { does: "admit", upstream: "crm", clients: ["x", "y"] }),
    ],
    [
      "grant assign nightly --issuer robots --from ada --from-issuer corp --upstream crm --client x -c a.yaml",
      grantOrder("nightly", "robots", {
        does: "assign",
        upstream: "crm",
        clients: ["x"],
        from: { subject: "ada", issuer: "corp" },
      }),
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
    "serve a.yaml --live",
    "token list -c a.yaml --budget",
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
    "grant",
    "grant list -c a --issuer corp",
    "grant list ada bob -c a --issuer corp",
    "grant list ada -c a",
    "grant list ada --issuer corp",
    "grant list ada --issuer corp -c a --upstream crm",
    "grant give ada --issuer corp -c a",
    "grant revoke ada --issuer corp -c a",
    "grant revoke ada --issuer corp -c a --upstream crm --client x",
    "grant admit ada --issuer corp -c a --upstream crm",
    "grant admit ada --issuer corp -c a --client x",
    "grant admit ada --issuer corp -c a --upstream crm --client x --from bob",
    "grant assign bot --issuer corp -c a --upstream crm --client x --from ada",
    "grant assign bot --issuer corp -c a --upstream crm --client x --from-issuer corp",
    "grant assign bot --issuer corp -c a --upstream crm --from ada --from-issuer corp",
    "grant assign bot --issuer corp -c a --client x --from ada --from-issuer corp",
    "--verbose",
    "serve a --audit b",
    "__proto__",
  ])("%j is misused", (line) => {
    expect(readArguments(line === "" ? [] : line.split(" "))).toMatchObject({ command: "misused" });
  });
});
