import { randomBytes } from "node:crypto";
import type { Claims, Grant, Provider, ProviderKind } from "./provider.ts";

/** What each provider is documented to do, for an API `crm` whose tokens the gateway's server `crm` takes. */
export const ids = {
  /** Of the applications that stand for the gateway's servers, where a provider has such. */
  crm: "0f9f6d0e-crm",
  hr: "77a1b2c3-hr",
  tenant: "5e1f0a77-tenant",
};

const groups = ["support", "everyone"];

function times(provider: Provider): Claims {
  const now = provider.now();
  return { iat: now, nbf: now, exp: now + 300, jti: randomBytes(8).toString("hex") };
}

/** RFC 8707 to the letter: `resource` must be there and known; RFC 9068 tokens. */
export function strict(resources: () => readonly string[]): ProviderKind {
  return {
    issuerPath: "",
    metadataPaths: ["/.well-known/oauth-authorization-server"],
    alg: "ES256",
    revocation: true,
    refuse: (asked) => {
      const named = asked.getAll("resource");
      return named.length === 0 || named.some((one) => !resources().includes(one))
        ? ["invalid_target", "the resource is missing or unknown"]
        : undefined;
    },
    accessToken: (grant, provider) =>
      provider.sign(
        {
          ...rfc9068(grant, provider),
          aud: grant.resources.length === 1 ? grant.resources[0] : [...grant.resources],
          groups,
        },
        { typ: "at+jwt" },
      ),
    idToken: plainIdToken,
  };
}

function rfc9068(grant: Grant, provider: Provider): Claims {
  return {
    iss: provider.issuer,
    sub: grant.subject,
    client_id: grant.clientId,
    scope: grant.scopes.join(" "),
    ...times(provider),
  };
}

function plainIdToken(grant: Grant, provider: Provider): Claims {
  const { issuer } = provider;
  return { iss: issuer, sub: grant.subject, aud: grant.clientId, groups, ...times(provider) };
}

/**
 * Ignores `resource`. `aud` holds what mappers add, and `account` where the person has a role of that client, as the
 * realm's own role mapping puts it there; without either it is missing.
 */
export function keycloak(audienceMapper: () => readonly string[], hasAccountRole = true): ProviderKind {
  return {
    issuerPath: "/realms/corp",
    metadataPaths: ["/realms/corp/.well-known/openid-configuration"],
    revocation: true,
    accessToken: (grant, provider) =>
      provider.sign(
        {
          iss: provider.issuer,
          ...keycloakAudience([...audienceMapper(), ...(hasAccountRole ? ["account"] : [])]),
          sub: grant.isService ? "5f1c-user-of-robot" : grant.subject,
          typ: "Bearer",
          azp: grant.clientId,
          scope: grant.scopes.join(" "),
          realm_access: { roles: groups },
          ...(grant.isService
            ? { client_id: grant.clientId, preferred_username: `service-account-${grant.clientId}` }
            : { preferred_username: "ada", sid: "s1" }),
          ...times(provider),
        },
        { typ: "JWT" },
      ),
    idToken: (grant, provider) => ({
      ...plainIdToken(grant, provider),
      aud: [grant.clientId, ...audienceMapper()],
      typ: "ID",
      azp: grant.clientId,
      realm_access: { roles: groups },
    }),
  };
}

/** One is no list, none is no claim. */
function keycloakAudience(audiences: readonly string[]): Claims {
  return audiences.length === 0 ? {} : { aud: audiences.length === 1 ? audiences[0] : audiences };
}

/**
 * Version 2 tokens. A scope is asked for as `{application id URI}/{scope}` and carried without it. A `resource` that
 * is not that URI is refused; no PKCE methods in the metadata; no endpoint that revokes.
 */
export function entra(applicationUri: () => string): ProviderKind {
  return {
    issuerPath: `/${ids.tenant}/v2.0`,
    metadataPaths: [`/${ids.tenant}/v2.0/.well-known/openid-configuration`],
    metadata: { code_challenge_methods_supported: undefined },
    refuse: (asked) => {
      const api = (asked.get("scope") ?? "").split(" ").find((scope) => scope.includes("://"));
      if (api === undefined) return ["invalid_scope", "AADSTS70011: The provided value for scope is not valid."];
      const named = asked.get("resource");
      const agrees = named === null || api.startsWith(`${named}/`);
      return agrees
        ? undefined
        : ["invalid_target", "AADSTS9010010: The resource parameter doesn't match with the requested scopes."];
    },
    grantScopes: (asked) =>
      asked.map((scope) =>
        scope.startsWith(`${applicationUri()}/`) ? scope.slice(applicationUri().length + 1) : scope,
      ),
    accessToken: (grant, provider) =>
      provider.sign(
        {
          iss: provider.issuer,
          aud: ids.crm,
          azp: grant.clientId,
          azpacr: grant.isService ? "1" : "0",
          tid: ids.tenant,
          ver: "2.0",
          ...(grant.isService
            ? { oid: "oid-of-robot", sub: "oid-of-robot", roles: ["Crm.Use"] }
            : { oid: "oid-of-ada", sub: "pairwise-1", scp: apiScopes(grant).join(" "), groups }),
          ...times(provider),
        },
        { typ: "JWT" },
      ),
    idToken: (grant, provider) => ({
      iss: provider.issuer,
      aud: grant.clientId,
      tid: ids.tenant,
      ver: "2.0",
      oid: "oid-of-ada",
      sub: "pairwise-2",
      groups,
      ...times(provider),
    }),
  };
}

const openIdScopes = ["openid", "profile", "email", "offline_access"];

function apiScopes({ scopes }: Grant): readonly string[] {
  return scopes.filter((scope) => !openIdScopes.includes(scope));
}

/** A custom authorization server: one audience for all it issues, `scp` a list, the sign-in name in `sub`. */
export const okta: ProviderKind = {
  issuerPath: "/oauth2/default",
  metadataPaths: ["/oauth2/default/.well-known/openid-configuration"],
  revocation: true,
  accessToken: (grant, provider) =>
    provider.sign({
      ver: 1,
      iss: provider.issuer,
      aud: "api://crm",
      cid: grant.clientId,
      scp: grant.scopes,
      ...(grant.isService ? { sub: grant.clientId } : { sub: "ada@corp.test", uid: "00u-ada", groups }),
      ...times(provider),
    }),
  idToken: (grant, provider) => ({ ...plainIdToken(grant, provider), sub: "00u-ada", at_hash: "h", ver: 1 }),
};

/**
 * The issuer ends in a slash. Asked for no audience, it gives a token that only itself can read. Of the two formats of
 * access tokens, its own has `azp` and no type, and RFC 9068's has `client_id` and `jti`.
 */
export function auth0(format: "own" | "rfc9068"): ProviderKind {
  return {
    issuerPath: "/",
    metadataPaths: ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"],
    revocation: true,
    accessToken: async (grant, provider) => {
      const audience = grant.asked.get("audience") ?? grant.resources[0];
      if (audience === undefined) {
        // A JWE in compact form, for a key of the provider's own.
        const head = Buffer.from('{"alg":"dir","enc":"A256GCM","iss":"https://tenant.test/"}').toString("base64url");
        return [head, "", "iv", "text", "tag"].join(".");
      }
      return provider.sign(
        {
          iss: provider.issuer,
          sub: grant.isService ? `${grant.clientId}@clients` : "auth0|ada",
          aud: grant.isService ? audience : [audience, `${provider.origin}/userinfo`],
          scope: grant.scopes.join(" "),
          "https://corp.test/groups": groups,
          // Of an action's making, as its own format has no `jti`: two tokens of one second would be the same.
          "https://corp.test/issue": randomBytes(8).toString("hex"),
          ...(grant.isService ? {} : { permissions: [] }),
          ...auth0Own(format, grant, times(provider)),
        },
        { typ: format === "own" ? "JWT" : "at+jwt" },
      );
    },
    idToken: (grant, provider) => ({ ...plainIdToken(grant, provider), sub: "auth0|ada", sid: "s" }),
  };
}

function auth0Own(format: "own" | "rfc9068", { clientId }: Grant, { iat, exp, jti }: Claims): Claims {
  return format === "own" ? { azp: clientId, iat, exp } : { client_id: clientId, iat, exp, jti };
}

/**
 * No `aud`: the application client is what a token is for. Scopes begin with the resource server they belong to. No
 * PKCE methods in the metadata.
 */
export const cognito: ProviderKind = {
  issuerPath: "/eu-north-1_Pool",
  metadataPaths: ["/eu-north-1_Pool/.well-known/openid-configuration"],
  metadata: { code_challenge_methods_supported: undefined },
  revocation: true,
  accessToken: (grant, provider) =>
    provider.sign({
      iss: provider.issuer,
      client_id: grant.clientId,
      token_use: "access",
      scope: grant.scopes.join(" "),
      version: 2,
      ...(grant.isService
        ? { sub: grant.clientId }
        : { sub: "u-u-i-d", username: "ada", "cognito:groups": groups, origin_jti: "o", event_id: "e" }),
      ...times(provider),
    }),
  idToken: (grant, provider) => ({
    ...plainIdToken(grant, provider),
    sub: "u-u-i-d",
    token_use: "id",
    "cognito:groups": groups,
    "cognito:username": "ada",
  }),
};

/** Reference tokens, which nobody reads and introspection explains. Tokens of services have no `sub`. */
export const ping: ProviderKind = {
  issuerPath: "/as",
  metadataPaths: ["/as/.well-known/openid-configuration"],
  revocation: true,
  accessToken: () => Promise.resolve(randomBytes(24).toString("base64url")),
  idToken: plainIdToken,
  introspected: (grant, provider) => ({
    iss: provider.issuer,
    aud: grant.resources.length === 0 ? "https://api.pingone.test" : [...grant.resources],
    client_id: grant.clientId,
    scope: grant.scopes.join(" "),
    token_type: "Bearer",
    exp: provider.now() + 300,
    ...(grant.isService ? {} : { sub: grant.subject, username: "ada", groups }),
  }),
};

/** One issuer for each application, ending in a slash; the access token is the ID token and a little more. */
export const authentik: ProviderKind = {
  issuerPath: "/application/o/crm/",
  metadataPaths: ["/application/o/crm/.well-known/openid-configuration"],
  revocation: true,
  accessToken: (grant, provider) =>
    provider.sign(
      {
        ...plainIdToken(grant, provider),
        azp: grant.clientId,
        uid: randomBytes(8).toString("hex"),
        scope: grant.scopes.join(" "),
        nonce: "n-0S6",
        ...(grant.isService ? { sub: "hash-of-ak-robot" } : {}),
      },
      { typ: "JWT" },
    ),
  idToken: (grant, provider) => ({ ...plainIdToken(grant, provider), auth_time: provider.now(), acr: "goauthentik" }),
};
