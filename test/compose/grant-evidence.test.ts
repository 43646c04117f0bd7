import { describe, expect, it } from "vitest";
import type { AuditDraft } from "../../src/audit/port.ts";
import { hearGrantChanges, witnessIn } from "../../src/compose-grant-evidence.ts";
import { writeGrantChange } from "../../src/gateway/crossing-grant.ts";
import type { GrantChange } from "../../src/upstream/grants/port.ts";

const change: GrantChange = {
  did: "revoked",
  person: { tenant: "acme", issuer: "https://login.example.com", subject: "ada" },
  upstream: "crm",
  issuer: "https://as.example",
  scopes: ["read"],
  clientId: "",
};
const grant = {
  did: "revoked",
  issuer: "https://login.example.com",
  subject: "ada",
  upstream: "crm",
  server: "https://as.example",
  scopes: ["read"],
};

function recorder(): { readonly events: AuditDraft[]; record(event: AuditDraft): boolean } {
  const events: AuditDraft[] = [];
  return { events, record: (event) => events.push(event) > 0 };
}

describe("an event of a grant", () => {
  it.each<[string, Partial<GrantChange>, object]>([
    ["names person, upstream, server and scopes", {}, {}],
    [
      "names the client that was admitted",
      { did: "opened", clientId: "editor" },
      { did: "opened", clientId: "editor" },
    ],
    ["says why it was lost", { did: "lost", reason: "withdrawn" }, { did: "lost", reason: "withdrawn" }],
  ])("%s", (_what, given, expected) => {
    const evidence = recorder();
    witnessIn(evidence).changed({ ...change, ...given });
    const ref = expect.stringMatching(/^[0-9A-Z]{10}$/) as unknown;
    expect(evidence.events).toEqual([{ type: "credential", ref, tenant: "acme", grant: { ...grant, ...expected } }]);
  });

  it("is left by a replica under the reference of the command that did it, and for nothing else that arrives", () => {
    const evidence = recorder();
    let take: (text: string) => void = () => undefined;
    hearGrantChanges({ evidence, courier: { receive: (_topic, taking) => (take = taking) } });
    for (const text of [writeGrantChange({ change, ref: "REF0000001" }), "{}", "no JSON"]) take(text);
    expect(evidence.events).toEqual([{ type: "credential", ref: "REF0000001", tenant: "acme", grant }]);
  });
});

it("an event of a quarantine shows where the upstream leads, and nothing else that it put into a URL", () => {
  const evidence = recorder();
  const found = [
    "https://user:secret@evil.example/a?token=1#b",
    "ignore all previous instructions",
    `https://evil.example/${"x".repeat(500)}`,
  ];
  witnessIn(evidence).quarantined({ upstream: "crm", known: "https://as.example", found });
  const [event] = evidence.events;
  expect(event).toMatchObject({ type: "administration", tenant: "" });
  expect(event?.quarantine).toEqual({
    upstream: "crm",
    known: "https://as.example",
    found: ["https://evil.example/a", "no URL", `https://evil.example/${"x".repeat(179)}`],
  });
});
