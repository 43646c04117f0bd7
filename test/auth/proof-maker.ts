import { createHash, generateKeyPairSync } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from "jose";
import type { JWK, JWTPayload } from "jose";

/** A client's key, and the proofs that it makes. */
export interface ProofMaker {
  readonly thumbprint: string;
  readonly jwk: JWK;
  /** A proof for a token and request; claims and header members may be changed or, when undefined, left out. */
  prove(of: ProofOf, claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

export interface ProofOf {
  readonly token: string;
  readonly uri: string;
  readonly method?: string;
  readonly nonce?: string | undefined;
  /** Seconds since the epoch. Default: now. */
  readonly iat?: number;
}

let made = 0;

export async function proofMaker(alg = "ES256", modulusLength = 2048): Promise<ProofMaker> {
  const pair = /^[RP]S/.test(alg) ? generateKeyPairSync("rsa", { modulusLength }) : await generateKeyPair(alg);
  const jwk = await exportJWK(pair.publicKey);
  const prove: ProofMaker["prove"] = ({ token, uri, method = "POST", nonce, iat }, claims = {}, header = {}) => {
    made += 1;
    const ath = createHash("sha256").update(token).digest("base64url");
    const usual = {
      jti: `proof-${made}`,
      htm: method,
      htu: uri,
      iat: iat ?? Math.floor(Date.now() / 1000),
      ath,
      nonce,
    };
    return new SignJWT(present({ ...usual, ...claims }))
      .setProtectedHeader({ alg, ...present({ typ: "dpop+jwt", jwk, ...header }) })
      .sign(pair.privateKey);
  };
  return { thumbprint: await calculateJwkThumbprint(jwk), jwk, prove };
}

function present(members: Record<string, unknown>): JWTPayload {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
