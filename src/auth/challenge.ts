import type { RefusalCode } from "../model/refusal.ts";

export interface ChallengeParts {
  /** See `protectedResourceMetadataUrl`. */
  readonly resourceMetadataUrl: string;
  /** Every scope the caller will need: some clients replace the set they hold by this one. */
  readonly scopes: readonly string[];
  readonly error?: "invalid_token" | "insufficient_scope" | undefined;
  /** For a person reading logs; what RFC 6750 §3 does not allow in it is left out. */
  readonly description?: string | undefined;
}

/** `scope-token` (RFC 6749 §3.3). */
const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/**
 * The value of `WWW-Authenticate` (RFC 6750 §3, RFC 9728 §5.1): one challenge, the scheme spelled
 * `Bearer`, every value quoted and none with an escaped quote, since clients read it with patterns rather
 * than parsers. Never throws: what cannot stand inside quotes is left out or percent-encoded.
 */
export function bearerChallenge(parts: ChallengeParts): string {
  const scopes = parts.scopes.filter((scope) => scopeToken.test(scope));
  const description = parts.description?.replaceAll(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "");
  const parameters = [
    parts.error === undefined ? undefined : `error="${parts.error}"`,
    description === undefined || description === "" ? undefined : `error_description="${description}"`,
    scopes.length === 0 ? undefined : `scope="${scopes.join(" ")}"`,
    `resource_metadata="${parts.resourceMetadataUrl.replaceAll(/[^\x21\x23-\x5b\x5d-\x7e]/g, percentEncoded)}"`,
  ];
  return `Bearer ${parameters.filter((one) => one !== undefined).join(", ")}`;
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
export function challengeError(code: RefusalCode): "invalid_token" | "insufficient_scope" | undefined {
  if (code === "SCOPE_INSUFFICIENT") return "insufficient_scope";
  return code.startsWith("AUTH_") && !withoutError.includes(code) ? "invalid_token" : undefined;
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
}
