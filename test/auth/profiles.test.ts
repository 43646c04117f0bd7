import type { JWTPayload } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import type { TrustedIssuer } from "../../src/auth/trusted-issuer.ts";
import { bench, codeOf, goodClaims, issuer, refusalOf, resource } from "./harness.ts";
import { sign, signer } from "./mock-issuer.ts";
import type { Signer } from "./mock-issuer.ts";

let es: Signer;
beforeAll(async () => {
  es = await signer("es");
});

type Rules = Omit<Partial<TrustedIssuer>, "alias" | "issuer" | "keys">;

/** Kind and subject of the principal, or the refusal's code and what it is because of. */
async function read(rules: Rules, claims: JWTPayload, header: Record<string, unknown> = {}): Promise<unknown> {
  const trusted: TrustedIssuer = {
    alias: "corp",
    issuer,
    keys: { kind: "local", keys: () => ({ keys: [es.jwk] }) },
    ...rules,
  };
  const result = await bench([trusted]).present(await sign(es, { ...goodClaims, ...claims }, header));
  if (!result.ok)
    return [codeOf(result), refusalOf(result)?.facts["because"]].filter((one) => one !== undefined).join(" ");
  const { kind, subject, clientId, groups, scopes } = result.value;
  return { kind, subject, clientId, groups, scopes };
}

const audience = { [resource]: "app-1" };

describe("an audience that is a client's id", () => {
  const app = { aud: "app-1", client_id: "app-1" };
  const refused = "AUTH_TOKEN_TYPE_REFUSED audience of a client";
  it.each<[string, JWTPayload, object, unknown]>([
    ["takes a sign that it is no ID token", app, {}, refused],
    ["takes one from a token that names no client", { ...app, client_id: undefined }, {}, refused],
    ["takes one by azp as well", { ...app, client_id: undefined, azp: "app-1" }, {}, refused],
    ["takes one among several audiences", { ...app, aud: ["app-1", "x"] }, {}, refused],
    ["takes none from another client's token", { ...app, client_id: "desktop" }, {}, "ok"],
    ["a scope is one", { ...app, scope: "mcp:use" }, {}, "ok"],
    ["scp is one", { ...app, scp: ["mcp:use"] }, {}, "ok"],
    ["typ at+jwt is one", app, { typ: "at+jwt" }, "ok"],
    ["typ JWT is none", app, { typ: "JWT" }, refused],
    ["token_use access is one", { ...app, token_use: "access" }, {}, "ok"],
    ["Keycloak's Bearer is one", { ...app, typ: "Bearer" }, {}, "ok"],
    ["a nonce outweighs a scope", { ...app, scope: "mcp:use", nonce: "n" }, {}, "AUTH_TOKEN_TYPE_REFUSED nonce"],
  ])("%s", async (_, claims, header, expected) => {
    const found = await read({ audience }, claims, { ...header });
    expect(typeof found === "string" ? found : "ok").toBe(expected);
  });

  it("is not asked where the audience is the resource itself", async () => {
    expect(await read({ audience }, { client_id: undefined })).toMatchObject({ subject: "u1" });
  });
});

describe("the profile of", () => {
  it.each<[string, Rules, JWTPayload, Record<string, unknown>, unknown]>([
    ["Keycloak: no typ claim", { profile: "keycloak" }, {}, { typ: "JWT" }, "AUTH_TOKEN_TYPE_REFUSED typ"],
    [
      "Keycloak: an ID token for this resource",
      { profile: "keycloak" },
      { typ: "ID" },
      { typ: "JWT" },
      "AUTH_TOKEN_TYPE_REFUSED typ",
    ],
    [
      "Keycloak: a person who is called like a service account",
      { profile: "keycloak" },
      { typ: "Bearer", client_id: undefined, azp: "robot", preferred_username: "service-account-robot" },
      { typ: "JWT" },
      { kind: "human" },
    ],
    [
      "Keycloak: a person's token in which a mapper names the client",
      { profile: "keycloak" },
      { typ: "Bearer", client_id: "robot", preferred_username: "ada" },
      { typ: "JWT" },
      { kind: "human" },
    ],
    [
      "Keycloak: the service account of a client with capitals",
      { profile: "keycloak" },
      { typ: "Bearer", client_id: "Robot", preferred_username: "service-account-robot" },
      { typ: "JWT" },
      { kind: "service" },
    ],
    [
      "Entra: an ID token of the application itself",
      { profile: "entra", audience },
      { aud: "app-1", client_id: undefined, oid: "o", sub: "pairwise", roles: ["admin"] },
      { typ: "JWT" },
      "AUTH_TOKEN_TYPE_REFUSED audience of a client",
    ],
    ["Entra: nobody's object", { profile: "entra" }, {}, { typ: "JWT" }, "AUTH_CLAIM_INVALID"],
    [
      "Entra: an application by idtyp",
      { profile: "entra" },
      { oid: "o", sub: "other", idtyp: "app" },
      { typ: "JWT" },
      { kind: "service", subject: "o" },
    ],
    [
      "Entra: a person by idtyp, whatever is absent",
      { profile: "entra" },
      { oid: "o", sub: "o", idtyp: "user" },
      { typ: "JWT" },
      { kind: "human" },
    ],
    [
      "Entra: one id for subject and object, but delegated",
      { profile: "entra" },
      { oid: "o", sub: "o", scp: "mcp:use" },
      { typ: "JWT" },
      { kind: "human" },
    ],
    [
      "Entra: groups kept elsewhere",
      { profile: "entra" },
      { oid: "o", _claim_names: { groups: "src1" } },
      { typ: "JWT" },
      "AUTH_CLAIM_INVALID",
    ],
    [
      "Entra: groups left out",
      { profile: "entra" },
      { oid: "o", hasgroups: true },
      { typ: "JWT" },
      "AUTH_CLAIM_INVALID",
    ],
    [
      "Entra: groups left out of a token whose roles are the groups",
      { profile: "entra", groupsClaim: "roles" },
      { oid: "o", hasgroups: true, roles: ["Crm.Use"] },
      { typ: "JWT" },
      { groups: ["corp:Crm.Use"] },
    ],
    [
      "Auth0: a service in the format of RFC 9068",
      { profile: "auth0" },
      { sub: "robot@clients", client_id: "robot" },
      { typ: "at+jwt" },
      { kind: "service", subject: "robot@clients", clientId: "robot" },
    ],
    [
      "Auth0: a service in its own format",
      { profile: "auth0" },
      { sub: "robot@clients", client_id: undefined, azp: "robot" },
      { typ: "JWT" },
      { kind: "service", subject: "robot@clients", clientId: "robot" },
    ],
    [
      "Auth0: the service of another client",
      { profile: "auth0" },
      { sub: "robot@clients", client_id: "desktop" },
      { typ: "at+jwt" },
      { kind: "human" },
    ],
    [
      "Okta: a token for Okta itself",
      { profile: "okta" },
      {},
      { typ: "application/okta-internal-at+jwt" },
      "AUTH_TOKEN_TYPE_REFUSED typ",
    ],
    ["Okta: the client of cid", { profile: "okta" }, { uid: "00u", cid: "c" }, {}, { subject: "00u", clientId: "c" }],
    ["Cognito: no token_use", { profile: "cognito" }, {}, {}, "AUTH_TOKEN_TYPE_REFUSED token_use"],
    [
      "Cognito: the client is no audience where there is one",
      { profile: "cognito", audience },
      { token_use: "access", client_id: "app-1", aud: "elsewhere" },
      {},
      "AUTH_AUDIENCE_MISMATCH",
    ],
    [
      "Cognito: a resource that is bound",
      { profile: "cognito", audience },
      { token_use: "access", client_id: "other" },
      {},
      { clientId: "other" },
    ],
    [
      "Cognito: a client that is called like the resource",
      { profile: "cognito" },
      { token_use: "access", client_id: resource, aud: undefined as never },
      {},
      "AUTH_AUDIENCE_MISMATCH",
    ],
    [
      "Cognito: a client that nothing is mapped to",
      { profile: "cognito" },
      { token_use: "access", client_id: "undefined", aud: undefined as never },
      {},
      "AUTH_AUDIENCE_MISMATCH",
    ],
    ["authentik: no scope", { profile: "authentik" }, {}, { typ: "JWT" }, "AUTH_TOKEN_TYPE_REFUSED scope"],
    [
      "generic: the client is no audience",
      { audience },
      { client_id: "app-1", aud: undefined as never },
      {},
      "AUTH_AUDIENCE_MISMATCH",
    ],
    ["Ping: a person is not the client", { profile: "ping" }, {}, {}, { kind: "human", subject: "u1" }],
  ])("%s", async (...[, rules, claims, header, expected]) => {
    const found = await read(rules, claims, header);
    if (typeof expected === "string") expect(found).toBe(expected);
    else expect(found).toMatchObject(expected as object);
  });
});

describe("what configuration says goes before the profile", () => {
  it.each<[string, Rules, JWTPayload, Record<string, unknown>, unknown]>([
    ["the subject", { profile: "entra", subjectClaim: "sub" }, { oid: "o" }, { typ: "JWT" }, { subject: "u1" }],
    [
      "the subject by e-mail address, in its one spelling",
      { subjectClaim: "email" },
      { email: "Ada@Corp.Test" },
      {},
      { subject: "ada@corp.test" },
    ],
    ["the subject, absent", { subjectClaim: "uid" }, {}, {}, "AUTH_CLAIM_INVALID"],
    [
      "groups",
      { profile: "cognito", groupsClaim: "g" },
      { token_use: "access", g: ["a"], "cognito:groups": ["b"] },
      {},
      { groups: ["corp:a"] },
    ],
    ["typ", { tokenTypes: ["x+jwt"] }, {}, { typ: "x+jwt" }, { subject: "u1" }],
    ["typ, another", { tokenTypes: ["x+jwt"] }, {}, { typ: "at+jwt" }, "AUTH_TOKEN_TYPE_REFUSED typ"],
    ["typ, none", { tokenTypes: ["x+jwt"] }, {}, {}, "AUTH_TOKEN_TYPE_REFUSED typ"],
    ["no typ", { tokenTypes: ["none"] }, {}, {}, { subject: "u1" }],
  ])("%s", async (...[, rules, claims, header, expected]) => {
    const found = await read(rules, claims, header);
    if (typeof expected === "string") expect(found).toBe(expected);
    else expect(found).toMatchObject(expected as object);
  });
});

describe("a scope's prefix", () => {
  const scopePrefix = { [resource]: "api://crm/" };
  it("is taken off, and another server's is left on", async () => {
    const scope = "api://crm/mcp:use api://hr/mcp:use mcp:see api://crm/";
    const scopes = ["mcp:use", "api://hr/mcp:use", "mcp:see"];
    expect(await read({ scopePrefix }, { scope })).toMatchObject({ scopes });
    expect(
      await read({ scopePrefix: { "https://gw.test/hr/mcp": "api://crm/" } }, { scope: "api://crm/a" }),
    ).toMatchObject({
      scopes: ["api://crm/a"],
    });
  });
});
