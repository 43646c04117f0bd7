import { describe, expect, it } from "vitest";
import { jsonOut } from "../../src/cli/output.ts";
import { policy } from "../../src/cli/policy.ts";
import { readPolicyArguments } from "../../src/cli/policy-arguments.ts";
import { shownItems } from "../../src/compose-shown-items.ts";
import { digestOf } from "../../src/protocol/json/canonical.ts";
import { writtenLock } from "../catalog/lock/lock-bench.ts";
import { captured, env, folderOf, soundConfig } from "./workspace.ts";

async function run(line: string): Promise<string> {
  const read = readPolicyArguments(line.split(" "));
  if (read.command !== "policy") throw new Error(JSON.stringify(read));
  const output = captured();
  await policy({ order: read.order }, { env, output, now: () => Date.parse("2026-03-04T10:00:00Z"), shownItems });
  return [...output.stdout, ...output.stderr].join("\n");
}

const transfer = { name: "transfer", inputSchema: { type: "object" } };
const drawn = { name: "draw", inputSchema: { type: "object" } };
const other = `sha256:${"0".repeat(64)}`;

/** Transfers as they are locked are allowed, and draws as they never were. */
async function folder(more: Readonly<Record<string, string>> = {}): Promise<string> {
  const policies = `policy: pins
rules:
  - { id: pinned, effect: allow, who: { anyone: true }, what: { upstream: crm, tool: transfer, digest: "sha256:${digestOf(transfer)}" } }
  - { id: stale, effect: allow, who: { anyone: true }, what: { upstream: crm, tool: draw, digest: "${other}" } }
`;
  return folderOf({
    "sallyport.yaml": `${soundConfig}catalogLock: ./lock.json\n`,
    "lock.json": await writtenLock({ crm: { tool: [transfer, drawn] } }),
    "policies/pins.yaml": policies,
    "ada.yaml": "issuer: corp\nsubject: ada\n",
    "people.yaml": "- { name: Ada, issuer: corp, subject: ada }\n",
    ...more,
  });
}

describe("a rule that pins a definition is answered about the one that is locked", () => {
  it("by matrix, of the lock's items and of a list", async () => {
    const items = `- { upstream: crm, tool: transfer }\n- { upstream: crm, tool: draw }\n- { upstream: crm, tool: transfer, digest: "${other}" }\n`;
    const at = await folder({ "items.yaml": items });
    const asked = `matrix -c ${at}/sallyport.yaml --principals ${at}/people.yaml`;
    const line = "Ada: allow tool transfer of crm at support by pinned";
    expect((await run(asked)).split("\n")).toEqual([line, "2 cells, of which 1 are denied"]);
    expect((await run(`${asked} --items ${at}/items.yaml`)).split("\n")).toEqual([
      line,
      "3 cells, of which 2 are denied",
    ]);
  });

  it.each([
    ["the name that clients see", "--item crm_transfer", "allow by pinned"],
    ["an identity", "--upstream crm --item tool:transfer", "allow by pinned"],
    ["an identity with another definition", "--upstream crm --item tool:draw", "deny: no-rule-allows"],
    ["an identity that is not locked", "--upstream crm --item tool:drop", "deny: no-rule-allows"],
  ])("by explain, of %s", async (_law, item, expected) => {
    const at = await folder();
    const out = await run(`explain -c ${at}/sallyport.yaml --principal ${at}/ada.yaml --server support ${item}`);
    expect(out.split("\n")[0]).toBe(expected);
  });

  it("by cases that name no digest", async () => {
    const cases = ["transfer", "draw"].map(
      (tool) =>
        `- { case: ${tool}, principal: { issuer: corp }, server: support, item: { upstream: crm, tool: ${tool} }, args: {}, expect: { effect: ${tool === "draw" ? "deny" : "allow"} } }\n`,
    );
    const at = await folder({ "policies/pins.cases.yaml": cases.join("") });
    expect((await run(`test -c ${at}/sallyport.yaml`)).split("\n")[0]).toBe("2 of 2 cases hold");
  });
});

describe("lint of an allow by pattern", () => {
  const open = `policy: p\nrules:\n  - { id: a, effect: allow, who: { anyone: true }, what: { upstream: crm, tool: "*" } }\n`;
  it.each([
    ["enforce", false],
    ["observe", true],
    ["off", true],
  ])("where the upstream's lock is %s: warns, %s", async (lock, warns) => {
    const config = `${soundConfig.replace("  crm: { url:", `  crm: { lock: ${lock}, url:`)}catalogLock: ./lock.json\n`;
    const at = await folder({ "sallyport.yaml": config, "policies/pins.yaml": open });
    expect((await run(`lint -c ${at}/sallyport.yaml`)).includes("pattern-without-lock")).toBe(warns);
  });
});

describe("JSON for other programs", () => {
  const name = "a\u009b2J\u202e\u2028\n\t\u{e0001}é😀";
  it("reads back as it was, and holds nothing that a terminal acts on", () => {
    const text = jsonOut({ name, list: [name] });
    expect(JSON.parse(text)).toEqual({ name, list: [name] });
    expect(text.split("\n").join("")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
    expect(text).toContain("é😀");
  });

  it.each([
    "matrix --principals AT/people.yaml --items AT/items.yaml --json",
    "explain --principal AT/ada.yaml --server support --upstream crm --item tool:b\u009b\u202e --json",
    "test --json",
    "lint --json",
  ])("is what every command prints: %s", async (line) => {
    const tool = "a\u009b\u202e";
    const named = `policy: odd\nrules:\n  - { id: odd, effect: allow, who: { anyone: true }, what: { upstream: crm, tool: ["${tool}"] }, when: "true" }\n`;
    const oddCase = `- { case: "${tool}", principal: { issuer: corp }, server: support, item: { upstream: crm, tool: x }, args: {}, expect: { effect: allow } }\n`;
    const at = await folder({
      "items.yaml": `- { upstream: crm, tool: "${tool}" }\n`,
      "policies/odd.yaml": named,
      "policies/odd.cases.yaml": oddCase,
    });
    const [verb = "", ...rest] = line.replaceAll("AT", at).split(" ");
    const out = await run([verb, "-c", `${at}/sallyport.yaml`, ...rest].join(" "));
    expect(out).toContain("\\u009b\\u202e");
    expect(out.split("\n").join("")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
  });
});
