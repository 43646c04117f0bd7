import { createCipheriv, createDecipheriv, createHash, generateKeyPairSync, hkdfSync, randomBytes } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { createKeyRing, KeyRingSealed } from "../model/key-ring.ts";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { StartRefused } from "../model/start-refused.ts";
import type { LogEvent } from "./options.ts";
import type { GrantRecords } from "./port.ts";

export interface SigningKeys {
  /** Private keys; the first signs, and all are published. */
  readonly keys: readonly JsonWebKey[];
  readonly alg: SigningAlg;
  readonly kid: string;
  readonly publicKeys: readonly JsonWebKey[];
}

export type SigningAlg = "ES256" | "RS256" | "EdDSA";

/** The keys that tokens are signed with. They may change, so whoever signs asks for those of now. */
export interface SigningKeySource {
  /** The same object until they change. Rejects with `StoreUnavailable` where replicas share them and the store is down. */
  current(): Promise<SigningKeys>;
  /** Those that were read last: enough to verify with, since a key is published long before it signs and long after. */
  held(): SigningKeys;
}

/** Keys from configuration, as they are. Throws when the first cannot sign with ES256, RS256 or EdDSA. */
export function configuredSigningKeys(configured: readonly JsonWebKey[]): SigningKeySource {
  const keys = describe(configured.map(named));
  return { current: () => Promise.resolve(keys), held: () => keys };
}

export interface SharedSigningKeysOptions {
  readonly records: GrantRecords;
  /** Secrets; the first seals, all open. */
  readonly sealingKeys: readonly string[];
  readonly now: () => number;
  readonly log: LogEvent;
}

const record: RecordKey = ["oauthKeys", "default", "signing"];
const sealVersion = "v1";

/**
 * Generated keys that all replicas share and that change every `oauthSigningKeyMs`. They rest sealed under the first of
 * the secrets. Where no secret opens them, the gateway does not start (`StartRefused`); one that runs logs
 * `authserver.signing-keys-sealed` and in the end signs nothing. To put new ones there would end the tokens of the
 * replicas that can open them.
 */
export async function sharedSigningKeys(options: SharedSigningKeysOptions): Promise<SigningKeySource> {
  const { records, sealingKeys, now, log } = options;
  const ring = createKeyRing({
    ...{ record, records, now, generate: generateSigningKey },
    read: (keys) => describe(keys.map(readKey)),
    ageMs: limits.oauthSigningKeyMs,
    readMs: limits.oauthSigningKeysReadMs,
    seal: (text) => seal(text, sealingKeys[0] ?? ""),
    open: (sealed) => openWithAny(sealed, sealingKeys),
    onChange: (reason) => {
      log("authserver.signing-keys-changed", { reason });
    },
    onSealed: () => {
      log("authserver.signing-keys-sealed", {});
    },
  });
  const first = await ring.current().catch(explainAtStart);
  return { current: () => ring.current(), held: () => ring.held() ?? first };
}

function explainAtStart(fault: unknown): never {
  if (!(fault instanceof KeyRingSealed)) throw fault;
  throw new StartRefused([
    "auth.builtIn.cookieSecret: the signing keys in the store were sealed under another secret. Every replica needs the same; an earlier one belongs into cookieSecretPrevious. To give the keys up, with every token that they signed, delete sallyport:default:oauthKeys:signing.",
  ]);
}

function generateSigningKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return JSON.stringify(named({ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "ES256" }));
}

/** One of ours, authentic. */
function readKey(text: string): JsonWebKey {
  const jwk: unknown = JSON.parse(text);
  if (!isJwk(jwk)) throw new Error("a shared signing key is none");
  return jwk;
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

function openWithAny(sealed: string, secrets: readonly string[]): string | undefined {
  for (const secret of secrets) {
    const text = open(sealed, secret);
    if (text !== undefined) return text;
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
