import type { GuardedFetch } from "./port.ts";

/** Where an issuer's signing keys come from. */
export type KeySource =
  /** By metadata: RFC 8414 and OpenID Connect Discovery, found from the issuer's identifier. */
  | { readonly kind: "discovery" }
  /** A JWK Set at a configured place (RFC 7517 §5). */
  | { readonly kind: "jwksUri"; readonly uri: string }
  /** The built-in authorization server's public keys, asked for anew at every verification. */
  | { readonly kind: "local"; readonly keys: () => JwkSet | Promise<JwkSet> };

export interface JwkSet {
  readonly keys: readonly object[];
}

/**
 * An issuer whose tokens are accepted, and how its claims are read. A claim's name that begins with `/`
 * is a JSON pointer (RFC 6901) into the claims set, such as `/realm_access/roles`; any other name is the
 * claim itself, dots and slashes included.
 */
export interface TrustedIssuer {
  /** Qualifies this issuer's groups: `corp:support`. */
  readonly alias: string;
  /** Compared as an exact string, without any normalisation (RFC 8414 §3.3). */
  readonly issuer: string;
  /** Further exact values of a token's `iss`, for providers that write another one there. */
  readonly issuerAliases?: readonly string[] | undefined;
  /** The tenant of everybody from this issuer. Default `default`. Not together with `tenantClaim`. */
  readonly tenant?: string | undefined;
  /** The claim that holds the tenant; a token without it is refused, it never falls back to `default`. */
  readonly tenantClaim?: string | undefined;
  /** By resource URI: one more exact `aud` value that this issuer's tokens carry for that resource. */
  readonly audience?: Readonly<Record<string, string>> | undefined;
  readonly groupsClaim?: string | undefined;
  /** Default: `scope`, else `scp`; text separated by spaces, or an array. */
  readonly scopeClaim?: string | undefined;
  /**
   * A claim, and the values of it that mark a service. Besides it, a token is a service's when its `sub` is
   * its client id (RFC 9068 §2.2).
   */
  readonly serviceWhen?: { readonly claim: string; readonly values: readonly string[] } | undefined;
  /** Claims that policy may read: the name policy uses, and the claim. */
  readonly claims?: Readonly<Record<string, string>> | undefined;
  /** Default: every algorithm of `signatureAlgorithms`. */
  readonly algorithms?: readonly string[] | undefined;
  readonly keys: KeySource;
  /** The issuer's own guarded fetch, where its addresses are allowed differently. */
  readonly fetch?: GuardedFetch | undefined;
}

/** Asymmetric signatures only: `none` and the `HS` family are in no list and can be put into none. */
export const signatureAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
] as const;

/**
 * Finds the issuer that a token's `iss` names. Throws on a configuration that would make the answer
 * ambiguous or weak; configuration is checked before it comes here, so that is a bug.
 */
export function issuerTable(issuers: readonly TrustedIssuer[]): ReadonlyMap<string, TrustedIssuer> {
  const table = new Map<string, TrustedIssuer>();
  for (const trusted of issuers) {
    refuseWeak(trusted);
    for (const name of new Set([trusted.issuer, ...(trusted.issuerAliases ?? [])])) {
      if (table.has(name)) throw new Error(`two trusted issuers share the identifier ${name}`);
      table.set(name, trusted);
    }
  }
  return table;
}

function refuseWeak(trusted: TrustedIssuer): void {
  const known: readonly string[] = signatureAlgorithms;
  const weak = (trusted.algorithms ?? []).find((name) => !known.includes(name));
  if (weak !== undefined) throw new Error(`issuer ${trusted.alias}: ${weak} is not an accepted signature algorithm`);
  if (trusted.tenant !== undefined && trusted.tenantClaim !== undefined) {
    throw new Error(`issuer ${trusted.alias}: tenant and tenantClaim exclude each other`);
  }
}
