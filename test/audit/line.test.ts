import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { bodyOf } from "../../src/audit/line.ts";
import { ExactNumber } from "../../src/model/json.ts";
import { canonicalJson } from "../../src/protocol/json/canonical.ts";
import { parseJsonText } from "../../src/protocol/json/parse.ts";

/** Every member an event can have; the compiler asks for those that are added. */
const whole: Required<Omit<AuditEvent, "hash">> = {
  v: 1,
  seq: 7,
  at: "2026-11-29T12:00:00.000Z",
  replica: "replica-1",
  prev: "0".repeat(64),
  digests: { configuration: "c", lock: "l", policy: "p" },
  type: "returned",
  ref: "REF0000001",
  tenant: "acme",
  principal: { clientId: "d", groups: ["g"], issuer: "i", kind: "human", scopes: [], subject: "s" },
  server: "support",
  presentation: "plain",
  method: "tools/call",
  exposedName: "get",
  item: { digest: "d", kind: "tool", name: "get", upstream: "crm" },
  claims: { named: ["region", "tier"], held: { tier: "gold", region: "é" } },
  client: { era: "modern", revision: "2026-07-28" },
  upstreamHop: { era: "legacy", revision: "2025-06-18" },
  constrained: ["few"],
  decision: { effect: "allow", read: ["/id"], rule: "r" },
  outcome: "returned",
  refusal: { code: "POLICY_DENIED", facts: { rule: "r" } },
  argumentsDigest: "a",
  resultDigest: "b",
  digestKey: "k",
  argumentsBytes: 1,
  resultBytes: 2,
  durationMs: 3,
  upstreamMs: 4,
  findings: [{ count: 1, detail: "d", kind: "schema-violated", where: "/x" }],
  read: { "/id": "OPS-1" },
  listed: { known: 2, shown: 1 },
  asked: { feature: "elicitation", outcome: "accepted", upstream: "crm" },
  strangers: { addressPrefix: "192.0.2.0/24", count: 3 },
  drift: { upstream: "crm", kind: "tool", mode: "enforce", reason: "changed", found: "sha256:f", approved: [] },
  loss: { count: 1, sink: "file" },
  access: { did: "denied", issuer: "https://login.example.com", subject: "ada" },
  bundle: { because: "change", did: "replaced", before: { configuration: "c", lock: "l", policy: "o" }, faults: 0 },
  grant: {
    did: "connected",
    issuer: "i",
    scopes: ["read"],
    server: "https://as.example",
    subject: "ada",
    upstream: "crm",
  },
  quarantine: { found: ["https://b.example/"], known: "https://a.example", upstream: "crm" },
  token: { did: "revoked", id: "1f2e", service: "nightly" },
  shadow: { policy: "q", change: "lose", effect: "deny", rule: "r", gained: 0, lost: 1 },
  shortened: ["read"],
};

describe("the body of an event", () => {
  it.each<[string, Partial<AuditEvent>]>([
    ["whose members come in order", {}],
    ["with keys out of order within a member", { item: { upstream: "crm", name: "get", kind: "tool", digest: "d" } }],
    ["with an exact number", { read: { "/id": new ExactNumber("9007199254740993") } }],
    ["with half a character", { exposedName: "half \ud83d" }],
  ])("%s holds every member, in the one canonical text (RFC 8785)", (_, change) => {
    const event = { ...whole, ...change };
    const body = bodyOf(event, event);
    const parsed = parseJsonText(body);
    expect(parsed.ok && canonicalJson(parsed.value)).toBe(body);
    expect(Object.keys(parsed.ok ? (parsed.value as object) : {}).sort()).toEqual(Object.keys(whole).sort());
  });

  it("says the same of what it has written before, and of nothing else", () => {
    const { principal } = whole;
    const first = bodyOf(whole, whole);
    expect(bodyOf({ ...whole, principal }, { ...whole, seq: 8 })).toBe(first.replace('"seq":7', '"seq":8'));
    const other = {
      ...whole,
      principal: { ...principal, subject: "half \ud83d" },
      item: { ...whole.item, name: "put" },
    };
    const expected = first.replace('"subject":"s"', '"subject":"half \ufffd"').replace('"name":"get"', '"name":"put"');
    expect([bodyOf(other, other), bodyOf(other, other), bodyOf(whole, whole)]).toEqual([expected, expected, first]);
  });

  it("leaves out what an event does not have", () => {
    const { v, seq, at, replica, prev, digests, type, ref, tenant } = whole;
    const event = { v, seq, at, replica, prev, digests, type, ref, tenant };
    const expected = `{"at":"${at}","digests":{"configuration":"c","lock":"l","policy":"p"},"prev":"${prev}","ref":"REF0000001","replica":"replica-1","seq":7,"tenant":"acme","type":"returned","v":1}`;
    expect(bodyOf(event, event)).toBe(expected);
    const unordered = { ...event, digests: { policy: "p", lock: "l", configuration: "c" } };
    expect(bodyOf(unordered, unordered)).toBe(expected);
  });
});
