import type { DpopMode } from "../model/dpop-mode.ts";
import type { IssuerProfileName } from "../model/issuer-profile.ts";
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
  /** How this kind of provider writes its tokens. Default `generic`. */
  readonly profile?: IssuerProfileName | undefined;
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
  /** By resource URI: what clients put before a scope when they ask for it; taken off again where tokens carry it. */
  readonly scopePrefix?: Readonly<Record<string, string>> | undefined;
  /** Accepted values of the header's `typ`, lower-cased, `none` for none at all. Default: the profile's. */
  readonly tokenTypes?: readonly string[] | undefined;
  /** Default: the profile's, as a rule `sub`. */
  readonly subjectClaim?: string | undefined;
  /** Default: the profile's. */
  readonly groupsClaim?: string | undefined;
  /** Default: `scope`, else `scp`; text separated by spaces, or an array. */
  readonly scopeClaim?: string | undefined;
  /**
   * A claim, and the values of it that mark a service. Besides it, a token is a service's when its `sub` is
   * its client id (RFC 9068 §2.2).
   */
  readonly serviceWhen?: { readonly claim: string; readonly values: readonly string[] } | undefined;
  /** How tokens that are no JWT are asked about. Absent: they are refused. */
  readonly introspection?: IntrospectionClient | undefined;
  /**
   * Tokens that are bound to a key (RFC 9449): `off` refuses them, `accept` takes them with a proof beside tokens that
   * are bound to none, `require` takes no others. Default `accept`.
   */
  readonly dpop?: DpopMode | undefined;
  /** Claims that policy may read: the name policy uses, and the claim. */
  readonly claims?: Readonly<Record<string, string>> | undefined;
  /** Default: every algorithm of `signatureAlgorithms`. */
  readonly algorithms?: readonly string[] | undefined;
  readonly keys: KeySource;
  /** The issuer's own guarded fetch, where its addresses are allowed differently. */
  readonly fetch?: GuardedFetch | undefined;
}

/** What the gateway is at an issuer's introspection endpoint (RFC 7662 §2.1). */
export interface IntrospectionClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Default: the metadata's `introspection_endpoint`. */
  readonly endpoint?: string | undefined;
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
