import type { JWTPayload } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { anonymousPrincipal } from "../../src/auth/anonymous.ts";
import type { TrustedIssuer } from "../../src/auth/trusted-issuer.ts";
import type { Principal } from "../../src/model/principal.ts";
import { bench, goodClaims, issuer, refusalOf, startSeconds } from "./harness.ts";
import { sign, signer } from "./mock-issuer.ts";
import type { Signer } from "./mock-issuer.ts";

let es: Signer;
beforeAll(async () => {
  es = await signer("es");
});

type Rules = Omit<Partial<TrustedIssuer>, "alias" | "issuer" | "keys">;

/** The principal, or the refusal's code and facts. */
async function read(rules: Rules, claims: JWTPayload): Promise<unknown> {
  const trusted: TrustedIssuer = {
    alias: "corp",
    issuer,
    keys: { kind: "local", keys: () => ({ keys: [es.jwk] }) },
    ...rules,
  };
  const result = await bench([trusted]).present(await sign(es, { ...goodClaims, ...claims }));
  return result.ok ? result.value : { code: refusalOf(result)?.code, ...refusalOf(result)?.facts };
}

const invalid = (claim: string, reason: string): object => ({ code: "AUTH_CLAIM_INVALID", claim, reason });

describe("a principal", () => {
  it("is what the claims say, read by the issuer's rules", async () => {
    const rules: Rules = {
      tenant: "acme",
      groupsClaim: "groups",
      claims: { team: "department", level: "/hr/level", gone: "gone" },
    };
    const claims = {
      azp: "web",
      groups: ["support", "lead"],
      scope: "mcp:read crm:write",
      department: "it",
      hr: { level: 3 },
    };
    expect(await read(rules, claims)).toEqual({
      tenant: "acme",
      issuer,
      issuerAlias: "corp",
      kind: "human",
      subject: "u1",
      clientId: "desktop",
      groups: ["corp:support", "corp:lead"],
      scopes: ["mcp:read", "crm:write"],
      claims: { team: "it", level: 3 },
      expiresAt: startSeconds + 3600,
      key: `["acme","${issuer}","human","u1","desktop"]`,
    } satisfies Principal);
  });

  it.each<[string, Rules, JWTPayload, object]>([
    ["azp where there is no client_id", {}, { client_id: undefined, azp: "web" }, { clientId: "web" }],
    ["no client id at all", {}, { client_id: undefined }, { clientId: "", kind: "human" }],
    ["a client that acts for itself", {}, { sub: "robot", client_id: "robot" }, { kind: "service", subject: "robot" }],
    [
      "a configured sign of a service",
      { serviceWhen: { claim: "idtyp", values: ["app"] } },
      { idtyp: "app" },
      { kind: "service" },
    ],
    [
      "a client that acts for itself, without that sign",
      { serviceWhen: { claim: "idtyp", values: ["app"] } },
      { sub: "robot", client_id: "robot" },
      { kind: "service" },
    ],
    [
      "another value of that claim",
      { serviceWhen: { claim: "idtyp", values: ["app"] } },
      { idtyp: "user" },
      { kind: "human" },
    ],
    [
      "a list of that value",
      { serviceWhen: { claim: "idtyp", values: ["app"] } },
      { idtyp: ["app"] },
      { kind: "human" },
    ],
    ["tenant from a claim", { tenantClaim: "tid" }, { tid: "t9" }, { tenant: "t9" }],
    ["tenant claim absent", { tenantClaim: "tid" }, {}, invalid("tid", "missing")],
    ["tenant claim empty", { tenantClaim: "tid" }, { tid: "" }, invalid("tid", "not text")],
    ["no groups claim configured", {}, { groups: ["a"] }, { groups: [] }],
    ["groups absent", { groupsClaim: "groups" }, {}, { groups: [] }],
    ["one group as text", { groupsClaim: "groups" }, { groups: "support" }, { groups: ["corp:support"] }],
    [
      "groups by pointer",
      { groupsClaim: "/realm_access/roles" },
      { realm_access: { roles: ["a"] } },
      { groups: ["corp:a"] },
    ],
    [
      "groups by a name with dots and slashes",
      { groupsClaim: "https://x.test/groups" },
      { "https://x.test/groups": ["a"] },
      { groups: ["corp:a"] },
    ],
    ["groups of numbers", { groupsClaim: "groups" }, { groups: ["a", 1] }, invalid("groups", "not a list of text")],
    [
      "groups kept elsewhere",
      { groupsClaim: "groups" },
      { _claim_names: { groups: "src1" } },
      invalid("groups", "distributed claim"),
    ],
    [
      "a claim kept elsewhere that nobody reads",
      { groupsClaim: "groups" },
      { _claim_names: { photo: "src1" } },
      { groups: [] },
    ],
    ["scopes in a list", {}, { scope: ["a", "b"] }, { scopes: ["a", "b"] }],
    ["scopes under scp", {}, { scp: "a b" }, { scopes: ["a", "b"] }],
    ["scope before scp", {}, { scope: "a", scp: "b" }, { scopes: ["a"] }],
    [
      "scopes under a configured name alone",
      { scopeClaim: "permissions" },
      { scope: "a", permissions: ["b"] },
      { scopes: ["b"] },
    ],
    ["scopes of another shape", {}, { scope: { a: 1 } }, invalid("scope", "not a list of text")],
    ["superfluous spaces between scopes", {}, { scope: " a  b " }, { scopes: ["a", "b"] }],
    ["a claim named as a member that every object has", { claims: { made: "constructor" } }, {}, { claims: {} }],
  ])("%s", async (_, rules, claims, expected) => {
    expect(await read(rules, claims)).toMatchObject(expected);
  });

  it("has the same key after a refresh, and another one with another client", async () => {
    const [first, renewed, elsewhere] = await Promise.all([
      read({}, {}),
      read({}, { exp: startSeconds + 7200, scope: "more" }),
      read({}, { client_id: "web" }),
    ]);
    const key = (principal: unknown): string => (principal as Principal).key;
    expect(key(renewed)).toBe(key(first));
    expect(key(elsewhere)).not.toBe(key(first));
  });
});

it("the anonymous principal holds nothing and cannot be changed", () => {
  expect(anonymousPrincipal).toMatchObject({ kind: "service", groups: [], scopes: [], claims: {}, clientId: "" });
  expect(anonymousPrincipal.key).toBe('["default","anonymous","service","anonymous",""]');
  expect(Object.isFrozen(anonymousPrincipal) && Object.isFrozen(anonymousPrincipal.claims)).toBe(true);
});
