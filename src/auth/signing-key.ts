import type { JWK } from "jose";
import { readOwn, readOwnString } from "../model/json.ts";
import type { Json, JsonObject } from "../model/json.ts";

/** A public key of an issuer, freed of everything but what verification needs. */
export interface SigningKey {
  readonly jwk: JWK;
  readonly kid: string | undefined;
  readonly algorithm: string | undefined;
  /** Such as `RSA`, `EC P-256`, `OKP Ed25519`. */
  readonly family: string;
}

/** RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864 §2.2: the one family of keys each algorithm is used with. */
const families: Readonly<Record<string, string>> = {
  RS256: "RSA",
  RS384: "RSA",
  RS512: "RSA",
  PS256: "RSA",
  PS384: "RSA",
  PS512: "RSA",
  ES256: "EC P-256",
  ES384: "EC P-384",
  ES512: "EC P-521",
  EdDSA: "OKP Ed25519",
  Ed25519: "OKP Ed25519",
};

/**
 * The verification keys of a JWK Set (RFC 7517 §5). Keys of unknown kinds, for encryption, or incomplete
 * are passed over as §5 asks; symmetric keys always are. Throws when `keys` is missing or longer than
 * `keysMax`. Does not check that a key's numbers make a key: that shows when it is used.
 */
export function signingKeys(set: JsonObject, keysMax: number): readonly SigningKey[] {
  const keys = readOwn(set, "keys");
  if (!Array.isArray(keys)) throw new Error("a JWK Set without keys");
  if (keys.length > keysMax) throw new Error(`a JWK Set of more than ${keysMax} keys`);
  return keys.map(signingKey).filter((key) => key !== undefined);
}

/** Whether this key may verify this algorithm: the key decides, not the token that names the algorithm. */
export function fits(key: SigningKey, algorithm: string): boolean {
  if (families[algorithm] !== key.family) return false;
  if (key.family === "OKP Ed25519") return key.algorithm === undefined || families[key.algorithm] === key.family;
  return key.algorithm === undefined || key.algorithm === algorithm;
}

function signingKey(value: Json): SigningKey | undefined {
  const use = readOwn(value, "use");
  const operations = readOwn(value, "key_ops");
  if (use !== undefined && use !== "sig") return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) return undefined;
  const publicPart = publicKey(value);
  if (publicPart === undefined) return undefined;
  return { ...publicPart, kid: readOwnString(value, "kid"), algorithm: readOwnString(value, "alg") };
}

/** Built member by member, so that private parts an issuer publishes by mistake are dropped. */
function publicKey(value: Json): Pick<SigningKey, "jwk" | "family"> | undefined {
  const [kty, crv, n, e, x, y] = ["kty", "crv", "n", "e", "x", "y"].map((name) => readOwnString(value, name));
  if (kty === "RSA" && n !== undefined && e !== undefined) return { family: kty, jwk: { kty, n, e } };
  if (crv === undefined || x === undefined) return undefined;
  if (kty === "EC" && y !== undefined) return { family: `EC ${crv}`, jwk: { kty, crv, x, y } };
  return kty === "OKP" ? { family: `OKP ${crv}`, jwk: { kty, crv, x } } : undefined;
}
