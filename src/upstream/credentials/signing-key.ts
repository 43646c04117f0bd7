import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, importPKCS8, SignJWT, type CryptoKey } from "jose";
import type { JsonObject } from "../../model/json.ts";

/** A private key that is ready to sign, and what of it may be published. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  /** RFC 7517, with `kid`, `alg` and `use`; without anything private. */
  readonly publicJwk: JsonObject;
}

/**
 * The private key in `text`: PEM (PKCS #8, PKCS #1 or SEC 1) or one JWK as JSON. Signs with ES256, ES384 or ES512
 * by the curve, with EdDSA for Ed25519, and with RS256 for RSA of 2048 bits and more. Named by `kid`, else by the
 * JWK's own, else by its thumbprint (RFC 7638). Throws for anything else; the message repeats nothing of the key.
 */
export async function readSigningKey(text: string, kid?: string): Promise<SigningKey> {
  const { key, named } = parse(text);
  const alg = algorithmOf(key);
  const pem = key.export({ type: "pkcs8", format: "pem" }).toString();
  const jwk = await exportJWK(createPublicKey(key));
  const id = kid ?? named ?? (await calculateJwkThumbprint(jwk));
  const publicJwk: JsonObject = { ...definite(jwk), kid: id, alg, use: "sig" };
  return { kid: id, alg, privateKey: await importPKCS8(pem, alg), publicJwk };
}

/** A JWT of these very claims (RFC 7519). Sets nothing but the header. */
export function signJwt(key: SigningKey, typ: string, claims: JsonObject): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, typ }).sign(key.privateKey);
}

function parse(text: string): { readonly key: KeyObject; readonly named: string | undefined } {
  if (!text.trimStart().startsWith("{")) return { key: createPrivateKey(text), named: undefined };
  const jwk: unknown = JSON.parse(text);
  if (typeof jwk !== "object" || jwk === null) throw new Error("the key is no JWK");
  const named = "kid" in jwk && typeof jwk.kid === "string" ? jwk.kid : undefined;
  return { key: createPrivateKey({ key: { ...jwk }, format: "jwk" }), named };
}

const byCurve: ReadonlyMap<string | undefined, string> = new Map([
  ["prime256v1", "ES256"],
  ["secp384r1", "ES384"],
  ["secp521r1", "ES512"],
]);

function algorithmOf(key: KeyObject): string {
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const kind = key.asymmetricKeyType;
  const alg = kind === "ec" ? byCurve.get(namedCurve) : kind === "ed25519" ? "EdDSA" : undefined;
  if (alg !== undefined) return alg;
  if (kind === "rsa" && modulusLength >= 2_048) return "RS256";
  throw new Error("the key is none that signs: P-256, P-384, P-521, Ed25519, or RSA of 2048 bits and more");
}

function definite(jwk: object): JsonObject {
  return Object.fromEntries(
    Object.entries(jwk).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
