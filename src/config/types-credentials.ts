import type { Secret } from "./secret.ts";
import type { Addresses, ByName } from "./types.ts";

/** What the gateway shows an upstream. */
export type CredentialConfig =
  | { readonly type: "none" }
  | {
      readonly type: "static";
      readonly headers: ByName<Secret>;
      /** HTTP basic authentication (RFC 7617), beside the headers. */
      readonly basic: { readonly username: string; readonly password: Secret } | undefined;
    }
  | ({ readonly type: "clientCredentials" } & ClientConfig & TargetConfig)
  | AssertionConfig
  | TokenExchangeConfig
  | IdentityAssertionConfig
  | UserGrantConfig;

/** The gateway as a client of an authorization server. One of `clientSecret` and `privateKey` is there. */
export interface ClientConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  readonly method: "client_secret_basic" | "client_secret_post";
  /** PEM or JWK. */
  readonly privateKey: Secret | undefined;
  readonly keyId: string | undefined;
  readonly addresses: Addresses;
}

/** What a token is asked for; what is undefined is not sent. */
export interface TargetConfig {
  readonly scopes: readonly string[];
  /** The resource indicator (RFC 8707). */
  readonly resource: string | undefined;
  readonly audience: string | undefined;
}

interface AssertionConfig {
  readonly type: "assertion";
  readonly audience: string;
  readonly subject: "plain" | "qualified";
  readonly seconds: number;
}

interface TokenExchangeConfig extends ClientConfig, TargetConfig {
  readonly type: "tokenExchange";
  readonly subjectTokenType: "accessToken" | "jwt";
  readonly actor: "none" | "assertion";
  readonly boundTokens: "refuse" | "send";
}

/** The caller's own grant at the upstream's authorization server. */
export interface UserGrantConfig {
  readonly type: "user";
  /** What people are told that they connect. */
  readonly title: string;
  /** The only issuer that is accepted; undefined: the first that is found. */
  readonly issuer: string | undefined;
  /** A client that was registered by hand with `issuer`. */
  readonly clientId: string | undefined;
  readonly clientSecret: Secret | undefined;
  /** Undefined: what the upstream says it needs. */
  readonly scopes: readonly string[] | undefined;
  readonly sendResource: boolean;
  readonly assumePkce: boolean;
  readonly profile: "standard" | "github" | "slack";
}

/** An identity assertion of the provider at which the built-in server signs people in. */
interface IdentityAssertionConfig extends ClientConfig {
  readonly type: "identityAssertion";
  readonly scopes: readonly string[];
  readonly resource: string;
}
