import type { Secret } from "./secret.ts";
import type { Addresses, ByName } from "./types.ts";

/** The built-in authorization server. Its issuer identifier is `Config.publicUrl`. */
export interface BuiltInConfig {
  readonly alias: string;
  readonly users: readonly BuiltInUser[];
  /** At which people sign in instead of here. */
  readonly provider: BuiltInProvider | undefined;
  /** Group to scopes, `*` for everybody; undefined confines nobody. */
  readonly scopesByGroup: ByName<readonly string[]> | undefined;
  readonly clients: readonly BuiltInClient[];
  readonly assertionIssuers: readonly AssertionIssuerConfig[];
  /** Private-use URI schemes accepted in redirect URIs (RFC 8252 §7.1), besides those of known clients. */
  readonly redirectSchemes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
  /** Undefined: a key of this process, so nobody stays signed in across a restart. */
  readonly cookieSecret: Secret | undefined;
  readonly cookieSecretPrevious: readonly Secret[];
  /** A private JWK set as JSON text; undefined: made once and kept in the store. */
  readonly signingKeys: Secret | undefined;
}

export interface BuiltInUser {
  readonly username: string;
  readonly password: Secret;
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly scopes: readonly string[] | undefined;
}

export type BuiltInGrant = "authorizationCode" | "clientCredentials" | "identityAssertion";

export interface BuiltInClient {
  readonly clientId: string;
  readonly name: string | undefined;
  readonly clientSecret: Secret | undefined;
  /** A public JWK set as JSON text. */
  readonly jwks: Secret | undefined;
  readonly redirectUris: readonly string[];
  readonly grants: readonly BuiltInGrant[];
  /** Undefined: whatever the person may have. */
  readonly scopes: readonly string[] | undefined;
}

/** The company's OpenID provider. */
export interface BuiltInProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  readonly scopes: readonly string[];
  readonly subjectFrom: string;
  readonly groupsClaim: string | undefined;
  readonly regrantSeconds: number;
  readonly addresses: Addresses;
}

/** A provider whose identity assertions are taken. */
export interface AssertionIssuerConfig {
  readonly alias: string;
  readonly issuer: string;
  readonly jwksUri: string | undefined;
  readonly subjectFrom: "sub" | "email";
  readonly groupsClaim: string | undefined;
  readonly clients: readonly string[] | undefined;
  readonly addresses: Addresses;
}
