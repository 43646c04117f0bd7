import type { Limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { readBearer } from "./bearer.ts";
import { denyDigest, refuseDenied, sha256 } from "./deny-list.ts";
import { keysOf } from "./key-source.ts";
import type { KeySourceLimits } from "./key-source.ts";
import type { DenyList, GuardedFetch } from "./port.ts";
import { issuerTable } from "./trusted-issuer.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";
import { createVerifiedTokens } from "./verified-tokens.ts";
import type { RememberedToken } from "./verified-tokens.ts";
import { verifyToken } from "./verify-token.ts";
import type { KeyedIssuer } from "./verify-token.ts";

export type AuthLimits = KeySourceLimits &
  Pick<
    Limits,
    "bearerBytesMax" | "verifiedTokenSecondsMax" | "verifiedTokensMax" | "clockLeewaySeconds" | "identityCharsMax"
  >;

export interface AuthenticatorOptions {
  readonly issuers: readonly TrustedIssuer[];
  readonly fetch: GuardedFetch;
  readonly denyList: DenyList;
  readonly limits: AuthLimits;
  /** Called whenever somebody is turned away because they, and not one token of theirs, are denied. */
  readonly onSubjectDenied?: (principal: Principal) => void;
}

export interface AuthenticationRequest {
  /** Every value received under `Authorization`, as received. */
  readonly authorization: readonly string[];
  /** The URI of the server that is asked: the audience its tokens must have. */
  readonly resource: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Authenticator {
  /**
   * Who sends this request. Refuses with an AUTH_* code or STORE_UNAVAILABLE; every fault of a token is a
   * refusal. Throws or rejects only when something of ours is broken. Synchronous for a token that is remembered,
   * where the deny list is.
   */
  authenticate(request: AuthenticationRequest): Result<Principal> | Promise<Result<Principal>>;
}

/**
 * Authenticates bearer tokens of the trusted issuers. A verified token is remembered for
 * `verifiedTokenSecondsMax` or until its `exp`, whichever is sooner, by the SHA-256 of all its bytes
 * together with the resource it was verified for; the deny list is read on every request all the same.
 *
 * Throws on ambiguous or weak issuers (see `issuerTable`). Does not check scopes: policy does.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { limits, denyList } = options;
  const issuers = keyedIssuers(options);
  const remembered = createVerifiedTokens(limits.verifiedTokensMax);

  async function authenticateAnew(
    text: string,
    key: string,
    request: AuthenticationRequest,
  ): Promise<Result<Principal>> {
    const { resource, now } = request;
    const verified = await verifyToken(text, { issuers, resource, now, limits });
    if (!verified.ok) return verified;
    const { principal, keys, generation } = verified.value;
    const until = Math.min(now + limits.verifiedTokenSecondsMax * 1000, principal.expiresAt * 1000);
    const token = { principal, keys, generation, until, denyDigest: denyDigest(text) };
    if (now < until) remembered.put(key, token);
    return unlessDenied(token);
  }

  function unlessDenied({ principal, denyDigest: digest }: RememberedToken): ReturnType<Authenticator["authenticate"]> {
    const denied = refuseDenied(denyList, principal, digest);
    if (denied instanceof Promise) return denied.then((refused) => concluded(principal, refused));
    return concluded(principal, denied);
  }

  function concluded(principal: Principal, denied: Refused | undefined): Result<Principal> {
    if (denied?.refusal.facts["denied"] === "subject") options.onSubjectDenied?.(principal);
    return denied ?? ok(principal);
  }

  function authenticate(request: AuthenticationRequest): ReturnType<Authenticator["authenticate"]> {
    const bearer = readBearer(request.authorization, limits.bearerBytesMax);
    if (!bearer.ok) return bearer;
    const key = `${sha256(bearer.value)} ${request.resource}`;
    const known = remembered.get(key, request.now);
    return known === undefined ? authenticateAnew(bearer.value, key, request) : unlessDenied(known);
  }

  return { authenticate };
}

/** By every accepted `iss`; an issuer with aliases has one set of keys. */
function keyedIssuers({ issuers, fetch, limits }: AuthenticatorOptions): ReadonlyMap<string, KeyedIssuer> {
  const keyed = new Map(issuers.map((trusted) => [trusted, { trusted, keys: keysOf(trusted, fetch, limits) }]));
  return new Map(
    [...issuerTable(issuers)].flatMap(([name, trusted]): [string, KeyedIssuer][] => {
      const issuer = keyed.get(trusted);
      return issuer === undefined ? [] : [[name, issuer]];
    }),
  );
}
