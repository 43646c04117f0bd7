import { ExactNumber, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { readClaim } from "../model/read-claim.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { profileOf } from "./profiles.ts";
import type { Profile } from "./profiles.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** Claims that only ID tokens carry (OpenID Connect Core §2, §3.1.3.6, §3.3.2.11; FAPI `s_hash`). */
const idTokenClaims = ["nonce", "at_hash", "c_hash", "s_hash"];

/** What is judged: the claims of a JWT, or what an introspection endpoint says of a token. */
export interface ClaimsSet {
  readonly claims: JsonObject;
  /** Something outside of the claims says that this is an access token: `typ: at+jwt`, or `token_type`. */
  readonly isDeclared: boolean;
}

export interface Expectations {
  readonly issuer: TrustedIssuer;
  readonly resource: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly leewaySeconds: number;
}

/**
 * Checks that claims say "an access token, of this time, for this resource" and returns `exp` in seconds.
 *
 * Refuses AUTH_TOKEN_TYPE_REFUSED, AUTH_TOKEN_EXPIRED, AUTH_TOKEN_NOT_YET_VALID, AUTH_AUDIENCE_MISMATCH,
 * AUTH_CLAIM_INVALID. Does not check issuer, header or signature, nor what the token is bound to (`heldToken`), nor
 * `iat`: a clock that runs ahead at the issuer is no reason to refuse, and the age of a token is the issuer's to bound
 * by `exp`.
 */
export function checkClaims(set: ClaimsSet, expected: Expectations): Result<number> {
  const wrongType = refuseIdToken(set, profileOf(expected.issuer));
  if (wrongType !== undefined) return wrongType;
  const expiresAt = numericDate(set.claims, "exp");
  if (!expiresAt.ok) return expiresAt;
  if (expiresAt.value === undefined) return invalid("exp", "missing");
  const outOfTime = refuseOutOfTime(set.claims, expiresAt.value, expected);
  if (outOfTime !== undefined) return outOfTime;
  const foreign = refuseForeignAudience(set, expected);
  return foreign ?? ok(expiresAt.value);
}

/** An ID token proves a sign-in to a client; taken as an access token it would let that client in here. */
function refuseIdToken({ claims, isDeclared }: ClaimsSet, profile: Profile): Refused | undefined {
  const otherKind = otherKindOf(claims, profile);
  if (otherKind !== undefined) return refuseType(otherKind);
  const { accessClaim } = profile;
  if (accessClaim !== undefined) return Object.hasOwn(claims, accessClaim) ? undefined : refuseType(accessClaim);
  // Both say in so many words that this is an access token; Keycloak's `Bearer` ones may carry a nonce.
  if (isDeclared || isOneOf(readOwn(claims, "typ"), ["Bearer", "DPoP"])) return undefined;
  const marker = idTokenClaims.find((name) => Object.hasOwn(claims, name));
  return marker === undefined ? undefined : refuseType(marker);
}

/** The claim by which a token says that it is no access token. */
function otherKindOf(claims: JsonObject, { required }: Profile): string | undefined {
  const unlike = Object.entries(required).find(([name, values]) => !isOneOf(readOwn(claims, name), values));
  if (unlike !== undefined) return unlike[0];
  const use = readOwn(claims, "token_use");
  if (use !== undefined && use !== "access") return "token_use";
  return isOneOf(readOwn(claims, "typ"), ["ID", "Refresh", "Offline"]) ? "typ claim" : undefined;
}

function refuseOutOfTime(claims: JsonObject, exp: number, expected: Expectations): Refused | undefined {
  const now = Math.floor(expected.now / 1000);
  // RFC 7519 §4.1.4: on or after `exp` it must not be accepted.
  if (now >= exp + expected.leewaySeconds) return refuse("AUTH_TOKEN_EXPIRED", { exp, now });
  const notBefore = numericDate(claims, "nbf");
  if (!notBefore.ok) return notBefore;
  if (notBefore.value === undefined || now >= notBefore.value - expected.leewaySeconds) return undefined;
  return refuse("AUTH_TOKEN_NOT_YET_VALID", { nbf: notBefore.value, now });
}

/** RFC 7519 §4.1.3, RFC 8707 §2: one of the token's audiences is this resource, or what configuration says of it. */
function refuseForeignAudience(set: ClaimsSet, { issuer, resource }: Expectations): Refused | undefined {
  const audiences = audiencesOf(set.claims, profileOf(issuer));
  if (audiences === undefined) return invalid("aud", "not text");
  if (audiences.names.some((one) => sameButOneSlash(one, resource))) return undefined;
  const mapped =
    issuer.audience !== undefined && Object.hasOwn(issuer.audience, resource) ? issuer.audience[resource] : undefined;
  if (mapped === undefined || !audiences.names.includes(mapped))
    return refuse("AUTH_AUDIENCE_MISMATCH", { expected: mapped ?? resource, audiences: audiences.names.length });
  return audiences.claim === "aud" ? refuseForClient(set, issuer, audiences.names) : undefined;
}

interface Audiences {
  readonly claim: string;
  readonly names: readonly string[];
}

/** Undefined for one that cannot be read. Where another claim stands in for `aud`, it never stands beside it. */
function audiencesOf(claims: JsonObject, { audienceClaim }: Profile): Audiences | undefined {
  const claim = audienceClaim === undefined || Object.hasOwn(claims, "aud") ? "aud" : audienceClaim;
  const value = readOwn(claims, claim);
  const names = Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (!names.every((one) => typeof one === "string")) return undefined;
  // The resource itself is no value of another claim: a client could be registered under it.
  return { claim, names: claim === "aud" ? names : names.filter((one) => !one.includes("://")) };
}

/**
 * An ID token's audience is its client (OpenID Connect Core §2). So where the audience that configuration names may
 * be the client's own id, a token must show that it is no ID token of that client.
 */
function refuseForClient(set: ClaimsSet, issuer: TrustedIssuer, audiences: readonly string[]): Refused | undefined {
  const { claims, isDeclared } = set;
  const profile = profileOf(issuer);
  const clients = ["client_id", "azp", ...profile.clientClaims].map((name) => readOwn(claims, name));
  const named = clients.filter((one) => typeof one === "string");
  if (named.length > 0 && !named.some((one) => audiences.includes(one))) return undefined;
  const marks = ["scope", "scp", ...(issuer.scopeClaim === undefined ? [] : [issuer.scopeClaim])];
  const isMarked =
    isDeclared ||
    isOneOf(readOwn(claims, "token_use"), ["access"]) ||
    isOneOf(readOwn(claims, "typ"), ["Bearer", "DPoP"]) ||
    marks.some((name) => readClaim(claims, name) !== undefined) ||
    profile.isService(claims);
  return isMarked ? undefined : refuseType("audience of a client");
}

function isOneOf(value: Json | undefined, values: readonly string[]): boolean {
  return typeof value === "string" && values.includes(value);
}

/** Clients and issuers disagree on one trailing slash, and on nothing else that is tolerated. */
function sameButOneSlash(audience: string, resource: string): boolean {
  return audience === resource || audience === `${resource}/` || `${audience}/` === resource;
}

/** A NumericDate (RFC 7519 §2), fractions allowed. */
function numericDate(claims: JsonObject, name: string): Result<number | undefined> {
  const value = readOwn(claims, name);
  if (value === undefined) return ok(undefined);
  const seconds = value instanceof ExactNumber ? Number(value.source) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) ? ok(seconds) : invalid(name, "not a number");
}

/** A claim of the wrong shape. The claim's name and what is wrong are told, its value is not. */
export function invalid(claim: string, reason: string): Refused {
  return refuse("AUTH_CLAIM_INVALID", { claim, reason });
}

function refuseType(because: string): Refused {
  return refuse("AUTH_TOKEN_TYPE_REFUSED", { because });
}
