import type { DpopMode } from "../model/dpop-mode.ts";
import type { IssuerProfileName } from "../model/issuer-profile.ts";
import type { Secret } from "./secret.ts";
import type { BuiltInConfig } from "./types-built-in.ts";
import type { Addresses, ByName } from "./types.ts";

/** Who vouches for callers. */
export type AuthConfig =
  | { readonly kind: "none" }
  | {
      readonly kind: "issuers";
      readonly issuers: readonly IssuerConfig[];
      readonly builtIn: BuiltInConfig | undefined;
      readonly browser: BrowserConfig | undefined;
      readonly headless: HeadlessConfig | undefined;
      /** By scope: what whoever holds it holds as well. */
      readonly scopeImplications: ByName<readonly string[]>;
    };

/** Tokens that the gateway itself gives to services, by command. */
export interface HeadlessConfig {
  readonly alias: string;
  readonly tenant: string;
}

/** The gateway's own OpenID client at one of the issuers, for people in browsers. */
export interface BrowserConfig {
  /** Alias of the issuer. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  readonly scopes: readonly string[];
}

/** An external authorization server. Its identifier compares as an exact string (RFC 8414 §2). */
export interface IssuerConfig {
  readonly alias: string;
  readonly issuer: string;
  /** Further `iss` values that tokens of this issuer carry. */
  readonly issuerAliases: readonly string[];
  readonly profile: IssuerProfileName;
  /** Accepted `typ` values, `none` for none; undefined: the profile's, as for the two claims below. */
  readonly tokenTypes: readonly string[] | undefined;
  readonly subjectClaim: string | undefined;
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
  /** Server name to what clients put before each scope. */
  readonly scopePrefix: ByName<string>;
  /** How tokens that are no JWT are asked about (RFC 7662). */
  readonly introspection: IntrospectionConfig | undefined;
  /** What becomes of tokens that are bound to a key. */
  readonly dpop: DpopMode;
  /** Where the keys are; undefined discovers them from the issuer's metadata. */
  readonly jwksUri: string | undefined;
  readonly addresses: Addresses;
  /** Undefined: whom the system trusts. */
  readonly tls: { readonly ca: Secret } | undefined;
  /** Besides `sub` equal to the client: a claim value by which this issuer marks services. */
  readonly serviceWhen: { readonly claim: string; readonly equals: string } | undefined;
}

/** The gateway as a client of an introspection endpoint; without `endpoint` the metadata names it. */
export interface IntrospectionConfig {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly endpoint: string | undefined;
}
