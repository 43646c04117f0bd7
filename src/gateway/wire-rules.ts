import type { RefusalCode } from "../model/refusal.ts";

/**
 * The form in which a refusal reaches the caller.
 * - `http`: the whole HTTP exchange is refused with a status and a JSON-RPC error.
 * - `challenge`: 401 with the one challenge (RFC 6750 §3, RFC 9728 §5.1).
 * - `step-up`: 403 `insufficient_scope` with every scope of the operation.
 * - `message`: a JSON-RPC error in a 200 answer (in the modern era `modernStatus`, where the ladder says so).
 * - `call`: a tool's `isError` result that a model can act on; for other methods a JSON-RPC error in band.
 * - `unknown-item`: the answer for an item that does not exist; hidden ones get the same bytes.
 */
export interface WireRule {
  readonly form: "http" | "challenge" | "step-up" | "message" | "call" | "unknown-item";
  readonly status: number;
  /** Of a `call`: in the modern era it refuses the exchange with this status and `modernRpcCode`, not with a result. */
  readonly modernStatus?: number;
  readonly modernRpcCode?: number;
  readonly rpcCode: number;
  /** What strangers read. Fixed text: facts of a refusal never appear here. */
  readonly text: string;
}

const invalidRequest = -32600;
const internalError = -32603;
const invalidParams = -32602;
const parseError = -32700;

const http = (status: number, rpcCode: number, text: string): WireRule => ({ form: "http", status, rpcCode, text });
const challenge = (text: string): WireRule => ({ form: "challenge", status: 401, rpcCode: invalidRequest, text });
const json = (text: string): WireRule => http(400, parseError, text);
const message = (rpcCode: number, text: string): WireRule => ({ form: "message", status: 200, rpcCode, text });
const call = (text: string): WireRule => ({ form: "call", status: 200, rpcCode: internalError, text });

/** Every code has exactly one rule: the compiler holds this table to the list of codes. */
export const wireRules: Readonly<Record<RefusalCode, WireRule>> = {
  HOST_NOT_ALLOWED: http(403, invalidRequest, "This host name is not served here."),
  ORIGIN_NOT_ALLOWED: http(403, invalidRequest, "Pages of this origin may not call this server."),
  URL_MALFORMED: http(400, invalidRequest, "The request URL is malformed."),
  ROUTE_UNKNOWN: http(404, invalidRequest, "There is nothing at this path."),
  SERVER_UNKNOWN: http(404, invalidRequest, "There is nothing at this path."),
  HTTP_METHOD_REFUSED: http(
    405,
    invalidRequest,
    "This HTTP method is not served here: POST messages to this URL. The HTTP+SSE transport of 2024-11-05 is not supported.",
  ),
  FILE_METHOD_REFUSED: http(405, invalidRequest, "Files are fetched with GET or HEAD."),
  HTTP_MALFORMED: http(400, invalidRequest, "The request is not well-formed HTTP."),
  NOT_ACCEPTABLE: http(406, invalidRequest, "Accept must allow application/json or text/event-stream."),
  MEDIA_TYPE_UNSUPPORTED: http(415, invalidRequest, "Content-Type must be application/json."),
  BODY_ENCODING_UNSUPPORTED: http(415, invalidRequest, "A request body must be sent without content encoding."),
  BODY_TOO_LARGE: http(413, invalidRequest, "The request body is too large."),
  BODY_INCOMPLETE: http(400, invalidRequest, "The request body did not arrive whole."),

  AUTH_TOKEN_MISSING: challenge("Sign in: this server needs an access token."),
  AUTH_SCHEME_UNSUPPORTED: challenge(
    "Only access tokens are accepted, by the scheme Bearer, or DPoP where that is on.",
  ),
  AUTH_TOKEN_MALFORMED: challenge("The access token is malformed, or opaque where a signed JWT is needed."),
  AUTH_TOKEN_ENCRYPTED: challenge("The access token is encrypted; this server needs one it can read."),
  AUTH_TOKEN_TYPE_REFUSED: challenge("This is not an access token."),
  AUTH_ALGORITHM_REFUSED: challenge("The access token's signature algorithm is not accepted."),
  AUTH_ISSUER_UNKNOWN: challenge("The access token's issuer is not trusted here."),
  AUTH_KEY_UNKNOWN: challenge("The access token's signing key is not known."),
  AUTH_SIGNATURE_INVALID: challenge("The access token's signature is invalid."),
  AUTH_TOKEN_EXPIRED: challenge("The access token has expired."),
  AUTH_TOKEN_NOT_YET_VALID: challenge("The access token is not valid yet."),
  AUTH_AUDIENCE_MISMATCH: challenge("The access token was issued for another audience."),
  AUTH_CLAIM_INVALID: challenge("The access token lacks a claim this server needs."),
  AUTH_TOKEN_INACTIVE: challenge("The access token's issuer says that it is not active."),
  AUTH_TOKEN_REVOKED: challenge("The access token has been revoked."),
  AUTH_DPOP_SCHEME_NEEDED: challenge("The access token is bound to a key: it needs the scheme DPoP and a proof."),
  AUTH_DPOP_TOKEN_UNBOUND: challenge("The access token is bound to no key: it needs the scheme Bearer."),
  AUTH_DPOP_REQUIRED: challenge("This server takes only access tokens that are bound to a key."),
  AUTH_DPOP_PROOF_MISSING: challenge("A DPoP proof must come with this access token."),
  AUTH_DPOP_PROOF_INVALID: challenge("The DPoP proof does not hold for this request."),
  AUTH_DPOP_KEY_MISMATCH: challenge("The DPoP proof is made with another key than the access token is bound to."),
  AUTH_DPOP_NONCE_NEEDED: challenge("The DPoP proof must carry the nonce that the DPoP-Nonce header gives."),
  AUTH_DPOP_PROOF_REPLAYED: challenge("The DPoP proof was used before."),
  AUTH_CERTIFICATE_MISSING: challenge("The access token is bound to a client certificate, and none was shown."),
  AUTH_CERTIFICATE_MISMATCH: challenge("The access token is bound to another client certificate."),
  AUTH_ISSUER_UNAVAILABLE: http(503, internalError, "The access token cannot be checked now. Try again soon."),
  SCOPE_INSUFFICIENT: {
    form: "step-up",
    status: 403,
    rpcCode: invalidRequest,
    text: "The access token lacks scopes this operation needs.",
  },

  SIGNIN_DECLINED: http(403, invalidRequest, "The sign-in was not completed at your organisation's provider."),
  SIGNIN_ANSWER_INVALID: http(403, invalidRequest, "The sign-in cannot be accepted. Start again."),
  SIGNIN_PROVIDER_UNAVAILABLE: http(
    503,
    internalError,
    "Your organisation's provider cannot be asked now. Try again soon.",
  ),
  SIGNIN_DENIED: http(403, invalidRequest, "You may not sign in here."),
  CONNECT_FORM_REFUSED: http(
    403,
    invalidRequest,
    "This form was sent from another site or is too old. Open the page again.",
  ),
  CONNECT_ATTEMPT_LOST: http(
    403,
    invalidRequest,
    "This was begun in another browser, has expired, or is already finished. Start again.",
  ),
  CONNECT_LINK_INVALID: http(
    400,
    invalidRequest,
    "This link is not valid or has expired. Ask your application for a new one.",
  ),
  CONNECT_NOT_YOURS: http(403, invalidRequest, "This link was made for somebody else. Only they can use it."),

  JSON_NOT_UTF8: json("The body is not UTF-8."),
  JSON_MALFORMED: json("The body is not JSON."),
  JSON_DUPLICATE_KEY: json("The body names a key twice."),
  JSON_FORBIDDEN_KEY: json("The body holds a key that is not accepted."),
  JSON_TOO_DEEP: json("The body is nested too deeply."),
  JSON_TOO_MANY_KEYS: json("The body holds too many keys."),
  JSON_TOO_MANY_VALUES: json("The body holds too many values."),
  JSON_NUMBER_OVERFLOW: json("The body holds a number out of range."),
  JSON_LONE_SURROGATE: json("The body holds malformed Unicode."),
  RPC_MESSAGE_INVALID: http(400, invalidRequest, "The body is not a JSON-RPC message."),
  RPC_BATCH_REFUSED: http(400, invalidRequest, "JSON-RPC batches are not accepted here."),
  RPC_METHOD_UNKNOWN: { ...message(-32601, "Method not found"), modernStatus: 404 },
  RPC_PARAMS_INVALID: message(invalidParams, "The parameters do not fit the method."),
  RPC_RESPONSE_UNEXPECTED: http(400, invalidRequest, "No response is awaited here."),
  HEADER_MISMATCH: http(400, -32020, "A header is missing or does not match the body."),
  REVISION_UNSUPPORTED: http(400, -32022, "Unsupported protocol version"),
  META_INVALID: http(400, invalidParams, "params._meta lacks what this protocol version requires."),
  CURSOR_INVALID: message(invalidParams, "The cursor is not valid here."),

  SESSION_MISSING: http(400, -32000, "Mcp-Session-Id is missing: initialize first."),
  SESSION_UNKNOWN: http(404, -32001, "Session not found"),
  SESSION_NOT_YOURS: http(404, -32001, "Session not found"),
  SESSION_LIMIT_REACHED: message(internalError, "Too many sessions are open. Close some or wait until they expire."),
  SUBSCRIPTION_LIMIT_REACHED: message(internalError, "There are too many subscriptions. End some first."),
  STREAM_LIMIT_REACHED: http(429, internalError, "Too many streams are open. Close some, then try again."),

  ITEM_UNKNOWN: { form: "unknown-item", status: 200, rpcCode: invalidParams, text: "Unknown" },
  ITEM_HIDDEN: { form: "unknown-item", status: 200, rpcCode: invalidParams, text: "Unknown" },
  CATALOG_ITEM_COLLIDED: call("Two servers offer an item of this name, so neither is served. Tell the operator."),
  CATALOG_ITEM_UNSAFE: call("This item's definition is not safe to use and is withheld. Tell the operator."),
  CATALOG_ITEM_DRIFTED: call("This item is not as it was approved, and is withheld until it is. Tell the operator."),
  // Prompts: "Missing required arguments: -32602" (2025-11-25, prompts, "Error Handling").
  ARGUMENTS_INVALID: { ...call("The arguments do not fit the schema."), rpcCode: invalidParams },
  SCHEMA_DIALECT_UNSUPPORTED: call(
    "This tool declares a schema dialect that cannot be checked, so it cannot be called.",
  ),
  SCHEMA_UNUSABLE: call("This tool declares a schema that cannot be checked safely, so it cannot be called."),
  POLICY_DENIED: call("Policy does not allow this call with these arguments."),
  PRESET_UNFIT: call("Policy fixes arguments here that do not fit, so this cannot be called. Tell the operator."),
  RATE_LIMITED: call("Too many calls in a short time."),
  QUOTA_EXHAUSTED: call("Today's calls are used up."),
  CONCURRENCY_LIMITED: call("Too many calls are under way. Wait for some to finish, then try again."),
  // 2025-11-25, tasks, "Tool-Level Negotiation": in both cases -32601.
  TASK_REQUIRED: message(-32601, "This tool runs as a task only, which is not possible between you and its server."),
  TASK_UNSUPPORTED: message(-32601, "This tool does not run as a task."),
  TASK_LIMIT_REACHED: message(internalError, "You have too many tasks. Wait until some have expired, then try again."),
  TASK_UNKNOWN: message(invalidParams, "Unknown task"),

  UPSTREAM_UNREACHABLE: call(
    "The server behind this item cannot be reached. The call was not carried out; try again later.",
  ),
  UPSTREAM_ADDRESS_FORBIDDEN: call(
    "The server behind this item has an address that may not be dialled. Tell the operator.",
  ),
  UPSTREAM_QUEUE_FULL: call(
    "The server behind this item is overloaded. The call was not carried out; try again in some seconds.",
  ),
  UPSTREAM_SUSPENDED: call(
    "The server behind this item has failed again and again and is left alone for a while. The call was not carried out; try again in a minute.",
  ),
  UPSTREAM_TIMED_OUT: call("The server behind this item did not answer in time."),
  UPSTREAM_CLOSED_EARLY: call("The server behind this item ended the connection before it answered."),
  UPSTREAM_STATUS_UNEXPECTED: call("The server behind this item failed."),
  UPSTREAM_ANSWER_INVALID: call("The server behind this item answered something that is not valid."),
  UPSTREAM_ANSWER_UNMATCHED: call("The server behind this item answered another request than the one it got."),
  UPSTREAM_ANSWER_TOO_LARGE: call("The answer of the server behind this item is too large."),
  UPSTREAM_AUTH_FAILED: call(
    "The gateway is not admitted to the server behind this item. Your own sign-in is fine; tell the operator.",
  ),
  UPSTREAM_CREDENTIAL_UNAVAILABLE: call(
    "The gateway cannot get its credential for the server behind this item. Your own sign-in is fine; try later.",
  ),
  UPSTREAM_CONNECTION_REQUIRED: call(
    "The server behind this item needs to be connected to your own account there first.",
  ),
  UPSTREAM_CONNECTION_REFUSED: call("Connecting the server behind this item did not succeed. Begin again."),
  UPSTREAM_AUTHORIZATION_UNUSABLE: call(
    "The server behind this item cannot be connected as it stands. Your own sign-in is fine; tell the operator.",
  ),
  UPSTREAM_ISSUER_CHANGED: call(
    "The server behind this item suddenly names another sign-in service, so it is not used. Tell the operator.",
  ),
  UPSTREAM_SESSION_LOST: call("The server behind this item lost its session. Try again."),
  UPSTREAM_REVISION_UNSUPPORTED: call("The server behind this item speaks a protocol version the gateway does not."),
  UPSTREAM_INPUT_REQUIRED: call("The server behind this item asks for input that cannot be given here."),
  CLIENT_FEATURE_DENIED: call("The server behind this item asks for input that policy does not let it ask for."),
  // 2026-07-28, basic, "Error Codes"; before it there is no such code.
  CLIENT_CAPABILITY_MISSING: {
    ...call("The server behind this item needs something of the client that the client did not say it can do."),
    modernStatus: 400,
    modernRpcCode: -32021,
  },
  CLIENT_INPUT_ABSENT: call("The server behind this item asked for input that the client did not give."),
  REQUEST_STATE_INVALID: message(
    invalidParams,
    "This requestState is not valid here, or no longer. Begin again without it.",
  ),
  CATALOG_UNAVAILABLE: message(internalError, "The servers behind this one cannot be listed now. Try again soon."),
  RESULT_INVALID: call(
    "The result breaks the schema the tool declares, so it was withheld. The fault is the tool's, not the call's.",
  ),
  RESULT_TOO_LARGE: call("The result is larger than policy lets through, so it was withheld. Ask for less."),
  FILE_TYPE_REFUSED: http(502, internalError, "The file is of a type that is not delivered here."),

  STORE_UNAVAILABLE: http(503, internalError, "The gateway cannot reach its store. Try again soon."),
  AUDIT_UNAVAILABLE: http(
    503,
    internalError,
    "The gateway cannot keep evidence now, so it does nothing. Try again soon.",
  ),
  DRAINING: http(503, internalError, "The gateway is shutting down. Try again."),
  CLIENT_GONE: call("The client closed the exchange."),
  CALL_CANCELLED: message(-32000, "The call was cancelled."),
  INTERNAL_FAULT: http(500, internalError, "The gateway has a fault of its own."),
};
