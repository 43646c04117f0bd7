import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonWebKey } from "node:crypto";
import type { Fact } from "../model/refusal.ts";
import type { PasswordAnswer, PasswordAttempt } from "./password-sign-in.ts";
import type { AssertionIssuer } from "./assertion-issuer.ts";
import type { ScopesByGroup } from "./permitted-scopes.ts";
import type { GrantRecords, GuardedFetch, ProviderSignIn, Sealer } from "./port.ts";

/** A virtual server as a protected resource (RFC 8707). Tokens carry `uri` as their one audience. */
export interface ProtectedResource {
  /** The URL that users configure, such as `https://mcp.example.com/support/mcp`; compared as an exact string. */
  readonly uri: string;
  /** Every scope that this server knows. A requested scope that is not among them is dropped. */
  readonly scopes: readonly string[];
  /** What a request without a usable scope gets. */
  readonly minimalScopes: readonly string[];
}

/** Somebody who can sign in here: for demonstrations and small installations, not a user directory. */
export interface DemoUser {
  readonly username: string;
  /** In clear, as a configured secret holds it, or `scrypt:N:r:p:salt:key` with base64url parts. */
  readonly password: string;
  /** Becomes the `sub` claim. */
  readonly subject: string;
  /** Becomes the `groups` claim, unqualified: the verifier adds the issuer's alias. */
  readonly groups: readonly string[];
  /** Shown on the consent page. */
  readonly name: string;
  /** The most that tokens for this user carry, besides the scopes of the user's groups. */
  readonly scopes?: readonly string[] | undefined;
}

/** RFC 7523 §2.1, here with an identity assertion of the company's provider. */
export const jwtBearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";

export type GrantType = "authorization_code" | "refresh_token" | "client_credentials" | typeof jwtBearerGrant;

/**
 * A client known before it ever comes: services, and applications that do not register themselves. It proves itself
 * with its secret or with its key (`private_key_jwt`, RFC 7523 §2.2); with neither it is public, and only people
 * use it.
 */
export interface RegisteredClient {
  readonly clientId: string;
  /** Shown on the consent page; absent: the `clientId`. */
  readonly name?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Public keys. */
  readonly jwks?: { readonly keys: readonly JsonWebKey[] } | undefined;
  readonly grantTypes: readonly GrantType[];
  /** The most that this client is given, at whichever server; undefined: whatever a server supports. */
  readonly scopes: readonly string[] | undefined;
  readonly redirectUris?: readonly string[];
}

/** The company's OpenID provider, at which people sign in instead of here. */
export interface Broker {
  /** Its issuer identifier: identity assertions of the same issuer are about the same people. */
  readonly issuer: string;
  readonly provider: ProviderSignIn;
  readonly sealer: Sealer;
  /** How long a sign-in or its last confirmation by the provider vouches for somebody. */
  readonly regrantSeconds: number;
}

export interface AuthServerOptions {
  /** The gateway's origin; it is the issuer identifier, without a path or a trailing slash. */
  readonly publicUrl: string;
  readonly resources: readonly ProtectedResource[];
  /** Nobody of them signs in while there is a `broker`. */
  readonly users: readonly DemoUser[];
  readonly broker?: Broker | undefined;
  /** Whether somebody is on the deny list: they get no token, whatever they were granted. Default: nobody is. */
  readonly isDenied?: ((subject: string) => Promise<boolean>) | undefined;
  /** Confines people by their groups; undefined: only users that are confined themselves are. */
  readonly scopesByGroup?: ScopesByGroup | undefined;
  /** Whose identity assertions are taken (ID-JAG). */
  readonly assertionIssuers?: readonly AssertionIssuer[] | undefined;
  /** Reaches public addresses alone. Without it no client is found at its URL, and no key set either. */
  readonly fetchPublic?: GuardedFetch | undefined;
  readonly clients: readonly RegisteredClient[];
  /** Private-use URI schemes (RFC 8252 §7.1) accepted in redirect URIs besides those of well-known clients. */
  readonly redirectSchemes: readonly string[];
  readonly records: GrantRecords;
  readonly secrets: {
    /** Sign cookies and forms, and seal the generated signing key; the first is used, the others still accepted. */
    readonly cookieKeys: readonly string[];
    /** Private signing keys; the first signs. Without them a key is made once and shared through the records. */
    readonly jwks?: { readonly keys: readonly JsonWebKey[] };
  };
  readonly accessTokenSeconds: number;
  /** How long a sign-in lives through refreshes; rotation does not extend it. */
  readonly refreshTokenSeconds: number;
  /** Milliseconds since the epoch; measures the refresh grace window. Expiry of codes and tokens is the library's clock. */
  readonly now?: () => number;
  readonly log: LogEvent;
}

/** Facts hold neither tokens nor passwords nor anything that a stranger typed. */
export type LogEvent = (event: string, facts: Readonly<Record<string, Fact>>) => void;

export interface AuthServer {
  readonly issuer: string;
  /** Whether `path` (no query) belongs to this room. Everything it claims, it answers, with 404 where nothing is. */
  handles(path: string): boolean;
  /** Answers one request. The body must not have been read. Never rejects: a fault becomes a 500 or 503. */
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
  /** The verification keys, for the gateway's own token verifier. */
  publicKeys(): { keys: JsonWebKey[] };
  /** Checks a password for a page outside of this room, with the same count of attempts as this room's own pages. */
  signIn(attempt: PasswordAttempt): Promise<PasswordAnswer>;
  /** What a registered client calls itself; undefined where nobody or nothing of that name is registered. */
  clientName(clientId: string): Promise<string | undefined>;
  /** The ID token that the company's provider gave for somebody, while it is good; undefined where none is kept. */
  idTokenOf(subject: string): Promise<string | undefined>;
}
