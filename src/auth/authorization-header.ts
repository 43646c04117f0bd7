import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";

/** `b64token` (RFC 6750 §2.1, RFC 9449 §7.1): no space, comma, quote or control, so nothing can hide a second credential. */
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

export type TokenScheme = "Bearer" | "DPoP";

/** A token, and the scheme that it came with. */
export interface PresentedToken {
  readonly scheme: TokenScheme;
  readonly token: string;
}

const schemes: ReadonlyMap<string, TokenScheme> = new Map([
  ["bearer", "Bearer"],
  ["dpop", "DPoP"],
]);

/**
 * The token of an `Authorization: Bearer` (RFC 6750 §2.1) or `Authorization: DPoP` header (RFC 9449 §7.1), the
 * scheme in any case (RFC 9110 §11.1).
 *
 * `authorization` holds every value received under that name, since a second one may be what another hop
 * reads: more than one is refused, never chosen from. Tokens in the query or the body are not read at all.
 *
 * Refuses AUTH_TOKEN_MISSING, AUTH_SCHEME_UNSUPPORTED, AUTH_TOKEN_MALFORMED. Checks neither the token nor whether
 * its scheme may be used.
 */
export function readAuthorization(authorization: readonly string[], bytesMax: number): Result<PresentedToken> {
  const [header, ...others] = authorization;
  if (header === undefined) return refuse("AUTH_TOKEN_MISSING");
  if (others.length > 0) return refuse("AUTH_TOKEN_MALFORMED", { reason: "several Authorization headers" });
  const space = header.indexOf(" ");
  const name = space < 0 ? header : header.slice(0, space);
  if (name === "") return refuse("AUTH_TOKEN_MISSING");
  const scheme = schemes.get(name.toLowerCase());
  if (scheme === undefined) return refuse("AUTH_SCHEME_UNSUPPORTED");
  const token = space < 0 ? "" : trimSpaces(header.slice(space));
  if (token === "") return refuse("AUTH_TOKEN_MISSING");
  if (token.length > bytesMax) return refuse("AUTH_TOKEN_MALFORMED", { reason: "too long", bytesMax });
  if (!token68.test(token)) return refuse("AUTH_TOKEN_MALFORMED", { reason: "not a b64token" });
  return ok({ scheme, token });
}

/** Whether a request names the scheme DPoP: it is answered with that scheme's challenge and a nonce. */
export function namesDpop([header = ""]: readonly string[]): boolean {
  return /^dpop(?: |$)/i.test(header);
}

/** By index, not by pattern: a trailing-space pattern is quadratic on a header made of spaces. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === " ") start += 1;
  while (end > start && text[end - 1] === " ") end -= 1;
  return text.slice(start, end);
}
