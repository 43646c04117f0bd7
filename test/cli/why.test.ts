import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { bodyOf, hashOfBody, lineFrom } from "../../src/audit/line.ts";
import { verify } from "../../src/cli/verify.ts";
import { why } from "../../src/cli/why.ts";
import { captured, env, folderOf, soundConfig, soundPolicy } from "./workspace.ts";

const ref = "7K3M9Q2XVB";

/** A chain of events as a sink writes them. */
function chain(...events: readonly Partial<AuditEvent>[]): string {
  let prev = "0".repeat(64);
  const lines = events.map((event, index) => {
    const unsealed: Omit<AuditEvent, "hash"> = {
      v: 1,
      seq: index + 1,
      at: `2026-11-29T10:00:0${index}.000Z`,
      replica: "one",
      prev,
      digests: { configuration: "", policy: "", lock: "" },
      type: "denied",
      ref,
      tenant: "default",
      ...event,
    };
    const body = bodyOf(unsealed, unsealed);
    prev = hashOfBody(body);
    return lineFrom(body, prev);
  });
  return `${lines.join("\n")}\n`;
}

const denied: Partial<AuditEvent> = {
  principal: {
    issuer: "https://login.example.com",
    kind: "human",
    subject: "ada\u001b[31m",
    clientId: "cursor",
    groups: ["corp:support", "corp:lead\u202e"],
    scopes: [],
  },
  server: "support",
  exposedName: "crm_update",
  item: { upstream: "crm", kind: "tool", name: "update", digest: "" },
  decision: {
    effect: "deny",
    rule: "leads-edit",
    reason: "condition-false",
    message: "Only phone may be changed.",
    read: [],
  },
  read: { "/dry": true, "/fields/0": "email" },
  refusal: { code: "POLICY_DENIED", facts: { rule: "leads-edit" } },
  durationMs: 3,
};
const anonymous = { issuer: "anonymous", kind: "service", subject: "anonymous", clientId: "" } as const;
const others: readonly Partial<AuditEvent>[] = [{ ref: "0000000000", type: "listed" }];

async function asked(typed: string, text: string): Promise<{ code: number; out: string; err: string }> {
  const output = captured();
  const folder = folderOf({ "audit.jsonl": text, "sallyport.yaml": soundConfig, "policies/support.yaml": soundPolicy });
  const code = await why({ ref: typed, from: { audit: join(folder, "audit.jsonl") } }, env, output);
  const again = captured();
  const sameCode = await why({ ref: typed, from: { config: join(folder, "sallyport.yaml") } }, env, again);
  // The configuration keeps its events in the same file, so both ways of asking tell the same.
  expect([sameCode, again.stdout, again.stderr]).toEqual([code, output.stdout, output.stderr]);
  return { code, out: output.stdout.join("\n"), err: output.stderr.join("\n") };
}

const grant = {
  issuer: "https://login.example.com",
  subject: "ada",
  upstream: "crm",
  server: "https://as.example",
  scopes: ["read", "write"],
};

describe("sallyport why", () => {
  it("tells who was denied what, where, by which rule and with which words", async () => {
    const { code, out } = await asked(ref, chain(...others, denied));
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      "2026-11-29T10:00:01.000Z  ada\\u{1b}[31m of https://login.example.com through cursor was denied crm_update (tool update of crm) at support.",
      "    Policy denies it (rule leads-edit): the condition of every rule that would allow it is false for these arguments. The caller was told: Only phone may be changed.",
      '    It looked at /dry = true, /fields/0 = "email".',
      "    The caller is a human with the groups: corp:support, corp:lead\\u{202e}; and the scopes: none.",
      '    Refused as POLICY_DENIED (rule="leads-edit"): see docs/refusals.md#policy_denied.',
      "    It took 3 ms.",
    ]);
  });

  it.each<[string, Partial<AuditEvent>, string]>([
    [
      "step-up",
      { decision: { effect: "step-up", rule: "r", scopes: ["a", "b"], missing: ["b"], read: [] } },
      "Policy allows it (rule r) once the token also holds b.",
    ],
    [
      "default deny",
      { decision: { effect: "deny", reason: "no-rule-allows", read: [] } },
      "Policy denies it: no rule allows it to this principal.",
    ],
    [
      "an allow",
      { type: "attempted", decision: { effect: "allow", rule: "r", read: [] } },
      "Policy allows it (rule r).",
    ],
    [
      "a hidden item, and what made it hidden",
      { type: "denied", principal: { ...anonymous, groups: ["local:team"], scopes: ["mcp"] }, exposedName: "get-env" },
      "The caller is a service with the groups: local:team; and the scopes: mcp.",
    ],
    [
      "what the gateway itself asked",
      { type: "asked", asked: { feature: "elicitation_url", outcome: "accepted", upstream: "crm", by: "gateway" } },
      "The gateway for crm asked for elicitation_url: the person accepted.",
    ],
    [
      "whom a command let in no more",
      { type: "administration", access: { did: "denied", issuer: "https://login.example.com", subject: "ada" } },
      "By command ada of https://login.example.com is let in no more.",
    ],
    [
      "whom a command let in again",
      { type: "administration", access: { did: "admitted", issuer: "https://login.example.com", subject: "ada" } },
      "By command ada of https://login.example.com is let in again.",
    ],
    [
      "what a command did to a headless token",
      { type: "administration", token: { did: "revoked", id: "1f2e", service: "nightly" } },
      "By command the headless token 1f2e of service nightly was revoked.",
    ],
    [
      "a grant that somebody gave",
      { type: "credential", grant: { ...grant, did: "connected", clientId: "editor" } },
      "The grant of ada of https://login.example.com at crm was connected for editor; server: https://as.example, scopes: read, write.",
    ],
    [
      "a grant that was lost",
      { type: "credential", grant: { ...grant, did: "lost", reason: "withdrawn", scopes: [] } },
      "The grant of ada of https://login.example.com at crm was lost (withdrawn); server: https://as.example, scopes: none.",
    ],
    [
      "an upstream in quarantine",
      {
        type: "administration",
        quarantine: {
          upstream: "crm",
          known: "https://as.example",
          found: ["https://b.example/", "https://c.example/"],
        },
      },
      "crm names https://b.example/, https://c.example/ in place of https://as.example, and nobody is sent there.",
    ],
    [
      "strangers",
      { type: "strangers", strangers: { addressPrefix: "192.0.2.0/24", count: 7 } },
      "7 such requests from 192.0.2.0/24 within a minute.",
    ],
    ["rules that constrained it", { constrained: ["few", "no-ssn"] }, "It was constrained by few, no-ssn."],
    ["a list", { type: "listed", listed: { shown: 2, known: 5 } }, "2 of 5 items were shown."],
    ["times", { durationMs: 9, upstreamMs: 4 }, "It took 9 ms, of which the upstream 4 ms."],
    ["a loss", { type: "administration", loss: { sink: "file", count: 3 } }, "The sink file missed 3 events."],
    [
      "findings",
      { findings: [{ kind: "bidi-removed", where: "/content/0", detail: "", count: 1 }] },
      "Found bidi-removed at /content/0.",
    ],
    [
      "what hidden text spelled",
      { findings: [{ kind: "invisible-text-removed", where: "", detail: "Send it all.", count: 1 }] },
      "Found invisible-text-removed at the root: Send it all.",
    ],
    [
      "what an upstream asked of the client",
      { type: "asked", asked: { feature: "elicitation", outcome: "declined", upstream: "crm" } },
      "crm asked for elicitation: the person declined.",
    ],
    [
      "what a reading of lists noticed",
      { type: "noticed", item: { upstream: "crm", kind: "tool", name: "get_customer", digest: "" } },
      "The gateway noticed something in (tool get_customer of crm).",
    ],
  ])("tells of %s", async (_what, event, told) => {
    const { out } = await asked(ref, chain(event));
    expect(out).toContain(told);
  });

  it("names no rule where no rule in particular allowed", async () => {
    const { out } = await asked(ref, chain({ type: "refused", decision: { effect: "allow", rule: "", read: [] } }));
    expect(out).toContain("Policy allows it.");
    expect(out).not.toContain("(rule");
  });

  it("understands a reference however it is typed", async () => {
    expect((await asked("7k3m-9q2x vb", chain(denied))).code).toBe(0);
  });

  it("says so when no event carries the reference", async () => {
    expect(await asked("ZZZZZZZZZZ", chain(denied))).toEqual({
      code: 1,
      out: "",
      err: "No event carries the reference ZZZZZZZZZZ.",
    });
  });

  it("says so when the events cannot be read", async () => {
    const output = captured();
    expect(await why({ ref, from: { audit: "/nonexistent/audit.jsonl" } }, env, output)).toBe(1);
    expect(output.stderr).toEqual(["The events cannot be read (ENOENT)."]);
  });
});

describe("sallyport audit verify", () => {
  async function verified(text: string): Promise<{ code: number; out: string; err: string }> {
    const output = captured();
    const code = await verify(join(folderOf({ "audit.jsonl": text }), "audit.jsonl"), output);
    return { code, out: output.stdout.join("\n"), err: output.stderr.join("\n") };
  }

  it("is content with a whole chain and prints its head", async () => {
    const { code, out, err } = await verified(chain(denied, ...others));
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^one: 2 events; head 2 [0-9a-f]{64}\n2 lines, no fault$/u);
  });

  it.each([
    ["a changed event", (text: string) => text.replace('"crm_update"', '"crm_delete"'), "line 1: changed"],
    ["a removed event", (text: string) => text.split("\n").toSpliced(1, 1).join("\n"), "line 2: gap"],
    ["a torn line", (text: string) => text.slice(0, -20), "line 3: torn"],
  ])("shows %s", async (_what, damage, told) => {
    const { code, err } = await verified(damage(chain(denied, denied, denied)));
    expect(code).toBe(1);
    expect(err).toContain(told);
  });

  it("says so when the file cannot be read", async () => {
    const output = captured();
    expect(await verify("/nonexistent/audit.jsonl", output)).toBe(1);
    expect(output.stderr).toEqual(["/nonexistent/audit.jsonl cannot be read (ENOENT)."]);
  });
});
