import { describe, expect, it } from "vitest";
import { isEmailClaim, spelledSubject } from "../../src/model/spelled-subject.ts";

describe("a subject", () => {
  it.each([
    ["email", "Ada.L@Corp.Test", "ada.l@corp.test"],
    ["/email", "Ada@Corp.test", "ada@corp.test"],
    ["email", "ada@corp.test", "ada@corp.test"],
    ["sub", "Ada@Corp.test", "Ada@Corp.test"],
    ["/custom/email", "Ada@Corp.test", "Ada@Corp.test"],
  ])("of the claim %s, %s, is spelled %s", (claim, subject, spelled) => {
    expect(spelledSubject(claim, subject)).toBe(spelled);
  });

  it.each(["\u212Aim@corp.test", "\u0130da@corp.test", "\u00C4da@corp.test"])(
    "that is an address with letters beyond ASCII keeps them, and becomes nobody else's: %s",
    (address) => {
      expect(spelledSubject("email", address)).toBe(address);
    },
  );

  it("is an e-mail address by the claim's name and by its pointer", () => {
    expect(["email", "/email", "mail", "emails", "/a/email"].map(isEmailClaim)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
