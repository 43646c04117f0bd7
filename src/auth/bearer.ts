import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";

/** `b64token` (RFC 6750 §2.1): no space, comma, quote or control, so nothing can hide a second credential. */
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * The token of an `Authorization: Bearer` header (RFC 6750 §2.1; the scheme in any case, RFC 9110 §11.1).
 *
 * `authorization` holds every value received under that name, since a second one may be what another hop
 * reads: more than one is refused, never chosen from. Tokens in the query or the body are not read at all.
 *
 * Refuses AUTH_TOKEN_MISSING, AUTH_SCHEME_UNSUPPORTED, AUTH_TOKEN_MALFORMED. Does not check the token.
 */
export function readBearer(authorization: readonly string[], bytesMax: number): Result<string> {
  const [header, ...others] = authorization;
  if (header === undefined) return refuse("AUTH_TOKEN_MISSING");
  if (others.length > 0) return refuse("AUTH_TOKEN_MALFORMED", { reason: "several Authorization headers" });
  const space = header.indexOf(" ");
  const scheme = space < 0 ? header : header.slice(0, space);
  if (scheme === "") return refuse("AUTH_TOKEN_MISSING");
  if (scheme.toLowerCase() !== "bearer") return refuse("AUTH_SCHEME_UNSUPPORTED");
  const token = space < 0 ? "" : trimSpaces(header.slice(space));
  if (token === "") return refuse("AUTH_TOKEN_MISSING");
  if (token.length > bytesMax) return refuse("AUTH_TOKEN_MALFORMED", { reason: "too long", bytesMax });
  if (!b64token.test(token)) return refuse("AUTH_TOKEN_MALFORMED", { reason: "not a b64token" });
  return ok(token);
}

/** By index, not by pattern: a trailing-space pattern is quadratic on a header made of spaces. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === " ") start += 1;
  while (end > start && text[end - 1] === " ") end -= 1;
  return text.slice(start, end);
}
