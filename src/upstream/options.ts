import type { Limits } from "../model/limits.ts";
import type { Credential } from "./credentials/credential.ts";
import type { UpstreamSessionRecords } from "./port.ts";

/**
 * Which addresses may be dialled: `public` unicast ones; `private` ones too (RFC 1918, RFC 6598, RFC 4193);
 * or `loopback` alone. Link-local, multicast, reserved and metadata addresses are never dialled.
 */
export type Addresses = "public" | "private" | "loopback";

export type CredentialOptions =
  | { readonly type: "none" }
  | { readonly type: "static"; readonly headers: Readonly<Record<string, string>> }
  | ({ readonly type: "clientCredentials" } & ClientCredentialsOptions)
  | ({ readonly type: "assertion" } & AssertionOptions)
  | ({ readonly type: "tokenExchange" } & TokenExchangeOptions)
  | ({ readonly type: "identityAssertion" } & IdentityAssertionOptions)
  /** One that exists: several rooms show the same, or another room makes it. */
  | { readonly type: "made"; readonly credential: Credential };

/** The gateway as a client of an authorization server. */
export interface ClientOptions {
  /** The authorization server's exact issuer identifier (RFC 8414 §2). */
  readonly issuer: string;
  readonly clientId: string;
  readonly authentication: ClientAuthentication;
  /** Where the authorization server may be. Default: the upstream's own setting. */
  readonly addresses?: Addresses | undefined;
}

/** How the client proves who it is (RFC 6749 §2.3.1; RFC 7523 §2.2). */
export type ClientAuthentication =
  | { readonly method: "client_secret_basic" | "client_secret_post"; readonly clientSecret: string }
  /** PEM or JWK; `keyId` in place of the key's own name. */
  | { readonly method: "private_key_jwt"; readonly privateKey: string; readonly keyId?: string | undefined };

/** What a token is asked for. What is absent is not sent. */
export interface TargetOptions {
  readonly scopes?: readonly string[] | undefined;
  /** The resource indicator (RFC 8707). */
  readonly resource?: string | undefined;
  /** The logical name of the upstream there (RFC 8693 §2.1). */
  readonly audience?: string | undefined;
}

export interface ClientCredentialsOptions extends ClientOptions, TargetOptions {}

export interface AssertionOptions {
  readonly audience: string;
  /** How `sub` names the caller: as their issuer does, or with its alias before it, as groups are. */
  readonly subject: "plain" | "qualified";
  readonly lifeSeconds: number;
}

export interface TokenExchangeOptions extends ClientOptions, TargetOptions {
  readonly subjectTokenType: "accessToken" | "jwt";
  /** Whether the gateway says, by an assertion of its own, that it acts for the caller. */
  readonly actor: "none" | "assertion";
  /** What becomes of a caller's token that is good only with proof of possession, which the gateway cannot give there. */
  readonly boundTokens: "refuse" | "send";
}

export interface IdentityAssertionOptions extends ClientOptions {
  readonly scopes?: readonly string[] | undefined;
  /** The upstream, as its authorization server knows it. */
  readonly resource: string;
  /** The company's provider, and the gateway as its client. */
  readonly provider: ClientOptions;
}

/** Milliseconds each. A call's own `timeoutMs` is cut to `callMs`. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** Longest silence inside an answer that has begun. Comments of an event stream end it. */
  readonly idleMs: number;
  readonly callMs: number;
  readonly probeMs: number;
}

export interface UpstreamOptions {
  /** `http:` or `https:`. Plain `http:` reaches private and loopback addresses only. */
  readonly url: string;
  /** `auto` asks the upstream with `server/discover`; the others pin the answer. Default: `auto`. */
  readonly era?: "auto" | "legacy" | "modern" | undefined;
  /** Default: `public`. */
  readonly addresses?: Addresses | undefined;
  /** Default: none. */
  readonly credential?: CredentialOptions | undefined;
  readonly tls?: TlsOptions | undefined;
  readonly connectionsMax?: number | undefined;
  readonly queueMax?: number | undefined;
  readonly timeouts?: Partial<UpstreamTimeouts> | undefined;
  readonly breaker?: Partial<BreakerSettings> | undefined;
}

/** PEM each. What is absent: the system's authorities, and no certificate of the gateway's. */
export interface TlsOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** When an upstream that fails is left alone, and for how long. Default: the limits' own. */
export interface BreakerSettings {
  /** Consecutive failures; 0 switches it off. */
  readonly failures: number;
  readonly windowMs: number;
  readonly pauseMs: number;
}

/** What the room takes in. Nothing else decides what it does. */
export interface UpstreamsOptions {
  readonly upstreams: Readonly<Record<string, UpstreamOptions>>;
  readonly records: UpstreamSessionRecords;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** At least 64 random bits of printable ASCII. */
  readonly randomId: () => string;
  /** What the gateway says of itself as a client (`clientInfo`). */
  readonly gatewayInfo: { readonly name: string; readonly version: string };
  readonly limits: Limits;
  /** Structured log: an event's name and facts, which hold no token, body or upstream text. */
  readonly log: (event: string, facts: Readonly<Record<string, unknown>>) => void;
  readonly observe?: ((sample: UpstreamSample) => void) | undefined;
  /** An upstream is suspended, or no longer. */
  readonly onSuspended?: ((upstream: string, suspended: boolean) => void) | undefined;
  /** From 0 to below 1, for pauses that must not fall together. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** One finished exchange with an upstream, for metrics. */
export interface UpstreamSample {
  readonly upstream: string;
  readonly method: string;
  readonly outcome: "result" | "error" | "failed" | "unknown";
  /** The refusal's code when there was no answer. */
  readonly code: string | undefined;
  readonly durationMs: number;
}
