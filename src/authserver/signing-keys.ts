import { createCipheriv, createDecipheriv, createHash, generateKeyPairSync, hkdfSync, randomBytes } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import type { LogEvent } from "./options.ts";
import type { GrantRecords } from "./port.ts";

export interface SigningKeys {
  /** Private keys; the first signs. */
  readonly keys: readonly JsonWebKey[];
  readonly alg: SigningAlg;
  readonly kid: string;
  readonly publicKeys: readonly JsonWebKey[];
}

export type SigningAlg = "ES256" | "RS256" | "EdDSA";

const key: RecordKey = ["oauthKeys", "default", "signing"];
const sealVersion = "v1";
const attemptsMax = 3;

/** Keys from configuration, as they are. Throws when the first cannot sign with ES256, RS256 or EdDSA. */
export function configuredSigningKeys(configured: readonly JsonWebKey[]): SigningKeys {
  return describe(configured.map(named));
}

/**
 * The generated signing key that all replicas share. Whoever comes first makes it; it rests sealed
 * under `sealingKeys[0]`. When no sealing key opens the record, which happens after the secrets were
 * replaced at once, a new key takes its place, `authserver.signing-key-replaced` is logged, and tokens
 * signed before cease to verify. Replicas therefore need the same secrets.
 */
export async function sharedSigningKeys(
  records: GrantRecords,
  sealingKeys: readonly string[],
  log: LogEvent,
): Promise<SigningKeys> {
  const made = generateSigningKey();
  const sealed = seal(JSON.stringify(made), sealingKeys[0] ?? "");
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    if (await records.setIfAbsent(key, sealed, limits.oauthSigningKeyIdleMs)) return describe([made]);
    const present = await records.get(key);
    if (present === undefined) continue;
    const opened = openWithAny(present, sealingKeys);
    if (opened !== undefined) {
      await records.touch(key, limits.oauthSigningKeyIdleMs);
      return describe([opened]);
    }
    if (await records.replace(key, present, sealed, limits.oauthSigningKeyIdleMs)) {
      log("authserver.signing-key-replaced", { kid: String(made["kid"]) });
      return describe([made]);
    }
  }
  throw new Error("the shared signing key keeps changing: do the replicas have the same cookie keys?");
}

function generateSigningKey(): JsonWebKey {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return named({ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "ES256" });
}

function describe(keys: readonly JsonWebKey[]): SigningKeys {
  const first = keys[0];
  if (first === undefined) throw new Error("the signing keys are an empty set");
  return { keys, alg: algorithmOf(first), kid: String(first["kid"]), publicKeys: keys.map(publicPart) };
}

function algorithmOf(jwk: JsonWebKey): SigningAlg {
  if (jwk.d === undefined) throw new Error("the first signing key is not a private key");
  if (jwk.kty === "EC" && jwk.crv === "P-256") return "ES256";
  if (jwk.kty === "RSA") return "RS256";
  if (jwk.kty === "OKP" && jwk.crv === "Ed25519") return "EdDSA";
  throw new Error("the first signing key is neither P-256, RSA nor Ed25519");
}

function named(jwk: JsonWebKey): JsonWebKey {
  return typeof jwk["kid"] === "string" ? jwk : { ...jwk, kid: thumbprint(jwk) };
}

/** RFC 7638: the required members in lexical order. */
function thumbprint(jwk: JsonWebKey): string {
  const { crv, e, kty, n, x, y } = jwk;
  return createHash("sha256").update(JSON.stringify({ crv, e, kty, n, x, y })).digest("base64url");
}

/** Only what a verifier needs: a member that is not listed here may be private. */
function publicPart(jwk: JsonWebKey): JsonWebKey {
  const { kty, crv, x, y, n, e } = jwk;
  const shown = { kty, crv, x, y, n, e, use: "sig", alg: jwk["alg"], kid: jwk["kid"] };
  return Object.fromEntries(Object.entries(shown).filter(([, value]) => value !== undefined));
}

function seal(text: string, secret: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(secret), nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `${sealVersion}.${nonce.toString("base64url")}.${sealed.toString("base64url")}`;
}

function openWithAny(sealed: string, secrets: readonly string[]): JsonWebKey | undefined {
  for (const secret of secrets) {
    const text = open(sealed, secret);
    if (text === undefined) continue;
    const jwk: unknown = JSON.parse(text);
    if (isJwk(jwk)) return jwk;
  }
  return undefined;
}

function open(sealed: string, secret: string): string | undefined {
  const [version, nonceText = "", sealedText = ""] = sealed.split(".");
  if (version !== sealVersion) return undefined;
  const nonce = Buffer.from(nonceText, "base64url");
  const bytes = Buffer.from(sealedText, "base64url");
  try {
    const decipher = createDecipheriv("aes-256-gcm", sealingKey(secret), nonce, { authTagLength: 16 });
    decipher.setAuthTag(bytes.subarray(-16));
    return decipher.update(bytes.subarray(0, -16), undefined, "utf8") + decipher.final("utf8");
  } catch {
    return undefined;
  }
}

function sealingKey(secret: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", "sallyport authorization server signing key", 32));
}

function isJwk(value: unknown): value is JsonWebKey {
  return typeof value === "object" && value !== null && "kty" in value;
}
