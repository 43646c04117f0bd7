import type { RefusalCode } from "../model/refusal.ts";
import { namesDpop } from "./authorization-header.ts";

export type ChallengeError = "invalid_token" | "insufficient_scope" | "invalid_dpop_proof" | "use_dpop_nonce";

export interface ChallengeParts {
  /** See `protectedResourceMetadataUrl`. */
  readonly resourceMetadataUrl: string;
  /** Every scope the caller will need: some clients replace the set they hold by this one. */
  readonly scopes: readonly string[];
  readonly error?: ChallengeError | undefined;
  /** Algorithms of proofs that are accepted: the challenge is of the scheme DPoP. Absent or none: of the scheme Bearer. */
  readonly algs?: readonly string[] | undefined;
  /** For a person reading logs; what RFC 6750 §3 does not allow in it is left out. */
  readonly description?: string | undefined;
}

/** `scope-token` (RFC 6749 §3.3). */
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * The value of `WWW-Authenticate` (RFC 6750 §3, RFC 9728 §5.1, RFC 9449 §7.1): one challenge, the scheme spelled
 * `Bearer` or `DPoP`, every value quoted and none with an escaped quote, since clients read it with patterns rather
 * than parsers. Never throws: what cannot stand inside quotes is left out or percent-encoded.
 */
export function challengeText(parts: ChallengeParts): string {
  const scopes = parts.scopes.filter((scope) => scopeToken.test(scope));
  const description = parts.description?.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "");
  const algs = (parts.algs ?? []).join(" ");
  const parameters = [
    algs === "" ? undefined : `algs="${algs}"`,
    parts.error === undefined ? undefined : `error="${parts.error}"`,
    description === undefined || description === "" ? undefined : `error_description="${description}"`,
    scopes.length === 0 ? undefined : `scope="${scopes.join(" ")}"`,
    `resource_metadata="${parts.resourceMetadataUrl.replaceAll(/[^\x21\x23-\x5b\x5d-\x7e]/g, percentEncoded)}"`,
  ];
  return `${algs === "" ? "Bearer" : "DPoP"} ${parameters.filter((one) => one !== undefined).join(", ")}`;
}

/** RFC 6750 §3.1, RFC 9449 §7.1 and §9. A token that is bound to another key, or to a certificate, is an invalid one. */
const errors: ReadonlyMap<RefusalCode, ChallengeError> = new Map<RefusalCode, ChallengeError>([
  ["SCOPE_INSUFFICIENT", "insufficient_scope"],
  ["AUTH_DPOP_PROOF_MISSING", "invalid_dpop_proof"],
  ["AUTH_DPOP_PROOF_INVALID", "invalid_dpop_proof"],
  ["AUTH_DPOP_PROOF_REPLAYED", "invalid_dpop_proof"],
  ["AUTH_DPOP_NONCE_NEEDED", "use_dpop_nonce"],
]);

/**
 * The algorithms that a challenge names: those of proofs for a request that came with one, or wanted to, so that the
 * one challenge is of the scheme that its client speaks; none for every other request.
 */
export function challengeAlgorithms(
  authorization: readonly string[],
  accepted: readonly string[] | undefined,
): readonly string[] | undefined {
  return namesDpop(authorization) ? accepted : undefined;
}

/** The first two showed no token of ours; the last is no 401 at all, as the token may be good. */
const withoutError: readonly RefusalCode[] = [
  "AUTH_TOKEN_MISSING",
  "AUTH_SCHEME_UNSUPPORTED",
  "AUTH_ISSUER_UNAVAILABLE",
];

/**
 * The `error` that belongs to a refusal. Who sent no credential, or one of another scheme, is told none
 * (RFC 6750 §3.1): clients take `invalid_token` as a reason to throw away a token they never had.
 */
export function challengeError(code: RefusalCode): ChallengeError | undefined {
  const own = errors.get(code);
  if (own !== undefined) return own;
  return code.startsWith("AUTH_") && !withoutError.includes(code) ? "invalid_token" : undefined;
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
