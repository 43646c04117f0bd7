import { ExactNumber, isJsonObject, readOwn } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import type { CompactToken } from "./compact-token.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** RFC 9068 §2.1, and what issuers wrote before it. An ID token's `typ` is `JWT` too: see `refuseIdToken`. */
const accessTokenTypes: readonly (string | undefined)[] = [undefined, "jwt", "at+jwt"];

/** Claims that only ID tokens carry (OpenID Connect Core §2, §3.1.3.6, §3.3.2.11; FAPI `s_hash`). */
const idTokenClaims = ["nonce", "at_hash", "c_hash", "s_hash"];

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
 * AUTH_CLAIM_INVALID. Does not check issuer, algorithm or signature, nor `iat`: a clock that runs ahead
 * at the issuer is no reason to refuse, and the age of a token is the issuer's to bound by `exp`.
 */
export function checkClaims(token: CompactToken, expected: Expectations): Result<number> {
  const wrongType = refuseIdToken(token);
  if (wrongType !== undefined) return wrongType;
  const expiresAt = numericDate(token.claims, "exp");
  if (!expiresAt.ok) return expiresAt;
  if (expiresAt.value === undefined) return invalid("exp", "missing");
  const outOfTime = refuseOutOfTime(token.claims, expiresAt.value, expected);
  if (outOfTime !== undefined) return outOfTime;
  const foreign = refuseForeignAudience(token.claims, expected);
  return foreign ?? ok(expiresAt.value);
}

/** An ID token proves a sign-in to a client; taken as an access token it would let that client in here. */
function refuseIdToken({ type, claims }: CompactToken): Refused | undefined {
  if (!accessTokenTypes.includes(type)) return refuseType("typ");
  // A token bound to a key is worth nothing without the proof (RFC 9449 §7.1, RFC 8705 §3), and no proof
  // is read here; taken as a plain bearer token it would lose what its issuer gave it.
  if (Object.hasOwn(claims, "cnf")) return refuseType("cnf");
  const use = readOwn(claims, "token_use");
  if (use !== undefined && use !== "access") return refuseType("token_use");
  const kind = readOwn(claims, "typ");
  if (kind === "ID" || kind === "Refresh" || kind === "Offline") return refuseType("typ claim");
  // Both say in so many words that this is an access token; Keycloak's `Bearer` ones may carry a nonce.
  if (type === "at+jwt" || kind === "Bearer") return undefined;
  const marker = idTokenClaims.find((name) => Object.hasOwn(claims, name));
  return marker === undefined ? undefined : refuseType(marker);
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

/** RFC 7519 §4.1.3, RFC 8707 §2: one of the token's audiences is this resource. */
function refuseForeignAudience(claims: JsonObject, { issuer, resource }: Expectations): Refused | undefined {
  const value = readOwn(claims, "aud");
  const audiences = Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (!audiences.every((one) => typeof one === "string")) return invalid("aud", "not text");
  const mapped =
    issuer.audience !== undefined && Object.hasOwn(issuer.audience, resource) ? issuer.audience[resource] : undefined;
  if (audiences.some((one) => one === mapped || sameButOneSlash(one, resource))) return undefined;
  return refuse("AUTH_AUDIENCE_MISMATCH", { expected: mapped ?? resource, audiences: audiences.length });
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

/** The claim under a configured name: a JSON pointer when it begins with `/`, else the name itself. */
export function readClaim(claims: JsonObject, name: string): Json | undefined {
  if (!name.startsWith("/")) return readOwn(claims, name);
  const steps = name.slice(1).split("/");
  return steps.reduce<Json | undefined>(
    (at, step) => readStep(at, step.replaceAll("~1", "/").replaceAll("~0", "~")),
    claims,
  );
}

function readStep(value: Json | undefined, step: string): Json | undefined {
  return isJsonObject(value) ? readOwn(value, step) : undefined;
}

/** A claim of the wrong shape. The claim's name and what is wrong are told, its value is not. */
export function invalid(claim: string, reason: string): Refused {
  return refuse("AUTH_CLAIM_INVALID", { claim, reason });
}

function refuseType(because: string): Refused {
  return refuse("AUTH_TOKEN_TYPE_REFUSED", { because });
}
