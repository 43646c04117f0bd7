import type { Limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { readAuthorization } from "./authorization-header.ts";
import type { PresentedToken } from "./authorization-header.ts";
import type { HeldToken } from "./binding.ts";
import { isOpaque } from "./compact-token.ts";
import { denyDigest, refuseDenied, sha256 } from "./deny-list.ts";
import type { ProofLimits } from "./dpop-proof.ts";
import type { HeldScopes } from "./held-scopes.ts";
import { headlessPrefix } from "./headless-token.ts";
import { createIntrospector } from "./introspector.ts";
import type { IntrospectionLimits } from "./introspector.ts";
import { keysOf } from "./key-source.ts";
import type { KeySourceLimits } from "./key-source.ts";
import type { DenyList, GuardedFetch } from "./port.ts";
import { refuseUnheld } from "./possession.ts";
import type { ProofOptions, Shown } from "./possession.ts";
import { issuerTable } from "./trusted-issuer.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";
import { createVerifiedTokens } from "./verified-tokens.ts";
import type { RememberedToken } from "./verified-tokens.ts";
import { verifyHeadless } from "./verify-headless.ts";
import type { HeadlessOptions } from "./verify-headless.ts";
import { verifyOpaque } from "./verify-opaque.ts";
import type { IntrospectedIssuer } from "./verify-opaque.ts";
import { verifyToken } from "./verify-token.ts";
import type { KeyedIssuer, VerifiedToken } from "./verify-token.ts";

export type AuthLimits = KeySourceLimits &
  IntrospectionLimits &
  ProofLimits &
  Pick<
    Limits,
    "bearerBytesMax" | "verifiedTokenSecondsMax" | "verifiedTokensMax" | "clockLeewaySeconds" | "identityCharsMax"
  >;

export interface AuthenticatorOptions {
  readonly issuers: readonly TrustedIssuer[];
  /**
   * By resource URI, the alias of the issuer that is asked about tokens that are no JWT: such a token does not
   * say whose it is, and must not be shown to an issuer that did not make it. Absent: they are refused there.
   */
  readonly opaqueIssuers?: ReadonlyMap<string, string> | undefined;
  /**
   * What a token's scopes cover besides themselves. Default: nothing. Asked for every token; another function than
   * before makes what was remembered of tokens void.
   */
  readonly heldScopes?: (() => HeldScopes) | undefined;
  /** Absent: the gateway gives out no tokens of its own. */
  readonly headless?: HeadlessOptions | undefined;
  /** Absent: no proofs are read, and tokens that are bound to a key refused. */
  readonly proofs?: ProofOptions | undefined;
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
  /**
   * What else the request shows, for tokens that are bound to it; absent: nothing. `before`: this is a later look at a
   * token whose request was authenticated as it came, such as that of a stream.
   */
  readonly shown?: Shown | "before" | undefined;
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
 * Authenticates tokens of the trusted issuers: JWTs by their signature, others by asking. A verified token is
 * remembered for `verifiedTokenSecondsMax` or until its `exp`, whichever is sooner, by the SHA-256 of all its bytes
 * together with the resource it was verified for; on every request all the same, the deny list is read, and whoever
 * sends a token that is bound to a key or certificate shows that they hold it.
 *
 * Throws on ambiguous or weak issuers (see `issuerTable`). Does not check scopes: policy does.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { limits, denyList } = options;
  const issuers = keyedIssuers(options);
  const introspected = introspectedIssuers(options);
  const remembered = createVerifiedTokens(limits.verifiedTokensMax);

  function verify(text: string, { resource, now }: AuthenticationRequest): Promise<Result<VerifiedToken>> {
    const verification = { issuers, resource, now, limits };
    const asked = isOpaque(text) ? introspected.get(options.opaqueIssuers?.get(resource) ?? "") : undefined;
    return asked === undefined ? verifyToken(text, verification) : verifyOpaque(text, asked, verification);
  }

  async function authenticateAnew(at: AtHand): Promise<Result<Principal>> {
    const heldScopes = options.heldScopes?.();
    const verified = await verify(at.token, at.request);
    if (!verified.ok) return verified;
    const principal = withBinding(withScopes(verified.value.principal, heldScopes), verified.value);
    const until = Math.min(at.request.now + limits.verifiedTokenSecondsMax * 1000, principal.expiresAt * 1000);
    const isCurrent = (): boolean => verified.value.isCurrent() && options.heldScopes?.() === heldScopes;
    const token = { ...verified.value, principal, until, isCurrent, denyDigest: denyDigest(at.token) };
    if (at.request.now < until) remembered.put(at.key, token);
    return admit(token, at);
  }

  async function authenticateHeadless(headless: HeadlessOptions, at: AtHand): Promise<Result<Principal>> {
    const found = await verifyHeadless(at.token, headless, at.request);
    if (!found.ok) return found;
    const principal = withScopes(found.value, options.heldScopes?.());
    return admit({ principal, denyDigest: denyDigest(at.token), binding: undefined, needsProof: false }, at);
  }

  /** Whoever does not hold a token learns nothing more of it, and sets nothing off. */
  function admit(token: KnownToken, at: AtHand): ReturnType<Authenticator["authenticate"]> {
    const unheld = unlessHeld(token, at, options);
    if (unheld instanceof Promise) return unheld.then((refused) => refused ?? unlessDenied(token, at.key));
    return unheld ?? unlessDenied(token, at.key);
  }

  function unlessDenied(
    { principal, denyDigest: digest }: KnownToken,
    key: string,
  ): ReturnType<Authenticator["authenticate"]> {
    const denied = refuseDenied(denyList, principal, digest);
    if (denied instanceof Promise) return denied.then((refused) => concluded(principal, key, refused));
    return concluded(principal, key, denied);
  }

  function concluded(principal: Principal, key: string, denied: Refused | undefined): Result<Principal> {
    // Once the record of a denial has run out, the issuer is asked again rather than an old answer believed.
    if (denied?.refusal.code === "AUTH_TOKEN_REVOKED") remembered.forget(key);
    if (denied?.refusal.facts["denied"] === "subject") options.onSubjectDenied?.(principal);
    return denied ?? ok(principal);
  }

  function authenticate(request: AuthenticationRequest): ReturnType<Authenticator["authenticate"]> {
    const presented = readAuthorization(request.authorization, limits.bearerBytesMax);
    if (!presented.ok) return presented;
    const { scheme, token } = presented.value;
    if (scheme === "DPoP" && options.proofs === undefined) return refuse("AUTH_SCHEME_UNSUPPORTED");
    const { headless } = options;
    if (headless !== undefined && token.startsWith(headlessPrefix))
      return authenticateHeadless(headless, { scheme, token, request, key: "" });
    const key = `${sha256(token)} ${request.resource}`;
    const known = remembered.get(key, request.now);
    const at = { scheme, token, request, key };
    return known === undefined ? authenticateAnew(at) : admit(known, at);
  }

  return { authenticate };
}

/** A token in its request, and what it is remembered by. */
interface AtHand extends PresentedToken {
  readonly request: AuthenticationRequest;
  readonly key: string;
}

type KnownToken = Pick<RememberedToken, "principal" | "denyDigest" | keyof HeldToken>;

/** Undefined when whoever sends the token holds what it is bound to. */
function unlessHeld(
  { binding, needsProof, principal }: KnownToken,
  { scheme, token, request: { shown, now } }: AtHand,
  options: AuthenticatorOptions,
): ReturnType<typeof refuseUnheld> {
  // What nearly every token is, without an object more for it.
  if (binding === undefined && !needsProof && scheme === "Bearer") return undefined;
  return refuseUnheld({ scheme, token, binding, needsProof, tenant: principal.tenant, shown, now }, options);
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

/** By alias. */
function introspectedIssuers({
  issuers,
  fetch,
  limits,
}: AuthenticatorOptions): ReadonlyMap<string, IntrospectedIssuer> {
  return new Map(
    issuers.flatMap((trusted): [string, IntrospectedIssuer][] => {
      const { alias, introspection: client } = trusted;
      if (client === undefined) return [];
      return [[alias, { trusted, introspector: createIntrospector({ trusted, client, fetch, limits }) }]];
    }),
  );
}

function withBinding(principal: Principal, { binding }: HeldToken): Principal {
  return binding === undefined ? principal : { ...principal, senderConstrained: true };
}

function withScopes(principal: Principal, heldScopes: HeldScopes | undefined): Principal {
  const scopes = heldScopes?.(principal.scopes) ?? principal.scopes;
  return scopes === principal.scopes ? principal : { ...principal, scopes };
}
