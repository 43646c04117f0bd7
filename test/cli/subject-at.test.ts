import { describe, expect, it } from "vitest";
import { otherIdentities } from "../../src/cli/other-identities.ts";
import { subjectAt } from "../../src/cli/subject-at.ts";
import type { Config } from "../../src/config/types.ts";
import { limits } from "../../src/model/limits.ts";

const config = {
  publicUrl: "https://mcp.test",
  limits,
  auth: {
    kind: "issuers",
    issuers: [
      { alias: "corp", issuer: "https://login.test", tenant: "acme", tenantClaim: undefined },
      { alias: "many", issuer: "https://many.test/", tenant: "default", tenantClaim: "tid" },
      { alias: "mail", issuer: "https://mail.test", tenant: "default", tenantClaim: undefined, subjectClaim: "email" },
    ],
    builtIn: {
      alias: "own",
      clients: [{ clientId: "Nightly" }],
      provider: { issuer: "https://idp.test", subjectFrom: "email" },
      assertionIssuers: [
        { alias: "okta", issuer: "https://okta.test", subjectFrom: "email" },
        { alias: "entra", issuer: "https://entra.test", subjectFrom: "sub" },
        { alias: "idp", issuer: "https://idp.test", subjectFrom: "email" },
      ],
    },
    headless: { alias: "robots", tenant: "default" },
  },
} as unknown as Config;

const named = (issuer: string, tenant?: string, subject = "ada"): ReturnType<typeof subjectAt> =>
  subjectAt({ issuer, tenant, subject }, config);

describe("whom a command names", () => {
  it.each([
    ["corp", undefined, { tenant: "acme", issuer: "https://login.test", subject: "ada" }],
    ["https://login.test", undefined, { tenant: "acme", issuer: "https://login.test", subject: "ada" }],
    ["corp", "acme", { tenant: "acme", issuer: "https://login.test", subject: "ada" }],
    ["many", "t1", { tenant: "t1", issuer: "https://many.test/", subject: "ada" }],
    ["own", undefined, { tenant: "default", issuer: "https://mcp.test", subject: "ada" }],
    ["robots", undefined, { tenant: "default", issuer: "headless", subject: "ada" }],
  ])("at %s in tenant %s is the principal of its tokens", (issuer, tenant, who) => {
    expect(named(issuer, tenant)).toEqual(who);
  });

  it.each([
    ["nobody", undefined, "nobody is none of the issuers corp, many, mail, own, robots"],
    ["https://login.test/", undefined, "https://login.test/ is none of the issuers corp, many, mail, own, robots"],
    ["many", undefined, "tokens of many name their tenant: say --tenant too"],
    ["corp", "other", "everybody of corp is of tenant acme"],
  ])("at %s in tenant %s is nobody: %s", (issuer, tenant, sentence) => {
    expect(named(issuer, tenant)).toBe(sentence);
  });

  it.each([
    ["mail", "Ada@Corp.test", "ada@corp.test"],
    ["own", "Ada@Corp.test", "ada@corp.test"],
    ["own", "okta:Ada@Corp.test", "okta:ada@corp.test"],
    ["own", "entra:Ada", "entra:Ada"],
    ["own", "Nightly", "Nightly"],
    ["corp", "Ada@Corp.test", "Ada@Corp.test"],
    ["robots", "Ada@Corp.test", "Ada@Corp.test"],
  ])("at %s as %s is %s: an e-mail address has one spelling, and nothing else has", (issuer, subject, spelled) => {
    expect(named(issuer, undefined, subject)).toMatchObject({ subject: spelled });
  });

  it("is looked for elsewhere in the spelling of there", () => {
    const who = { tenant: "acme", issuer: "https://login.test", subject: "Ada@Corp.test" };
    const names = otherIdentities(who, config).map((other) => other.who?.subject);
    expect(names).toEqual(["ada@corp.test"]);
    const own = { tenant: "default", issuer: "https://mcp.test", subject: "ada@corp.test" };
    expect(otherIdentities(own, config).map((other) => other.who?.subject)).toEqual([
      "ada@corp.test",
      undefined,
      "ada@corp.test",
    ]);
  });

  it("has a name of at least one character, and of no more than a token may give", () => {
    const most = limits.identityCharsMax;
    expect(named("corp", undefined, "a".repeat(most))).toMatchObject({ tenant: "acme" });
    for (const subject of ["", "a".repeat(most + 1)])
      expect(named("corp", undefined, subject)).toBe(`SUBJECT takes 1 to ${most} characters`);
  });
});
