import type { Limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
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
   * refusal. Rejects only when something of ours is broken.
   */
  authenticate(request: AuthenticationRequest): Promise<Result<Principal>>;
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

  async function verifyAnew(text: string, request: AuthenticationRequest): Promise<Result<RememberedToken>> {
    const { resource, now } = request;
    const verified = await verifyToken(text, { issuers, resource, now, limits });
    if (!verified.ok) return verified;
    const { principal, keys, generation } = verified.value;
    const until = Math.min(now + limits.verifiedTokenSecondsMax * 1000, principal.expiresAt * 1000);
    return ok({ principal, keys, generation, until, denyDigest: denyDigest(text) });
  }

  async function authenticate(request: AuthenticationRequest): Promise<Result<Principal>> {
    const bearer = readBearer(request.authorization, limits.bearerBytesMax);
    if (!bearer.ok) return bearer;
    const key = `${sha256(bearer.value)} ${request.resource}`;
    const known = remembered.get(key, request.now);
    const token = known === undefined ? await verifyAnew(bearer.value, request) : ok(known);
    if (!token.ok) return token;
    if (known === undefined && request.now < token.value.until) remembered.put(key, token.value);
    const denied = await refuseDenied(denyList, token.value.principal, token.value.denyDigest);
    return denied ?? ok(token.value.principal);
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
