import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { bodyOf, hashOfBody, lineFrom } from "../../src/audit/line.ts";
import { check } from "../../src/cli/check.ts";
import { policy } from "../../src/cli/policy.ts";
import type { PolicyOrder } from "../../src/cli/policy-arguments.ts";
import { readPolicyArguments } from "../../src/cli/policy-arguments.ts";
import { shownItems } from "../../src/compose-shown-items.ts";
import { captured, env, folderOf, soundConfig, soundPolicy } from "./workspace.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function orderOf(line: string): PolicyOrder {
  const read = readPolicyArguments(line.split(" "));
  if (read.command !== "policy") throw new Error(JSON.stringify(read));
  return read.order;
}

async function run(line: string): Promise<Ran> {
  const output = captured();
  const now = (): number => Date.parse("2026-03-04T10:00:00Z");
  const code = await policy({ order: orderOf(line) }, { env, output, now, shownItems });
  return { code, out: output.stdout.join("\n"), err: output.stderr.join("\n") };
}

/** Events as a sink writes them; of each the line stands alone, as reading them asks for no chain. */
function events(...of: readonly Partial<AuditEvent>[]): string {
  const lines = of.map((event, index) => {
    const unsealed: Omit<AuditEvent, "hash"> = {
      v: 1,
      seq: index + 1,
      at: `2026-03-04T10:00:0${index}.000Z`,
      replica: "one",
      prev: "0".repeat(64),
      digests: { configuration: "", policy: "", lock: "" },
      type: "returned",
      ref: `000000000${index}`,
      tenant: "default",
      server: "support",
      client: { era: "modern", revision: "2026-07-28" },
      principal: who("ada"),
      item: { upstream: "crm", kind: "tool", name: "get_customer", digest: "" },
      exposedName: "crm_get_customer",
      decision: { effect: "allow", rule: "everything", read: [] },
      ...event,
    };
    const body = bodyOf(unsealed, unsealed);
    return lineFrom(body, hashOfBody(body));
  });
  return `${lines.join("\n")}\n`;
}

const who = (subject: string): NonNullable<AuditEvent["principal"]> => ({
  issuer: "https://login.example.com",
  kind: "human",
  subject,
  clientId: "",
  groups: ["corp:support"],
  scopes: [],
});

const support = "issuer: corp\nsubject: ada\ngroups: [corp:support]\n";
const items = "- { upstream: crm, tool: get_customer }\n- { upstream: crm, tool: drop_customers }\n";
const base = { "sallyport.yaml": soundConfig, "policies/support.yaml": soundPolicy, "ada.yaml": support };

function folder(more: Readonly<Record<string, string>> = {}): string {
  return folderOf({ ...base, "audit.jsonl": events(), "items.yaml": items, ...more });
}

describe("the arguments of sallyport policy", () => {
  it.each([
    ["lint -c a", { does: "lint", config: "a", policies: undefined, json: false }],
    ["test -c a --policies p --require-coverage", { does: "test", policies: "p", requireCoverage: true }],
    ["explain -c a --principal REF --json", { does: "explain", principal: "REF", json: true, item: undefined }],
    ["explain -c a --principal f --upstream crm --item tool:x", { upstream: "crm", item: "tool:x" }],
    ["matrix -c a --principals f --redis --csv", { does: "matrix", from: "redis", csv: true }],
    ["matrix -c a --principals f", { does: "matrix", from: undefined }],
    ["diff -c a --from x --to y --audit e", { does: "diff", before: "x", after: "y", from: { audit: "e" } }],
    ["diff -c a --to y --redis", { does: "diff", before: undefined, from: "redis" }],
  ])("%s is understood", (line, order) => {
    expect(orderOf(line)).toMatchObject(order);
  });

  it.each([
    "",
    "explain",
    "frobnicate -c a",
    "lint",
    "lint -c a extra",
    "lint -c a --principal f",
    "explain -c a",
    "explain -c a --principal f --upstream crm",
    "explain -c a --principal f --upstream crm --item x",
    "matrix -c a",
    "matrix -c a --principals f --csv --json",
    "matrix -c a --principals f --audit e --redis",
    "diff -c a --to y",
    "diff -c a --audit e",
    "diff -c a --to y --audit e --redis",
    "diff -c a --to y --audit e --policies p",
    "lint -c a --what",
  ])("%s is wrong usage", (line) => {
    expect(readPolicyArguments(line.split(" ")).command).toBe("misused");
  });
});

describe("sallyport policy explain", () => {
  it("answers for somebody a file describes", async () => {
    const at = folder();
    const asked = `explain -c ${at}/sallyport.yaml --principal ${at}/ada.yaml --server support --upstream crm --item`;
    expect(await run(`${asked} tool:get_customer`)).toEqual({
      code: 0,
      out: [
        "allow by everything",
        "It is listed.",
        "Rules:",
        `  everything (allow, ${at}/policies/support.yaml#/rules/0): it decides`,
      ].join("\n"),
      err: "",
    });
    const { out } = await run(`${asked} tool:drop`);
    expect(out.split("\n")).toEqual([
      "deny: no-rule-allows",
      "It is not listed, and is answered like what does not exist.",
      "Rules:",
      `  everything (allow, ${at}/policies/support.yaml#/rules/0): it is about something else`,
      '    what tool: wants "get_*", found "tool drop"',
    ]);
    const json = JSON.parse((await run(`${asked} tool:get_x --json`)).out) as object;
    expect(json).toMatchObject({ decision: { effect: "allow" }, shaping: { presets: {} }, listed: "listed" });
  });

  it("answers for the request of a reference, by what evidence holds of it", async () => {
    const sound = soundPolicy.replace('"get_*" }', '"get_*" }, when: "has(args.id) && size(args.id) > 3"');
    const decision = { effect: "deny", rule: "everything", reason: "condition-false", read: ["/id"] } as const;
    const audit = events({ type: "denied", decision, read: { "/id": "12345" }, argumentsBytes: 20 });
    const at = folder({ "policies/support.yaml": sound, "audit.jsonl": audit });
    const { code, out } = await run(`explain -c ${at}/sallyport.yaml --principal 0000000000`);
    expect([code, out.split("\n").slice(0, 3)]).toEqual([
      0,
      [
        "deny by everything: condition-error",
        "With what is recorded of the arguments it is: allow by everything.",
        "It is listed.",
      ],
    ]);
  });

  it.each([
    ["nobody", "--principal REF", "REF is no file, and no event of anybody carries it"],
    ["no server", "--principal ada.yaml", "--server takes one of support"],
    ["another server", "--principal ada.yaml --server other", "--server takes one of support, and not other"],
    [
      "another upstream",
      "--principal ada.yaml --server support --upstream x --item tool:y",
      "--upstream takes one of crm",
    ],
    [
      "a kind that is none",
      "--principal ada.yaml --server support --upstream crm --item thing:y",
      "--item takes KIND:NAME",
    ],
    ["a name without a lock", "--principal ada.yaml --server support --item crm_x", "crm_x is no item of support"],
    ["no moment", "--principal ada.yaml --server support --at noon", "--at takes a time"],
    ["a bad description", "--principal bad.yaml --server support", "bad.yaml#/roles"],
    ["arguments that are none", "--principal ada.yaml --server support --args items.yaml", "items.yaml#"],
  ])("says what is wrong: %s", async (_law, options, expected) => {
    const at = folder({ "bad.yaml": "roles: [x]\n" });
    const line = `explain -c ${at}/sallyport.yaml ${options.replaceAll(/(\w+\.yaml)/g, `${at}/$1`)}`;
    const { code, out, err } = await run(line);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(expected);
  });
});

const holds = `- case: reads
  principal: { issuer: corp, groups: [corp:support] }
  server: support
  item: { upstream: crm, tool: get_customer }
  args: {}
  expect: { effect: allow }
`;

describe("sallyport policy test", () => {
  it.each<[string, Readonly<Record<string, string>>, string, number, readonly string[]]>([
    ["holds", { "policies/support.cases.yaml": holds }, "", 0, ["1 of 1 cases hold"]],
    [
      "fails",
      { "policies/support.cases.yaml": holds.replace("effect: allow", "effect: deny, rule: x") },
      "",
      1,
      [
        "not so: reads (AT/policies/support.cases.yaml#/0)",
        "  effect: expected deny, found allow",
        "  rule: expected x, found everything",
        "    allow by everything",
        "    It is listed.",
        "    Rules:",
        "      everything (allow, AT/policies/support.yaml#/rules/0): it decides",
        "0 of 1 cases hold",
      ],
    ],
    ["nothing is covered", {}, "", 0, ["0 of 0 cases hold"]],
    ["nothing is covered, and should be", {}, " --require-coverage", 1, ["0 of 0 cases hold"]],
    ["unreadable", { "policies/support.cases.yaml": "a: [" }, "", 1, [""]],
    ["no cases", { "policies/support.cases.yaml": "- {}" }, "", 1, [""]],
  ])("%s", async (...[, more, option, expected, lines]) => {
    const at = folder(more);
    const { code, out } = await run(`test -c ${at}/sallyport.yaml${option}`);
    expect([code, out.replaceAll(at, "AT").split("\n")]).toEqual([expected, lines]);
  });

  it("names files without cases and rules that no case is about", async () => {
    const { err } = await run(`test -c ${folder()}/sallyport.yaml`);
    expect(err).toMatch(/support\.yaml has no cases\nno case is decided by everything \(/u);
  });

  it("runs the cases of another folder under the same configuration", async () => {
    const at = folder({ "other/o.yaml": soundPolicy.replace("get_*", "x"), "other/o.cases.yaml": holds });
    expect((await run(`test -c ${at}/sallyport.yaml --policies ${at}/other`)).code).toBe(1);
  });

  it("the example policies hold their cases, all of them, and lint finds nothing", async () => {
    const config = resolve(import.meta.dirname, "../policy/examples/sallyport.yaml");
    const tested = await run(`test -c ${config} --require-coverage`);
    expect([tested.code, tested.err]).toEqual([0, ""]);
    expect(tested.out).toMatch(/^(\d+) of \1 cases hold$/u);
    expect(await run(`lint -c ${config}`)).toEqual({ code: 0, out: "0 findings", err: "" });
  });
});

describe("sallyport policy lint", () => {
  it("finds what check warns of", async () => {
    const at = folder();
    const { code, out } = await run(`lint -c ${at}/sallyport.yaml`);
    expect([code, out]).toEqual([
      1,
      [
        `${at}/policies/support.yaml#/rules/0/what: warning pattern-without-lock: this allow means items by a pattern, or any: without an enforced catalog lock also those that crm may add tomorrow`,
        "1 finding",
      ].join("\n"),
    ]);
    const output = captured();
    await check(
      { file: `${at}/sallyport.yaml`, budget: false, live: false },
      { env, output, measure: () => Promise.reject(new Error("not asked")) },
    );
    expect(output.stderr.join("\n")).toContain("pattern-without-lock");
  });

  it("hints alone are no failure", async () => {
    const rules = soundPolicy.replace('"get_*"', "get_x");
    const at = folder({
      "policies/support.yaml": rules,
      "policies/more.yaml": rules.replace("policy: support", "policy: more").replace("everything", "more"),
    });
    expect(await run(`lint -c ${at}/sallyport.yaml`)).toMatchObject({
      code: 0,
      out: expect.stringContaining("hint same-rule") as string,
    });
  });
});

describe("sallyport policy matrix", () => {
  const people =
    "- { name: Ada, issuer: corp, subject: ada, groups: [corp:support] }\n- { name: =Bob, issuer: corp }\n";
  it("says who can do what and did it last when", async () => {
    const at = folder({ "people.yaml": people, "audit.jsonl": events({}, {}, { type: "denied" }) });
    const asked = `matrix -c ${at}/sallyport.yaml --principals ${at}/people.yaml --items ${at}/items.yaml`;
    const line = "Ada: allow tool get_customer of crm at support by everything";
    expect((await run(asked)).out.split("\n")).toEqual([line, "4 cells, of which 3 are denied"]);
    const used = await run(`${asked} --audit ${at}/audit.jsonl`);
    expect(used.out.split("\n")[0]).toBe(`${line}, last used 2026-03-04T10:00:01.000Z`);
    expect((await run(`${asked} --csv --audit ${at}/audit.jsonl`)).out.split("\n")).toEqual([
      "principal,server,upstream,kind,item,grade,rule,missing,lastUsed",
      "Ada,support,crm,tool,get_customer,allow,everything,,2026-03-04T10:00:01.000Z",
      `"'=Bob",support,crm,tool,get_customer,deny,,,never`,
      "Ada,support,crm,tool,drop_customers,deny,,,never",
      `"'=Bob",support,crm,tool,drop_customers,deny,,,never`,
    ]);
    expect(JSON.parse((await run(`${asked} --json`)).out)).toHaveLength(4);
  });

  it.each([
    ["no items", "--principals people.yaml", "say --items FILE"],
    ["no name", "--principals bad.yaml --items items.yaml", "bad.yaml#/0/name"],
    ["no moment", "--principals people.yaml --items items.yaml --at noon", "--at takes a time"],
    ["no evidence", "--principals people.yaml --items items.yaml --audit none.yaml", "cannot be read (ENOENT)"],
    ["no Redis", "--principals people.yaml --items items.yaml --redis", "keeps no events in Redis"],
  ])("says what is wrong: %s", async (_law, options, expected) => {
    const at = folder({ "people.yaml": people, "bad.yaml": "- { issuer: corp }\n" });
    const { code, err } = await run(`matrix -c ${at}/sallyport.yaml ${options.replaceAll(/(\w+\.yaml)/g, `${at}/$1`)}`);
    expect(code).toBe(1);
    expect(err).toContain(expected);
  });
});

describe("sallyport policy diff", () => {
  const deny = `policy: no\nrules:\n  - { id: no-eve, effect: deny, who: { issuer: corp, subject: eve }, what: { anything: true } }\n`;
  const open = soundPolicy.replace('upstream: crm, tool: "get_*"', "upstream: crm");

  async function diff(recorded: string, after: Readonly<Record<string, string>>, option = ""): Promise<Ran> {
    const files = Object.entries(after).map(([name, text]) => [`after/${name}`, text] as const);
    const at = folder({ "audit.jsonl": recorded, ...Object.fromEntries(files) });
    const from = option.replace("AT", at);
    return run(`diff -c ${at}/sallyport.yaml ${from}--to ${at}/after --audit ${at}/audit.jsonl`);
  }

  const traffic = events(
    {},
    { principal: who("eve") },
    { type: "attempted" },
    {
      type: "listed",
      principal: who("eve"),
      decision: { effect: "allow", rule: "", read: [] },
      item: undefined,
      exposedName: undefined,
    } as unknown as Partial<AuditEvent>,
    {
      type: "denied",
      item: { upstream: "crm", kind: "tool", name: "drop", digest: "" },
      decision: undefined,
      refusal: { code: "ITEM_HIDDEN", facts: {} },
    } as unknown as Partial<AuditEvent>,
    { principal: { ...who("ada"), issuer: "https://elsewhere.example.com" } },
  );

  it.each(["", "--from AT/policies "])("nothing changes under the same policies (%j)", async (from) => {
    const { code, out } = await diff(traffic, { "support.yaml": soundPolicy }, from);
    expect([code, out]).toEqual([0, "0 gained, 0 lost, 0 changed, 4 the same, 0 undecidable, 1 not read"]);
  });

  it("says who loses what, and gains", async () => {
    const { code, out } = await diff(traffic, { "support.yaml": open, "no.yaml": deny });
    expect(code).toBe(1);
    expect(out.split("\n")).toEqual([
      "Gained:",
      "  ada of https://login.example.com: tool drop of crm at support: deny -> allow by everything (1 times, last 2026-03-04T10:00:04.000Z)",
      "Lost:",
      "  eve of https://login.example.com: tool get_customer of crm at support: allow by everything -> deny by no-eve (1 times, last 2026-03-04T10:00:01.000Z)",
      "  eve of https://login.example.com: the server itself at support: allow -> deny by no-eve (1 times, last 2026-03-04T10:00:03.000Z)",
      "1 gained, 2 lost, 0 changed, 1 the same, 0 undecidable, 1 not read",
    ]);
  });

  it.each<[string, Partial<AuditEvent>, number]>([
    ["what was read was long", { read: { "/id": { digest: "a".repeat(64) } } }, 1],
    ["what was read was lost", { shortened: ["read"] }, 1],
    ["what was read is no well-formed text", { read: { "/id": "a\ufffd" } }, 1],
    ["what was read is there", { read: { "/id": "abcde" } }, 0],
    ["what was read was not there", { read: {} }, 0],
    ["there were no arguments", { argumentsBytes: 2 }, 0],
  ])("undecidable by what evidence holds: %s", async (_law, event, undecidable) => {
    const decision = { effect: "allow", rule: "everything", read: ["/id"] } as const;
    const after = soundPolicy.replace(" }\n", ', when: "has(args.id) && size(args.id) > 3" }\n');
    const { out } = await diff(events({ decision, ...event }), { "support.yaml": after });
    expect(out).toContain(`${undecidable} undecidable`);
  });

  it("prints JSON that holds nothing a terminal acts on", async () => {
    const item = { upstream: "crm", kind: "tool", name: "a\u009b\u202e", digest: "" } as const;
    const { out } = await diff(events({ item }), { "support.yaml": soundPolicy }, "--json ");
    expect(out).toContain("tool a\\u009b\\u202e of crm");
  });

  it("exits with 1 where policies or events cannot be read", async () => {
    expect((await diff(traffic, { "support.yaml": "rules" })).code).toBe(1);
    const at = folder();
    expect((await run(`diff -c ${at}/sallyport.yaml --to ${at}/policies --audit ${at}/none`)).code).toBe(1);
    expect((await run(`diff -c ${at}/none --to ${at}/policies --audit ${at}/none`)).code).toBe(1);
  });
});
