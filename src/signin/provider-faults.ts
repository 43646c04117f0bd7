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
  return refuse("SIGNIN_PROVIDER_UNAVAILABLE", { reason: "it could not be asked" });
}

/** The OAuth error that the provider's token endpoint answered with; undefined for every other fault. */
export function providerError(fault: unknown): string | undefined {
  return fault instanceof ResponseBodyError ? fault.error : undefined;
}

function codeOf(error: string): string {
  return errorCode.test(error) ? error : "unreadable";
}

/** A page of a proxy, an overload: the library takes an error without an OAuth body for a malformed answer. */
function isUnexpectedStatus(fault: OperationProcessingError): boolean {
  return fault.cause instanceof Response && fault.cause.status >= 500;
}
