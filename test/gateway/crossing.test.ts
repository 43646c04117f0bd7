import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readChange, writeChange } from "../../src/gateway/connections/change.ts";
import { readAccessChange, writeAccessChange } from "../../src/gateway/crossing-subject.ts";
import { readTokenChange, writeTokenChange } from "../../src/gateway/crossing-token.ts";

const text = fc.string({ unit: "grapheme" });
const subject = fc.record({ tenant: text, issuer: text, subject: text });

describe("what crosses between replicas about a person", () => {
  it("arrives as it was sent", () => {
    const did = fc.constantFrom("denied" as const, "admitted" as const);
    fc.assert(
      fc.property(subject, text, did, (who, other, what) => {
        const change = { person: who, upstream: other };
        expect(readChange(writeChange(change))).toEqual(change);
        const access = { who, did: what, ref: other };
        expect(readAccessChange(writeAccessChange(access))).toEqual(access);
      }),
    );
  });

  it.each([
    "",
    "[]",
    "{}",
    '{"person":{"tenant":"t","issuer":"i"},"upstream":"crm"}',
    '{"person":{"tenant":"t","issuer":"i","subject":7},"upstream":"crm"}',
    '{"person":{"tenant":"t","issuer":"i","subject":"s"}}',
    '{"tenant":"t","issuer":"i","subject":"s","ref":"R"}',
    '{"tenant":"t","issuer":"i","subject":"s","did":"denied"}',
    '{"tenant":"t","issuer":"i","subject":"s","did":"promoted","ref":"R"}',
    '{"tenant":"t","issuer":"i","did":"denied","ref":"R"}',
  ])("is nothing when it is %s", (message) => {
    expect([readChange(message), readAccessChange(message)]).toEqual([undefined, undefined]);
  });
});

describe("what crosses to replicas about a headless token", () => {
  it("arrives as it was sent", () => {
    const did = fc.constantFrom("created" as const, "revoked" as const);
    fc.assert(
      fc.property(fc.record({ did, tenant: text, id: text, service: text, ref: text }), (change) => {
        expect(readTokenChange(writeTokenChange(change))).toEqual(change);
      }),
    );
  });

  it.each(["", "[]", "{}", ...["did", "tenant", "id", "service", "ref"]])(
    "is nothing when it is or lacks %s",
    (part) => {
      const whole = { did: "created", tenant: "t", id: "i", service: "s", ref: "R" };
      const lacking = Object.fromEntries(Object.entries(whole).filter(([name]) => name !== part));
      expect(readTokenChange(part in whole ? JSON.stringify(lacking) : part)).toBeUndefined();
      expect(readTokenChange(JSON.stringify({ ...whole, did: "promoted" }))).toBeUndefined();
    },
  );
});
