import { parseJson } from "../protocol/json/parse.ts";
import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";

/** A signed token taken apart. Nothing in it is verified yet. */
export interface CompactToken {
  readonly token: string;
  readonly algorithm: string;
  readonly keyId: string | undefined;
  /** Lower-cased, without the `application/` that RFC 7515 §4.1.9 lets writers omit. */
  readonly type: string | undefined;
  readonly payload: Uint8Array;
  /** Whole. Of an access token, nothing of it is read but what stands above. */
  readonly header: JsonObject;
  readonly claims: JsonObject;
}

/**
 * Takes a JWS in compact form apart (RFC 7515 §7.1), strictly: both JSON parts without duplicate keys,
 * every segment in the one spelling of its bytes. Key material and addresses in the header (`jwk`,
 * `jku`, `x5c`, `x5u`) are not looked at here.
 *
 * Refuses AUTH_TOKEN_ENCRYPTED (a JWE, RFC 7516 §7.1) and AUTH_TOKEN_MALFORMED, whose `reason` tells
 * opaque tokens apart. Does not check type, algorithm, claims or signature.
 */
export function readCompactToken(token: string): Result<CompactToken> {
  const segments = token.split(".");
  if (segments.length === 5) return refuse("AUTH_TOKEN_ENCRYPTED");
  const [header64, payload64, signature64] = segments;
  if (segments.length !== 3 || header64 === undefined || payload64 === undefined || signature64 === undefined) {
    return malformed("opaque, not a JWT");
  }
  const headerBytes = decodeSegment(header64);
  const payload = decodeSegment(payload64);
  if (headerBytes === undefined || payload === undefined || decodeSegment(signature64) === undefined) {
    return malformed("a segment is not base64url");
  }
  const header = parseObject(headerBytes);
  const claims = parseObject(payload);
  if (header === undefined || claims === undefined) return malformed("header or claims are not a JSON object");
  return withHeader(header, { token, payload, claims });
}

/** Whether a token cannot be a JWS in compact form: opaque, or encrypted for somebody else, which is the same here. */
export function isOpaque(token: string): boolean {
  return token.split(".").length !== 3;
}

type Body = Pick<CompactToken, "token" | "payload" | "claims">;

function withHeader(header: JsonObject, body: Body): Result<CompactToken> {
  const algorithm = readOwnString(header, "alg");
  const kid = readOwn(header, "kid");
  const typ = readOwn(header, "typ");
  if (algorithm === undefined) return malformed("no alg");
  if (kid !== undefined && typeof kid !== "string") return malformed("kid is not text");
  if (typ !== undefined && typeof typ !== "string") return malformed("typ is not text");
  // A critical extension that is not understood refuses the token (RFC 7515 §4.1.11); none is understood
  // here, and an unencoded payload is not allowed in a JWT at all (RFC 7797 §7).
  if (Object.hasOwn(header, "crit") || Object.hasOwn(header, "b64")) return malformed("critical header");
  return ok({ ...body, header, algorithm, keyId: kid, type: typ?.toLowerCase().replace(/^application\//, "") });
}

/**
 * Bytes of a base64url segment (RFC 7515 §2), or undefined when it is not the one canonical spelling of
 * them: the last character's unused bits would let a holder respell a token, and slip past what
 * remembers tokens by their text.
 */
function decodeSegment(segment: string): Uint8Array | undefined {
  const bytes = Buffer.from(segment, "base64url");
  return bytes.toString("base64url") === segment ? bytes : undefined;
}

function parseObject(bytes: Uint8Array): JsonObject | undefined {
  const parsed = parseJson(bytes);
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

function malformed(reason: string): Refused {
  return refuse("AUTH_TOKEN_MALFORMED", { reason });
}
