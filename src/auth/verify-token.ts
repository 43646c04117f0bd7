import { compactVerify, errors } from "jose";
import type { Limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import { readOwnString } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { heldToken } from "./binding.ts";
import type { HeldToken } from "./binding.ts";
import { checkClaims } from "./check-claims.ts";
import { readCompactToken } from "./compact-token.ts";
import type { CompactToken } from "./compact-token.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import { principalOf } from "./principal-of.ts";
import { profileOf } from "./profiles.ts";
import type { SigningKey } from "./signing-key.ts";
import { signatureAlgorithms } from "./trusted-issuer.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** An issuer and its keys. */
export interface KeyedIssuer {
  readonly trusted: TrustedIssuer;
  readonly keys: IssuerKeys;
}

/** What verification established. Only `verifyToken` and `verifyOpaque` make one. */
export interface VerifiedToken extends HeldToken {
  readonly principal: Principal;
  /** Whether the keys that the signature was checked under are the issuer's still. */
  readonly isCurrent: () => boolean;
}

export interface Verification {
  readonly issuers: ReadonlyMap<string, KeyedIssuer>;
  readonly resource: string;
  readonly now: number;
  readonly limits: Pick<Limits, "clockLeewaySeconds" | "identityCharsMax" | "verifiedTokenSecondsMax">;
}

/**
 * Verifies a JWT access token (RFC 9068 §4, RFC 8725): form, issuer, algorithm, type, time, audience, and
 * last the signature, so that only a token which would be accepted otherwise makes anybody fetch keys.
 * A refusal before that speaks of what the token claims, which a stranger may have written.
 *
 * Refuses every AUTH_TOKEN_* but MISSING, INACTIVE and REVOKED, AUTH_ALGORITHM_REFUSED, AUTH_ISSUER_UNKNOWN,
 * AUTH_KEY_UNKNOWN, AUTH_SIGNATURE_INVALID, AUTH_AUDIENCE_MISMATCH, AUTH_CLAIM_INVALID and
 * AUTH_ISSUER_UNAVAILABLE. Does not check revocation, scopes, or `jti` for replay, nor that whoever sends the token
 * holds what it is bound to: `refuseUnheld` does.
 */
export async function verifyToken(text: string, verification: Verification): Promise<Result<VerifiedToken>> {
  const token = readCompactToken(text);
  if (!token.ok) return token;
  const issuer = issuerOf(token.value, verification.issuers);
  if (!issuer.ok) return issuer;
  const { trusted, keys } = issuer.value;
  const { resource, now, limits } = verification;
  const expected = { issuer: trusted, resource, now, leewaySeconds: limits.clockLeewaySeconds };
  const unlike = refuseHeaderType(token.value, trusted);
  if (unlike !== undefined) return unlike;
  const { claims, type } = token.value;
  const expiresAt = checkClaims({ claims, isDeclared: type === "at+jwt" }, expected);
  if (!expiresAt.ok) return expiresAt;
  const facts = { expiresAt: expiresAt.value, identityCharsMax: limits.identityCharsMax, resource };
  const principal = principalOf(claims, trusted, facts);
  if (!principal.ok) return principal;
  const held = heldToken(claims, trusted);
  if (!held.ok) return held;
  const found = await keys.find({ kid: token.value.keyId, algorithm: token.value.algorithm }, now);
  if (!found.ok) return found;
  // Read before the signature is: keys that change meanwhile must not count as those it was checked under.
  const generation = keys.generation();
  const forged = await refuseForged(token.value, found.value, trusted.alias);
  const isCurrent = (): boolean => keys.generation() === generation;
  return forged ?? ok({ principal: principal.value, ...held.value, isCurrent });
}

function issuerOf(token: CompactToken, issuers: Verification["issuers"]): Result<KeyedIssuer> {
  const issuer = issuers.get(readOwnString(token.claims, "iss") ?? "");
  if (issuer === undefined) return refuse("AUTH_ISSUER_UNKNOWN");
  const allowed: readonly string[] = issuer.trusted.algorithms ?? signatureAlgorithms;
  // RFC 8725 §3.1: the list decides, whatever the header asks for.
  if (!allowed.includes(token.algorithm)) return refuse("AUTH_ALGORITHM_REFUSED", { issuer: issuer.trusted.alias });
  return ok(issuer);
}

/** RFC 8725 §3.11: by its `typ`, one kind of JWT is not taken for another. An ID token's may be `JWT` too. */
function refuseHeaderType({ type }: CompactToken, trusted: TrustedIssuer): Refused | undefined {
  const { tokenTypes } = trusted;
  const isAccepted =
    tokenTypes === undefined ? profileOf(trusted).tokenTypes.includes(type) : tokenTypes.includes(type ?? "none");
  return isAccepted ? undefined : refuse("AUTH_TOKEN_TYPE_REFUSED", { because: "typ" });
}

/** Undefined when one of the keys verifies the token. */
async function refuseForged(
  token: CompactToken,
  keys: readonly SigningKey[],
  issuer: string,
): Promise<Refused | undefined> {
  const causes: unknown[] = [];
  for (const { jwk } of keys) {
    try {
      const { payload } = await compactVerify(token.token, jwk, { algorithms: [token.algorithm] });
      // What was judged above is what was signed.
      if (Buffer.compare(payload, token.payload) === 0) return undefined;
    } catch (cause) {
      causes.push(cause);
    }
  }
  // Any other failure is a key that cannot be used, such as RSA below 2048 bits (RFC 7518 §3.3).
  const unusable = causes.find((cause) => !(cause instanceof errors.JWSSignatureVerificationFailed));
  const reason = unusable === undefined ? "no key verifies it" : "a key is unusable";
  return refuse("AUTH_SIGNATURE_INVALID", { issuer, reason }, { cause: unusable });
}
