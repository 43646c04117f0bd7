import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
import { refuse } from "../model/refusal.ts";
import type { Refused } from "../model/result.ts";

/** Error codes as RFC 6749 §4.1.2.1 spells them; anything else is a stranger's free text. */
const errorCode = /^[a-z0-9_.-]{1,64}$/i;

/**
 * The refusal that a fault of the library or of the way to the provider stands for. The library's errors carry the
 * answer they are about, codes and tokens included, so neither they nor their `cause` go any further.
 */
export function refusalOf(fault: unknown): Refused {
  if (fault instanceof AuthorizationResponseError) return refuse("SIGNIN_DECLINED", { error: codeOf(fault.error) });
  if (fault instanceof ResponseBodyError && fault.error === "invalid_grant")
    return refuse("SIGNIN_ANSWER_INVALID", { reason: "the code was refused" });
  if (fault instanceof ResponseBodyError) return refuse("SIGNIN_PROVIDER_UNAVAILABLE", { error: codeOf(fault.error) });
  // RFC 6749 §5.2: 401 with a challenge is about the gateway's own client, not about whoever signs in.
  if (fault instanceof WWWAuthenticateChallengeError)
    return refuse("SIGNIN_PROVIDER_UNAVAILABLE", { reason: "it refused the gateway's credentials" });
  if (fault instanceof OperationProcessingError && !isUnexpectedStatus(fault))
    return refuse("SIGNIN_ANSWER_INVALID", { reason: fault.code ?? "unknown" });
  if (fault instanceof UnsupportedOperationError) return refuse("SIGNIN_ANSWER_INVALID", { reason: fault.code });
  if (fault instanceof ClaimsUnreadable) return refuse("SIGNIN_ANSWER_INVALID", { reason: "claims" });
  return refuse("SIGNIN_PROVIDER_UNAVAILABLE", { reason: "it could not be asked" });
}

/** Claims that are no JSON within bounds. */
export class ClaimsUnreadable extends Error {
  override readonly name = "ClaimsUnreadable";
}

/** Errors of RFC 6749 §5.2 and §4.1.2.1 that are about the gateway or about the moment, and say nothing of a person. */
const notOfPeople: ReadonlySet<string> = new Set([
  "invalid_client",
  "unauthorized_client",
  "server_error",
  "temporarily_unavailable",
]);

/**
 * What a fault of a recheck says of the person. `unavailable` is what may pass: nobody answers, a 5xx, 408 or 429, an
 * error about the gateway itself. Any other error of OAuth's is a no (`gone`), `invalid_grant` above all, and an answer
 * that does not hold is `unreadable`. `tokensCame`: the provider had given new tokens before.
 */
export function recheckFaultOf(fault: unknown, tokensCame: boolean): "gone" | "unreadable" | "unavailable" {
  if (fault instanceof ResponseBodyError)
    return isPassing(fault.status) || notOfPeople.has(fault.error) ? "unavailable" : "gone";
  // At UserInfo it is about the token that came just before, which is the person's.
  if (fault instanceof WWWAuthenticateChallengeError) return tokensCame ? "gone" : "unavailable";
  if (fault instanceof OperationProcessingError) return isUnexpectedStatus(fault) ? "unavailable" : "unreadable";
  return fault instanceof UnsupportedOperationError || fault instanceof ClaimsUnreadable ? "unreadable" : "unavailable";
}

function codeOf(error: string): string {
  return errorCode.test(error) ? error : "unreadable";
}

/** A page of a proxy, an overload: the library takes an error without an OAuth body for a malformed answer. */
function isUnexpectedStatus(fault: OperationProcessingError): boolean {
  return fault.cause instanceof Response && isPassing(fault.cause.status);
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
