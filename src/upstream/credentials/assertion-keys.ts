import { generateKeyPairSync } from "node:crypto";
import type { JsonObject } from "../../model/json.ts";
import { createKeyRing, type KeyRingRecords } from "../../model/key-ring.ts";
import type { Limits } from "../../model/limits.ts";
import type { RecordKey } from "../../model/records.ts";
import type { Sealer } from "../grants/port.ts";
import { readSigningKey, signJwt } from "./signing-key.ts";
import type { SigningKey } from "./signing-key.ts";

/** Signs as the gateway. */
export interface AssertionSigner {
  /** The gateway's issuer identifier. */
  readonly issuer: string;
  /** A JWT of `claims`, `typ` in its header. Rejects with `StoreUnavailable` when the keys are not at hand. */
  sign(typ: string, claims: JsonObject): Promise<string>;
}

export interface AssertionKeys extends AssertionSigner {
  /** What assertions verify with (RFC 7517 §5): every key that signed lately or will. */
  publicKeys(): Promise<JsonObject>;
}

export interface AssertionKeysOptions {
  readonly issuer: string;
  /** Private keys in PEM or as JWK. The first signs, all are published. Empty: keys are generated and change by themselves. */
  readonly configured: readonly string[];
  readonly records: KeyRingRecords;
  readonly sealer: Sealer;
  readonly now: () => number;
  readonly limits: Pick<Limits, "assertionKeyMs" | "assertionKeysReadMs">;
  readonly log: (event: string, facts: Readonly<Record<string, string>>) => void;
}

/**
 * The keys behind the gateway's assertions. Generated ones rest in the store, sealed, and are shared by all replicas:
 * the one that signs, the next one, which is published for a whole `assertionKeyMs` before it signs, and the one
 * before. Whoever first reads them after that time brings them forward; a replica that has not read them again within
 * `assertionKeysReadMs` signs with one that is published still. Keys that do not open, as where replicas have different
 * secrets, stay where they are: nothing is signed and nothing published here, and `assertion-keys-sealed` is logged.
 */
export function createAssertionKeys(options: AssertionKeysOptions): AssertionKeys {
  const { issuer, configured } = options;
  const keys = configured.length > 0 ? configuredKeys(configured) : storedKeys(options);
  return {
    issuer,
    sign: async (typ, claims) => signJwt((await keys()).signs, typ, claims),
    publicKeys: async () => ({ keys: (await keys()).published.map(({ publicJwk }) => publicJwk) }),
  };
}

interface KeySet {
  readonly signs: SigningKey;
  readonly published: readonly SigningKey[];
}

function configuredKeys(texts: readonly string[]): () => Promise<KeySet> {
  let read: Promise<KeySet> | undefined;
  return () => (read ??= keySet(texts));
}

async function keySet(texts: readonly string[]): Promise<KeySet> {
  const published = await Promise.all(texts.map((text) => readSigningKey(text)));
  const [signs] = published;
  if (signs === undefined) throw new Error("there is no key to sign with");
  return { signs, published };
}

const record: RecordKey = ["assertion-keys", "default"];
const associated = JSON.stringify(record);

function storedKeys({ records, sealer, now, limits, log }: AssertionKeysOptions): () => Promise<KeySet> {
  const ring = createKeyRing({
    ...{ record, records, now, generate, read: keySet },
    ageMs: limits.assertionKeyMs,
    readMs: limits.assertionKeysReadMs,
    seal: (text) => sealer.seal(associated, text),
    open: (sealed) => sealer.open(associated, sealed),
    onChange: (reason) => {
      log("assertion-keys-changed", { reason });
    },
    onSealed: () => {
      log("assertion-keys-sealed", { wanted: "the keys.session that they were sealed under" });
    },
  });
  return () => ring.current();
}

function generate(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return JSON.stringify(privateKey.export({ format: "jwk" }));
}
