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
    ["--version", { command: "version" }],
    ["--help", { command: "help" }],
    ["serve --help", { command: "help" }],
    ["-h", { command: "help" }],
  ])("%s is understood", (line, command) => {
    expect(readArguments(line.split(" "))).toEqual(command);
  });

  it.each([
    "",
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
    "--verbose",
    "serve a --audit b",
    "__proto__",
  ])("%j is misused", (line) => {
    expect(readArguments(line === "" ? [] : line.split(" "))).toMatchObject({ command: "misused" });
  });
});
