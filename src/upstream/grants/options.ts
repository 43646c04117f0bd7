import type { Limits } from "../../model/limits.ts";
import type { GuardedFetch } from "../egress.ts";
import type { Addresses } from "../options.ts";
import type { GrantRecords, GrantWitness, Sealer } from "./port.ts";
import type { ProfileName } from "./profiles.ts";

/** One upstream that its users connect to their own accounts. */
export interface GrantUpstreamOptions {
  /** The MCP endpoint: the protected resource. */
  readonly url: string;
  readonly title: string;
  /** Where the upstream, its authorization server and every URL that either names may be. */
  readonly addresses: Addresses;
  /** PEM certificates of authorities, in place of the system's. */
  readonly ca?: string | undefined;
  /**
   * The exact issuer identifier (RFC 8414 §2) to accept, for which an operator vouches. Undefined: the first that was
   * ever found, which has to name itself in its answers (RFC 9207), and which no other upstream may use.
   */
  readonly issuer: string | undefined;
  /** A client that was registered by hand with `issuer`, which it needs; it goes before every other registration. */
  readonly client: { readonly id: string; readonly secret: string | undefined } | undefined;
  /** Undefined: what the upstream's challenge names, else its metadata, else none. */
  readonly scopes: readonly string[] | undefined;
  /** Whether the resource indicator (RFC 8707) is sent; off for servers that refuse it. */
  readonly sendResource: boolean;
  /** Accepts a server that does not say that it supports PKCE; the challenge is sent all the same. */
  readonly assumePkce: boolean;
  readonly profile: ProfileName;
}

/** The limits that this folder reads. */
type GrantLimits = Pick<
  Limits,
  | "bearerBytesMax"
  | "grantAttemptMs"
  | "grantAttemptsMax"
  | "grantClientsMax"
  | "grantFailuresRememberedMax"
  | "grantIdleMs"
  | "grantRefreshLockMs"
  | "grantRefreshPollMsMax"
  | "grantRefreshPollMsMin"
  | "grantRefreshWaitMs"
  | "grantScopesMax"
  | "grantTouchMs"
  | "issuerFetchTimeoutMs"
  | "issuerMetadataBytesMax"
  | "upstreamAuthorizationAgeMsMax"
  | "upstreamCredentialRetryMsMin"
  | "upstreamIssuerIdleMs"
  | "upstreamTokenLeewayMs"
>;

export interface GrantsOptions {
  readonly upstreams: Readonly<Record<string, GrantUpstreamOptions>>;
  /** By name of the other upstreams, the issuer that each one's own credential is configured with. */
  readonly issuersElsewhere: Readonly<Record<string, string>>;
  readonly records: GrantRecords;
  readonly sealer: Sealer;
  /** What registrations call this gateway. */
  readonly clientName: string;
  /** Where the gateway's client id metadata document stands; undefined where it has no https address. */
  readonly clientDocumentUrl: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** From 0 to below 1, for times that must not fall together. */
  readonly jitter: () => number;
  readonly limits: GrantLimits;
  /** An event's name and facts, which hold no token, body or foreign text. */
  readonly log: (event: string, facts: Readonly<Record<string, string | number | boolean>>) => void;
  readonly witness: GrantWitness;
  /** Fetches behind the egress guard. Default: `createGuardedFetch` with the system's resolver. */
  readonly fetchFrom?: ((upstream: Pick<GrantUpstreamOptions, "addresses" | "ca">) => GuardedFetch) | undefined;
}
