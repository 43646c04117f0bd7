import { hash } from "node:crypto";
import { calculateJwkThumbprint, compactVerify } from "jose";
import { ExactNumber, readOwn, readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { readCompactToken } from "./compact-token.ts";
import type { CompactToken } from "./compact-token.ts";
import { readPublicJwk } from "./public-key.ts";
import type { PublicJwk } from "./public-key.ts";

/** Signature algorithms of proofs: asymmetric ones alone (RFC 9449 §4.3, 5). The challenge names them. */
export const proofAlgorithms = ["ES256", "ES384", "ES512", "EdDSA", "Ed25519", "PS256", "RS256"] as const;

export type ProofLimits = Pick<
  Limits,
  "dpopProofBytesMax" | "dpopProofSecondsMax" | "dpopProofIdCharsMax" | "clockLeewaySeconds"
>;

/** The request that a proof must have been made for. */
export interface ProvedRequest {
  readonly method: string;
  /** The public URI that is asked, without query; never made of what the request says of its host. */
  readonly uri: string;
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A proof that holds, but for what only its server can say: nonce, key, and that it is not used again. */
export interface Proof {
  /** SHA-256 thumbprint of the key (RFC 7638). */
  readonly thumbprint: string;
  readonly id: string;
  readonly nonce: string | undefined;
  /** From when on it is refused as too old, in milliseconds since the epoch. */
  readonly until: number;
}

/**
 * Verifies a DPoP proof (RFC 9449 §4.3): a JWT of type `dpop+jwt`, signed by the public key that it brings, made for
 * this method, URI and token within the last `dpopProofSecondsMax`.
 *
 * Refuses AUTH_DPOP_PROOF_INVALID, with the reason. Checks neither the nonce, nor that the key is the token's, nor that the
 * proof was not used before: see `refuseUnheld`.
 */
export async function verifyProof(text: string, request: ProvedRequest, limits: ProofLimits): Promise<Result<Proof>> {
  if (text.length > limits.dpopProofBytesMax) return invalid("too long");
  const read = readCompactToken(text);
  if (!read.ok) return invalid("no JWT");
  const proof = read.value;
  if (proof.type !== "dpop+jwt") return invalid("typ");
  const known: readonly string[] = proofAlgorithms;
  if (!known.includes(proof.algorithm)) return invalid("alg");
  const jwk = readPublicJwk(readOwn(proof.header, "jwk"));
  if (jwk === undefined) return invalid("jwk");
  const made = readClaims(proof.claims, request, limits);
  if (!made.ok) return made;
  if (!(await isSignedBy(proof, jwk))) return invalid("signature");
  return ok({ ...made.value, thumbprint: await calculateJwkThumbprint({ ...jwk }, "sha256") });
}

function readClaims(
  claims: JsonObject,
  request: ProvedRequest,
  limits: ProofLimits,
): Result<Omit<Proof, "thumbprint">> {
  if (readOwn(claims, "htm") !== request.method) return invalid("htm");
  if (!isSameUri(readOwnString(claims, "htu"), request.uri)) return invalid("htu");
  // RFC 9449 §4.2: the hash of the token's ASCII bytes.
  if (readOwn(claims, "ath") !== hash("sha256", request.token, "base64url")) return invalid("ath");
  const madeAt = secondsOf(readOwn(claims, "iat"));
  if (madeAt === undefined) return invalid("iat");
  const until = (madeAt + limits.dpopProofSecondsMax + limits.clockLeewaySeconds) * 1000;
  if (request.now >= until) return invalid("iat is too old");
  if (request.now < (madeAt - limits.clockLeewaySeconds) * 1000) return invalid("iat is in the future");
  const id = readOwnString(claims, "jti");
  if (id === undefined || id === "" || id.length > limits.dpopProofIdCharsMax) return invalid("jti");
  return ok({ id, nonce: readOwnString(claims, "nonce"), until });
}

/** RFC 9449 §4.3, 9: without query and fragment, after the normalisation of RFC 3986 §6.2.2 and §6.2.3. */
function isSameUri(claimed: string | undefined, uri: string): boolean {
  if (claimed === undefined || !URL.canParse(claimed)) return false;
  const { origin, pathname, username, password } = new URL(claimed);
  const asked = new URL(uri);
  return origin === asked.origin && pathname === asked.pathname && username === "" && password === "";
}

function secondsOf(value: unknown): number | undefined {
  const seconds = value instanceof ExactNumber ? Number(value.source) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) ? seconds : undefined;
}

async function isSignedBy({ token, algorithm, payload }: CompactToken, jwk: PublicJwk): Promise<boolean> {
  try {
    const verified = await compactVerify(token, { ...jwk }, { algorithms: [algorithm] });
    return Buffer.compare(verified.payload, payload) === 0;
  } catch {
    // A wrong signature, a key that is none, an RSA key below 2048 bits: the sender made all of it.
    return false;
  }
}

function invalid(reason: string): Refused {
  return refuse("AUTH_DPOP_PROOF_INVALID", { reason });
}
