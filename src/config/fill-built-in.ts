import { defaults } from "./defaults.ts";
import type { Place } from "./fault.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawAssertionIssuer, RawBuiltIn, RawClient, RawProvider, RawUser } from "./raw-built-in.ts";
import type { SecretReader } from "./secret-reader.ts";
import type {
  AssertionIssuerConfig,
  BuiltInClient,
  BuiltInConfig,
  BuiltInGrant,
  BuiltInProvider,
  BuiltInUser,
} from "./types-built-in.ts";

const place = ["auth", "builtIn"] as const;

export function fillBuiltIn(raw: RawBuiltIn, secrets: SecretReader): BuiltInConfig {
  const { scopesByGroup } = raw;
  return {
    alias: raw.alias ?? defaults.builtInAlias,
    users: (raw.users ?? []).map((user, index) => fillUser(user, [...place, "users", index], secrets)),
    provider: raw.provider === undefined ? undefined : fillProvider(raw.provider, secrets),
    scopesByGroup: scopesByGroup === undefined ? undefined : mapByName(scopesByGroup, (scopes) => scopes),
    clients: (raw.clients ?? []).map((client, index) => fillClient(client, [...place, "clients", index], secrets)),
    assertionIssuers: (raw.assertionIssuers ?? []).map(fillAssertionIssuer),
    redirectSchemes: raw.redirectSchemes ?? [],
    accessTokenSeconds: raw.accessTokenSeconds ?? defaults.accessTokenSeconds,
    refreshTokenSeconds: raw.refreshTokenSeconds ?? defaults.refreshTokenSeconds,
    ...fillKeys(raw, secrets),
  };
}

function fillKeys(
  raw: RawBuiltIn,
  secrets: SecretReader,
): Pick<BuiltInConfig, "cookieSecret" | "cookieSecretPrevious" | "signingKeys"> {
  return {
    cookieSecret: secrets.readOptional([...place, "cookieSecret"], raw.cookieSecret),
    cookieSecretPrevious: (raw.cookieSecretPrevious ?? []).map((reference, index) =>
      secrets.read([...place, "cookieSecretPrevious", index], reference),
    ),
    signingKeys: secrets.readOptional([...place, "signingKeys"], raw.signingKeys),
  };
}

function fillUser(raw: RawUser, at: Place, secrets: SecretReader): BuiltInUser {
  return {
    username: raw.username,
    password: secrets.read([...at, "password"], raw.password),
    subject: raw.subject ?? raw.username,
    name: raw.name ?? raw.username,
    groups: raw.groups ?? [],
    scopes: raw.scopes,
  };
}

/** A service has what it is given; an application has what the person has who uses it. */
function fillClient(raw: RawClient, at: Place, secrets: SecretReader): BuiltInClient {
  const redirectUris = raw.redirectUris ?? [];
  const usual: BuiltInGrant = redirectUris.length > 0 ? "authorizationCode" : "clientCredentials";
  const grants = raw.grants ?? [usual];
  return {
    clientId: raw.clientId,
    name: raw.name,
    clientSecret: secrets.readOptional([...at, "clientSecret"], raw.clientSecret),
    jwks: secrets.readOptional([...at, "jwks"], raw.jwks),
    redirectUris,
    grants,
    scopes: raw.scopes ?? (grants.includes("clientCredentials") ? [] : undefined),
  };
}

function fillProvider(raw: RawProvider, secrets: SecretReader): BuiltInProvider {
  return {
    issuer: raw.issuer,
    clientId: raw.clientId,
    clientSecret: secrets.readOptional([...place, "provider", "clientSecret"], raw.clientSecret),
    scopes: raw.scopes ?? defaults.providerScopes,
    subjectFrom: raw.subjectFrom ?? defaults.subjectFrom,
    groupsClaim: raw.groupsClaim,
    regrantSeconds: raw.regrantSeconds ?? defaults.regrantSeconds,
    addresses: raw.addresses ?? defaults.addresses,
  };
}

function fillAssertionIssuer(raw: RawAssertionIssuer): AssertionIssuerConfig {
  return {
    alias: raw.alias,
    issuer: raw.issuer,
    jwksUri: raw.jwksUri,
    subjectFrom: raw.subjectFrom ?? defaults.subjectFrom,
    groupsClaim: raw.groupsClaim,
    clients: raw.clients,
    addresses: raw.addresses ?? defaults.addresses,
  };
}
