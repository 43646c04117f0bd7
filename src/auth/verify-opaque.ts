import { readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { heldToken } from "./binding.ts";
import { checkClaims, invalid } from "./check-claims.ts";
import type { Introspector } from "./introspector.ts";
import { principalOf } from "./principal-of.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";
import type { Verification, VerifiedToken } from "./verify-token.ts";

/** The issuer of a server's opaque tokens, and the way to ask it. */
export interface IntrospectedIssuer {
  readonly trusted: TrustedIssuer;
  readonly introspector: Introspector;
}

/**
 * Verifies a token that is no JWT by what its issuer says of it (RFC 7662), judged as a JWT's claims are: `iss`
 * where there is one, type, time, audience. An answer without `exp` counts for as long as it is remembered.
 *
 * Refuses AUTH_TOKEN_INACTIVE, AUTH_ISSUER_UNAVAILABLE, AUTH_ISSUER_UNKNOWN, AUTH_TOKEN_TYPE_REFUSED,
 * AUTH_TOKEN_EXPIRED, AUTH_TOKEN_NOT_YET_VALID, AUTH_AUDIENCE_MISMATCH and AUTH_CLAIM_INVALID. Does not check
 * revocation by the deny list, scopes, nor that whoever sends the token holds what it is bound to.
 */
export async function verifyOpaque(
  text: string,
  issuer: IntrospectedIssuer,
  verification: Verification,
): Promise<Result<VerifiedToken>> {
  const { trusted, introspector } = issuer;
  const { resource, now, limits } = verification;
  const answer = await introspector.ask(text, now);
  if (!answer.ok) return answer;
  const claims = withExpiry(answer.value, now / 1000 + limits.verifiedTokenSecondsMax);
  const foreign = refuseForeign(claims, trusted) ?? refuseOtherType(claims);
  if (foreign !== undefined) return foreign;
  const expected = { issuer: trusted, resource, now, leewaySeconds: limits.clockLeewaySeconds };
  const expiresAt = checkClaims({ claims, isDeclared: false }, expected);
  if (!expiresAt.ok) return expiresAt;
  const facts = { expiresAt: expiresAt.value, identityCharsMax: limits.identityCharsMax, resource };
  const principal = principalOf(claims, trusted, facts);
  if (!principal.ok) return principal;
  const held = heldToken(claims, trusted);
  return held.ok ? ok({ principal: principal.value, ...held.value, isCurrent: () => true }) : held;
}

function withExpiry(claims: JsonObject, exp: number): JsonObject {
  return Object.hasOwn(claims, "exp") ? claims : { ...claims, exp };
}

/** One endpoint may answer for several issuers; only tokens of this one count. */
function refuseForeign(claims: JsonObject, { issuer, issuerAliases = [], alias }: TrustedIssuer): Refused | undefined {
  const iss = readOwn(claims, "iss");
  if (iss === undefined || iss === issuer) return undefined;
  if (typeof iss !== "string") return invalid("iss", "not text");
  return issuerAliases.includes(iss) ? undefined : refuse("AUTH_ISSUER_UNKNOWN", { issuer: alias });
}

/** A refresh token is active too. The hint that is sent with it binds nobody (RFC 7662 §2.1). */
function refuseOtherType(claims: JsonObject): Refused | undefined {
  const type = readOwn(claims, "token_type");
  if (type === undefined) return undefined;
  const isAccess = typeof type === "string" && ["bearer", "dpop", "access_token"].includes(type.toLowerCase());
  return isAccess ? undefined : refuse("AUTH_TOKEN_TYPE_REFUSED", { because: "token_type" });
}
