import { defaults } from "./defaults.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawAuth, RawBuiltIn, RawIssuer } from "./raw.ts";
import type { SecretReader } from "./secret-reader.ts";
import type { AuthConfig, BuiltInConfig, IssuerConfig } from "./types-auth.ts";

/** `none` beside issuers is refused by `authIsNoneOrIssuers`. */
export function fillAuth(raw: RawAuth, secrets: SecretReader): AuthConfig {
  if (raw.none === true) return { kind: "none" };
  return {
    kind: "issuers",
    issuers: (raw.issuers ?? []).map(fillIssuer),
    builtIn: raw.builtIn === undefined ? undefined : fillBuiltIn(raw.builtIn, secrets),
  };
}

function fillIssuer(raw: RawIssuer): IssuerConfig {
  return {
    alias: raw.alias,
    issuer: raw.issuer,
    issuerAliases: raw.issuerAliases ?? [],
    groupsClaim: raw.groupsClaim,
    scopeClaim: raw.scopeClaim,
    tenant: raw.tenant ?? defaults.tenant,
    tenantClaim: raw.tenantClaim,
    claims: mapByName(raw.claims ?? {}, String),
    algorithms: raw.algorithms ?? defaults.algorithms,
    audience: mapByName(raw.audience ?? {}, String),
    jwksUri: raw.jwksUri,
    addresses: raw.addresses ?? defaults.addresses,
    serviceWhen: raw.serviceWhen,
  };
}

function fillBuiltIn(raw: RawBuiltIn, secrets: SecretReader): BuiltInConfig {
  const place = ["auth", "builtIn"];
  return {
    alias: raw.alias ?? defaults.builtInAlias,
    users: (raw.users ?? []).map((user, index) => ({
      username: user.username,
      password: secrets.read([...place, "users", index, "password"], user.password),
      subject: user.subject ?? user.username,
      name: user.name ?? user.username,
      groups: user.groups ?? [],
    })),
    clients: (raw.clients ?? []).map((client, index) => ({
      clientId: client.clientId,
      clientSecret: secrets.read([...place, "clients", index, "clientSecret"], client.clientSecret),
      scopes: client.scopes ?? [],
    })),
    redirectSchemes: raw.redirectSchemes ?? [],
    accessTokenSeconds: raw.accessTokenSeconds ?? defaults.accessTokenSeconds,
    refreshTokenSeconds: raw.refreshTokenSeconds ?? defaults.refreshTokenSeconds,
    cookieSecret: secrets.readOptional([...place, "cookieSecret"], raw.cookieSecret),
    signingKeys: secrets.readOptional([...place, "signingKeys"], raw.signingKeys),
  };
}
