import { describe, expect, it } from "vitest";
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
    ],
    builtIn: { alias: "own" },
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
    ["nobody", undefined, "nobody is none of the issuers corp, many, own, robots"],
    ["https://login.test/", undefined, "https://login.test/ is none of the issuers corp, many, own, robots"],
    ["many", undefined, "tokens of many name their tenant: say --tenant too"],
    ["corp", "other", "everybody of corp is of tenant acme"],
  ])("at %s in tenant %s is nobody: %s", (issuer, tenant, sentence) => {
    expect(named(issuer, tenant)).toBe(sentence);
  });

  it("has a name of at least one character, and of no more than a token may give", () => {
    const most = limits.identityCharsMax;
    expect(named("corp", undefined, "a".repeat(most))).toMatchObject({ tenant: "acme" });
    for (const subject of ["", "a".repeat(most + 1)])
      expect(named("corp", undefined, subject)).toBe(`SUBJECT takes 1 to ${most} characters`);
  });
});
