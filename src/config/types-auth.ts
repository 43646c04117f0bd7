import type { Secret } from "./secret.ts";
import type { Addresses, ByName } from "./types.ts";

/** Who vouches for callers. */
export type AuthConfig =
  | { readonly kind: "none" }
  | {
      readonly kind: "issuers";
      readonly issuers: readonly IssuerConfig[];
      readonly builtIn: BuiltInConfig | undefined;
    };

/** An external authorization server. Its identifier compares as an exact string (RFC 8414 §2). */
export interface IssuerConfig {
  readonly alias: string;
  readonly issuer: string;
  /** Further `iss` values that tokens of this issuer carry. */
  readonly issuerAliases: readonly string[];
  readonly groupsClaim: string | undefined;
  readonly scopeClaim: string | undefined;
  readonly tenant: string;
  /** When set, the tenant is this claim's value, and a token without it is refused. */
  readonly tenantClaim: string | undefined;
  /** Name in policy to claim in the token. */
  readonly claims: ByName<string>;
  readonly algorithms: readonly string[];
  /** Server name to a further accepted `aud` value. */
  readonly audience: ByName<string>;
  /** Where the keys are; undefined discovers them from the issuer's metadata. */
  readonly jwksUri: string | undefined;
  readonly addresses: Addresses;
  /** Besides `sub` equal to the client: a claim value by which this issuer marks services. */
  readonly serviceWhen: { readonly claim: string; readonly equals: string } | undefined;
}

/** The built-in authorization server. Its issuer identifier is `Config.publicUrl`. */
export interface BuiltInConfig {
  readonly alias: string;
  readonly users: readonly BuiltInUser[];
  readonly clients: readonly BuiltInClient[];
  /** Private-use URI schemes accepted in redirect URIs (RFC 8252 §7.1), besides those of known clients. */
  readonly redirectSchemes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
  /** Undefined: a key of this process, so nobody stays signed in across a restart. */
  readonly cookieSecret: Secret | undefined;
  /** A private JWK set as JSON text; undefined: made once and kept in the store. */
  readonly signingKeys: Secret | undefined;
}

export interface BuiltInUser {
  readonly username: string;
  readonly password: Secret;
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** A service that signs in as itself (RFC 6749 §4.4). */
export interface BuiltInClient {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly scopes: readonly string[];
}
