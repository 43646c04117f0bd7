import { describe, expect, it } from "vitest";
import { createHeldScopes } from "../../src/auth/held-scopes.ts";

const held = createHeldScopes({
  known: [":odd", "crm:read", "crm:write", "crm:read:own", "tickets:read", "crmx:read", "crm"],
  implications: {
    admin: ["crm:*", "audit"],
    audit: ["admin", "audit:read"],
    "crm:write": ["crm:log"],
  },
});

describe("what a token's scopes are worth", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["themselves", ["tickets:read", "openid"], ["tickets:read", "openid"]],
    ["nothing for none", [], []],
    ["all below a hierarchy", ["crm:*"], ["crm:*", "crm:read", "crm:write", "crm:read:own", "crm:log"]],
    ["all below an inner hierarchy", ["crm:read:*"], ["crm:read:*", "crm:read:own"]],
    ["what they imply", ["crm:write"], ["crm:write", "crm:log"]],
    [
      "what that implies, in circles too",
      ["audit"],
      ["audit", "admin", "audit:read", "crm:*", "crm:read", "crm:write", "crm:read:own", "crm:log"],
    ],
    ["each scope once", ["crm:write", "crm:log"], ["crm:write", "crm:log"]],
    [
      "nothing by a star elsewhere",
      ["*", ":*", "crm*", "c*m:read", "crm:*:own"],
      ["*", ":*", "crm*", "c*m:read", "crm:*:own"],
    ],
    ["nothing that is not known", ["hr:*"], ["hr:*"]],
    ["nothing for the name of a member that every object has", ["constructor"], ["constructor"]],
  ])("is %s", (_, scopes, expected) => {
    expect(new Set(held(scopes))).toEqual(new Set(expected));
    expect(held(scopes)).toHaveLength(expected.length);
  });
});
