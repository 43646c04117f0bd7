import { generateKeyPairSync } from "node:crypto";
import { isJsonObject, readOwn } from "../../model/json.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import type { RecordKey, RecordReads, RecordWrites } from "../../model/records.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import type { Sealer } from "../grants/port.ts";
import { createSingleFlight } from "../single-flight.ts";
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

export type AssertionKeyRecords = Pick<RecordReads, "get"> & Pick<RecordWrites, "setIfAbsent" | "replace">;

export interface AssertionKeysOptions {
  readonly issuer: string;
  /** Private keys in PEM or as JWK. The first signs, all are published. Empty: keys are generated and change by themselves. */
  readonly configured: readonly string[];
  readonly records: AssertionKeyRecords;
  readonly sealer: Sealer;
  readonly now: () => number;
  readonly limits: Pick<Limits, "assertionKeyMs" | "assertionKeysReadMs">;
  readonly log: (event: string, facts: Readonly<Record<string, string>>) => void;
}

/**
 * The keys behind the gateway's assertions. Generated ones rest in the store, sealed, and are shared by all replicas:
 * the one that signs, the next one, which is published for a whole `assertionKeyMs` before it signs, and the one
 * before. Whoever first reads them after that time brings them forward; a replica that has not read them again within
 * `assertionKeysReadMs` signs with one that is published still. Keys that no longer open, as after the secrets were
 * replaced at once, give way to new ones.
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

/** As they rest: private JWKs as text, the one that signs, the next, and the one before. */
interface Ring {
  readonly since: number;
  readonly keys: readonly string[];
}

const record: RecordKey = ["assertion-keys", "default"];
const associated = JSON.stringify(record);
const attemptsMax = 5;

function storedKeys(options: AssertionKeysOptions): () => Promise<KeySet> {
  const { now, limits } = options;
  const flight = createSingleFlight<KeySet>();
  let held: { readonly set: KeySet; readonly until: number } | undefined;
  return () => {
    if (held !== undefined && now() < held.until) return Promise.resolve(held.set);
    return flight.run("read", async () => {
      const set = await keySet((await currentRing(options)).keys);
      held = { set, until: now() + limits.assertionKeysReadMs };
      return set;
    });
  };
}

/** Reads the ring, makes it where there is none, and brings it forward where it is time; of several replicas one does. */
async function currentRing(options: AssertionKeysOptions): Promise<Ring> {
  const { records, sealer, now, limits, log } = options;
  // Whatever brings them forward writes them again, so they live as long as anything signs.
  const ttlMs = 4 * limits.assertionKeyMs;
  const sealed = (ring: Ring): string => sealer.seal(associated, JSON.stringify(ring));
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const at = now();
    const present = await records.get(record);
    const ring = present === undefined ? undefined : readRing(sealer.open(associated, present));
    if (ring !== undefined && at - ring.since < limits.assertionKeyMs) return ring;
    const next = ring === undefined ? { since: at, keys: [generate(), generate()] } : forward(ring, at);
    const written =
      present === undefined
        ? await records.setIfAbsent(record, sealed(next), ttlMs)
        : await records.replace(record, present, sealed(next), ttlMs);
    if (!written) continue;
    log("assertion-keys-changed", { reason: ring === undefined ? "none that opens" : "age" });
    return next;
  }
  throw new Error("the assertion keys keep changing: do the replicas have the same session keys?");
}

function forward({ keys: [signed, next] }: Ring, since: number): Ring {
  const before = signed === undefined ? [] : [signed];
  return { since, keys: [next ?? generate(), generate(), ...before] };
}

function generate(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return JSON.stringify(privateKey.export({ format: "jwk" }));
}

function readRing(text: string | undefined): Ring | undefined {
  const parsed = text === undefined ? undefined : parseJsonText(text);
  if (parsed?.ok !== true || !isJsonObject(parsed.value)) return undefined;
  const since = readOwn(parsed.value, "since");
  const keys = stringsOf(readOwn(parsed.value, "keys"));
  return typeof since === "number" && keys.length >= 2 ? { since, keys } : undefined;
}

function stringsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
