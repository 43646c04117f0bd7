import type { Refused } from "./result.ts";

/**
 * The closed list of reasons for which the gateway says no. A code is log field, metric label, audit
 * reason and documentation anchor in one. What strangers see of each stands in `gateway/wire-answer.ts`.
 */
export const refusalCodes = [
  // the transport, before anybody is known
  "HOST_NOT_ALLOWED",
  "ORIGIN_NOT_ALLOWED",
  "URL_MALFORMED",
  "ROUTE_UNKNOWN",
  "SERVER_UNKNOWN",
  "HTTP_METHOD_REFUSED",
  "FILE_METHOD_REFUSED",
  "HTTP_MALFORMED",
  "NOT_ACCEPTABLE",
  "MEDIA_TYPE_UNSUPPORTED",
  "BODY_ENCODING_UNSUPPORTED",
  "BODY_TOO_LARGE",
  "BODY_INCOMPLETE",
  // who acts
  "AUTH_TOKEN_MISSING",
  "AUTH_SCHEME_UNSUPPORTED",
  "AUTH_TOKEN_MALFORMED",
  "AUTH_TOKEN_ENCRYPTED",
  "AUTH_TOKEN_TYPE_REFUSED",
  "AUTH_ALGORITHM_REFUSED",
  "AUTH_ISSUER_UNKNOWN",
  "AUTH_KEY_UNKNOWN",
  "AUTH_SIGNATURE_INVALID",
  "AUTH_TOKEN_EXPIRED",
  "AUTH_TOKEN_NOT_YET_VALID",
  "AUTH_AUDIENCE_MISMATCH",
  "AUTH_CLAIM_INVALID",
  "AUTH_TOKEN_INACTIVE",
  "AUTH_TOKEN_REVOKED",
  "AUTH_DPOP_SCHEME_NEEDED",
  "AUTH_DPOP_TOKEN_UNBOUND",
  "AUTH_DPOP_REQUIRED",
  "AUTH_DPOP_PROOF_MISSING",
  "AUTH_DPOP_PROOF_INVALID",
  "AUTH_DPOP_KEY_MISMATCH",
  "AUTH_DPOP_NONCE_NEEDED",
  "AUTH_DPOP_PROOF_REPLAYED",
  "AUTH_CERTIFICATE_MISSING",
  "AUTH_CERTIFICATE_MISMATCH",
  "AUTH_ISSUER_UNAVAILABLE",
  "SCOPE_INSUFFICIENT",
  // who signs in on pages, and what is opened there
  "SIGNIN_DECLINED",
  "SIGNIN_ANSWER_INVALID",
  "SIGNIN_PROVIDER_UNAVAILABLE",
  "SIGNIN_DENIED",
  "CONNECT_FORM_REFUSED",
  "CONNECT_ATTEMPT_LOST",
  "CONNECT_LINK_INVALID",
  "CONNECT_NOT_YOURS",
  // the message
  "JSON_NOT_UTF8",
  "JSON_MALFORMED",
  "JSON_DUPLICATE_KEY",
  "JSON_FORBIDDEN_KEY",
  "JSON_TOO_DEEP",
  "JSON_TOO_MANY_KEYS",
  "JSON_TOO_MANY_VALUES",
  "JSON_NUMBER_OVERFLOW",
  "JSON_LONE_SURROGATE",
  "RPC_MESSAGE_INVALID",
  "RPC_BATCH_REFUSED",
  "RPC_METHOD_UNKNOWN",
  "RPC_PARAMS_INVALID",
  "RPC_RESPONSE_UNEXPECTED",
  "HEADER_MISMATCH",
  "REVISION_UNSUPPORTED",
  "META_INVALID",
  "CURSOR_INVALID",
  // the legacy session
  "SESSION_MISSING",
  "SESSION_UNKNOWN",
  "SESSION_NOT_YOURS",
  "SESSION_LIMIT_REACHED",
  "SUBSCRIPTION_LIMIT_REACHED",
  "STREAM_LIMIT_REACHED",
  // the item, and what policy says of it
  "ITEM_UNKNOWN",
  "ITEM_HIDDEN",
  "CATALOG_ITEM_COLLIDED",
  "CATALOG_ITEM_UNSAFE",
  "CATALOG_ITEM_DRIFTED",
  "ARGUMENTS_INVALID",
  "SCHEMA_DIALECT_UNSUPPORTED",
  "SCHEMA_UNUSABLE",
  "POLICY_DENIED",
  "PRESET_UNFIT",
  "RATE_LIMITED",
  "QUOTA_EXHAUSTED",
  "CONCURRENCY_LIMITED",
  "TASK_REQUIRED",
  "TASK_UNSUPPORTED",
  "TASK_LIMIT_REACHED",
  "TASK_UNKNOWN",
  // the upstream
  "UPSTREAM_UNREACHABLE",
  "UPSTREAM_ADDRESS_FORBIDDEN",
  "UPSTREAM_QUEUE_FULL",
  "UPSTREAM_SUSPENDED",
  "UPSTREAM_TIMED_OUT",
  "UPSTREAM_CLOSED_EARLY",
  "UPSTREAM_STATUS_UNEXPECTED",
  "UPSTREAM_ANSWER_INVALID",
  "UPSTREAM_ANSWER_UNMATCHED",
  "UPSTREAM_ANSWER_TOO_LARGE",
  "UPSTREAM_AUTH_FAILED",
  "UPSTREAM_CREDENTIAL_UNAVAILABLE",
  "UPSTREAM_CONNECTION_REQUIRED",
  "UPSTREAM_CONNECTION_REFUSED",
  "UPSTREAM_AUTHORIZATION_UNUSABLE",
  "UPSTREAM_ISSUER_CHANGED",
  "UPSTREAM_SESSION_LOST",
  "UPSTREAM_REVISION_UNSUPPORTED",
  "UPSTREAM_INPUT_REQUIRED",
  "CLIENT_FEATURE_DENIED",
  "CLIENT_CAPABILITY_MISSING",
  "CLIENT_INPUT_ABSENT",
  "REQUEST_STATE_INVALID",
  "CATALOG_UNAVAILABLE",
  "RESULT_INVALID",
  "RESULT_TOO_LARGE",
  "FILE_TYPE_REFUSED",
  // the gateway's own dependencies
  "STORE_UNAVAILABLE",
  "AUDIT_UNAVAILABLE",
  "DRAINING",
  "CLIENT_GONE",
  "CALL_CANCELLED",
  "INTERNAL_FAULT",
] as const;

export type RefusalCode = (typeof refusalCodes)[number];

export type Fact = string | number | boolean | readonly string[];

export interface Refusal {
  readonly code: RefusalCode;
  /** What an operator needs to know; never a token, a body or an upstream's free text. */
  readonly facts: Readonly<Record<string, Fact>>;
  /** A sentence for the caller, written by whoever wrote the policy or derived from the schema. */
  readonly message?: string;
  /** The foreign failure that was wrapped, for the log alone. */
  readonly cause?: unknown;
}

export function refuse(
  code: RefusalCode,
  facts: Readonly<Record<string, Fact>> = {},
  more: { message?: string; cause?: unknown } = {},
): Refused {
  return { ok: false, refusal: { code, facts, ...more } };
}
