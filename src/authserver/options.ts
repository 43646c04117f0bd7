import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonWebKey } from "node:crypto";
import type { Fact } from "../model/refusal.ts";
import type { GrantRecords } from "./port.ts";

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
}

/** A client known before it ever comes, with a secret: services, and applications that do not register themselves. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly grantTypes: readonly ("authorization_code" | "refresh_token" | "client_credentials")[];
  /** The most that this client is given, at whichever server. */
  readonly scopes: readonly string[];
  readonly redirectUris?: readonly string[];
}

export interface AuthServerOptions {
  /** The gateway's origin; it is the issuer identifier, without a path or a trailing slash. */
  readonly publicUrl: string;
  readonly resources: readonly ProtectedResource[];
  readonly users: readonly DemoUser[];
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
}
