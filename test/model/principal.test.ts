import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSubject, principalKey, readPrincipalKey } from "../../src/model/principal.ts";
import type { PrincipalIdentity } from "../../src/model/principal.ts";

const identity: fc.Arbitrary<PrincipalIdentity> = fc.record({
  tenant: fc.string({ unit: "binary" }),
  issuer: fc.string({ unit: "binary" }),
  kind: fc.constantFrom("human" as const, "service" as const),
  subject: fc.string({ unit: "binary" }),
  clientId: fc.string({ unit: "binary" }),
});

describe("the key of a principal", () => {
  it("says who it is of", () => {
    fc.assert(
      fc.property(identity, (who) => {
        expect(readPrincipalKey(principalKey(who))).toEqual(who);
      }),
    );
  });

  it.each([
    "gateway",
    "",
    "[]",
    "{}",
    '["default","https://login.test","human","ada"]',
    '["default","https://login.test","human","ada","desktop","more"]',
    '["default","https://login.test","robot","ada","desktop"]',
    '["default","https://login.test","human",7,"desktop"]',
  ])("is not %s", (text) => {
    expect(readPrincipalKey(text)).toBeUndefined();
  });
});

describe("a person", () => {
  const ada = { tenant: "default", issuer: "https://login.test", subject: "ada" };

  it("is the same whatever client acts, and no other by tenant, issuer or name", () => {
    expect(isSubject(ada, { ...ada })).toBe(true);
    for (const part of ["tenant", "issuer", "subject"]) expect(isSubject(ada, { ...ada, [part]: "other" })).toBe(false);
  });
});
