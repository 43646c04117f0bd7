import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import type { JSONWebKeySet } from "jose";
import { describe, expect, it } from "vitest";
import type { KeyRingRecords } from "../../../src/model/key-ring.ts";
import { StoreUnavailable } from "../../../src/model/records.ts";
import { createAssertionKeys, type AssertionKeys } from "../../../src/upstream/credentials/assertion-keys.ts";
import type { Sealer } from "../../../src/upstream/grants/port.ts";
import { keyRecords, plainSealer } from "./assertion-bench.ts";

const limits = { assertionKeyMs: 100_000, assertionKeysReadMs: 1_000 };

function replica(
  records: KeyRingRecords,
  clock: { now: number },
  more: { readonly sealer?: Sealer; readonly configured?: readonly string[]; readonly events?: string[] } = {},
): AssertionKeys {
  const { sealer = plainSealer, configured = [], events = [] } = more;
  return createAssertionKeys({
    issuer: "https://gw.example",
    ...{ configured, records, sealer, limits },
    now: () => clock.now,
    log: (event) => events.push(event),
  });
}

async function kidOf(keys: AssertionKeys): Promise<unknown> {
  return decodeProtectedHeader(await keys.sign("JWT", {})).kid;
}

async function published(keys: AssertionKeys): Promise<string[]> {
  const { keys: found } = (await keys.publicKeys()) as unknown as { keys: { kid: string }[] };
  return found.map(({ kid }) => kid);
}

describe("keys that are made", () => {
  it("are shared by replicas: what one signs verifies with what another publishes", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const [one, other] = [replica(records, clock), replica(records, clock)];
    const [token] = await Promise.all([one.sign("JWT", { a: 1 }), other.sign("JWT", { b: 2 })]);
    const keySet = createLocalJWKSet((await other.publicKeys()) as unknown as JSONWebKeySet);
    expect((await jwtVerify(token, keySet)).payload).toEqual({ a: 1 });
    expect(records.entries.size).toBe(1);
  });

  it("change by themselves: the next one was published for a whole life before it signs, the last one for one after", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const keys = replica(records, clock);
    const history: { readonly signs: unknown; readonly published: readonly string[] }[] = [];
    for (let period = 0; period < 4; period += 1) {
      history.push({ signs: await kidOf(keys), published: await published(keys) });
      clock.now += limits.assertionKeyMs;
    }
    for (const [at, { signs, published: now }] of history.entries()) {
      expect(now).toContain(signs);
      if (at > 0) expect(history[at - 1]?.published).toContain(signs);
      if (at > 0) expect(now).toContain(history[at - 1]?.signs);
      if (at > 1) expect(now).not.toContain(history[at - 2]?.signs);
    }
    expect(new Set(history.map(({ signs }) => signs)).size).toBe(4);
  });

  it("stay what they are until then", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const keys = replica(records, clock);
    const first = await kidOf(keys);
    clock.now += limits.assertionKeyMs - 1;
    expect(await kidOf(keys)).toBe(first);
    clock.now += 1 + limits.assertionKeysReadMs;
    expect(await kidOf(keys)).not.toBe(first);
  });

  it("a replica that has not looked yet signs with one that all others publish", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const [late, early] = [replica(records, clock), replica(records, clock)];
    await kidOf(late);
    clock.now = limits.assertionKeyMs - 1;
    await kidOf(late);
    clock.now += 1;
    await early.sign("JWT", {});
    expect(await published(early)).toContain(await kidOf(late));
    expect(await kidOf(late)).not.toBe(await kidOf(early));
    clock.now += limits.assertionKeysReadMs;
    expect(await kidOf(late)).toBe(await kidOf(early));
  });

  it("of replicas that bring them forward at once one does, and the others follow", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const events: string[] = [];
    const replicas = Array.from({ length: 5 }, () => replica(records, clock, { events }));
    await Promise.all(replicas.map(kidOf));
    clock.now += limits.assertionKeyMs;
    expect(new Set(await Promise.all(replicas.map(kidOf))).size).toBe(1);
    expect(events).toHaveLength(2);
  });

  it("rest sealed, for longer than any of them is of use", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const opened: string[] = [];
    const sealer: Sealer = {
      seal: (_associated, text) => `sealed ${opened.push(text)}`,
      open: (_associated, sealed) => opened[Number(sealed.split(" ")[1]) - 1],
    };
    await replica(records, clock, { sealer }).sign("JWT", {});
    expect([...records.entries.values()]).toEqual(["sealed 1"]);
    expect(records.lives[0]).toBeGreaterThan(2 * limits.assertionKeyMs);
  });

  it("that another secret sealed are refused and stay where they are; what is held meanwhile is of no use", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    const first = replica(records, clock);
    const kid = await kidOf(first);
    const events: string[] = [];
    const deaf: Sealer = { ...plainSealer, open: () => undefined };
    const stranger = replica(records, clock, { sealer: deaf, events });
    for (const ask of [() => stranger.sign("JWT", {}), () => stranger.publicKeys()])
      await expect(ask()).rejects.toThrow(StoreUnavailable);
    clock.now += 10 * limits.assertionKeyMs;
    await expect(stranger.sign("JWT", {})).rejects.toThrow("a secret that this replica does not have");
    expect(events).toEqual(["assertion-keys-sealed", "assertion-keys-sealed"]);
    clock.now = limits.assertionKeysReadMs;
    expect(await kidOf(first)).toBe(kid);
  });

  it("that could not be opened are looked at again after a while, without a restart", async () => {
    const [records, clock] = [keyRecords(), { now: 0 }];
    await replica(records, clock).sign("JWT", {});
    let opens = false;
    const sealer: Sealer = {
      ...plainSealer,
      open: (associated, sealed) => (opens ? plainSealer.open(associated, sealed) : undefined),
    };
    const keys = replica(records, clock, { sealer });
    await expect(keys.sign("JWT", {})).rejects.toThrow(StoreUnavailable);
    opens = true;
    clock.now = limits.assertionKeysReadMs - 1;
    await expect(keys.sign("JWT", {})).rejects.toThrow(StoreUnavailable);
    clock.now += 1;
    await expect(keys.sign("JWT", {})).resolves.toBeTypeOf("string");
  });

  it("in another form than a ring, of whoever has the secret, give way to a ring", async () => {
    const [records, clock, events] = [keyRecords(), { now: 0 }, [] as string[]];
    await records.setIfAbsent(["assertion-keys", "default"], plainSealer.seal('["assertion-keys","default"]', "[]"), 1);
    await replica(records, clock, { events }).sign("JWT", {});
    expect(events).toEqual(["assertion-keys-changed"]);
  });

  it("publish nothing private", async () => {
    const keys = replica(keyRecords(), { now: 0 });
    const { keys: found } = (await keys.publicKeys()) as unknown as { keys: object[] };
    for (const key of found) expect(Object.keys(key).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
  });

  it("are not at hand while the store is down", async () => {
    const down = (): Promise<never> => Promise.reject(new StoreUnavailable("down"));
    const keys = replica({ get: down, setIfAbsent: down, replace: down }, { now: 0 });
    await expect(keys.sign("JWT", {})).rejects.toThrow(StoreUnavailable);
  });
});

describe("keys that are configured", () => {
  const pem = (key: KeyObject, type: "pkcs8" | "pkcs1" | "sec1" = "pkcs8"): string =>
    key.export({ type, format: "pem" }).toString();
  const ec = (namedCurve: string): KeyObject => generateKeyPairSync("ec", { namedCurve }).privateKey;
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
  const small = generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey;
  const ed = generateKeyPairSync("ed25519").privateKey;

  it.each([
    ["P-256 in PKCS #8", pem(ec("P-256")), "ES256"],
    ["P-384 in SEC 1", pem(ec("P-384"), "sec1"), "ES384"],
    ["P-521", pem(ec("P-521")), "ES512"],
    ["Ed25519", pem(ed), "EdDSA"],
    ["RSA in PKCS #1", pem(rsa, "pkcs1"), "RS256"],
    ["a JWK", JSON.stringify({ ...ec("P-256").export({ format: "jwk" }), kid: "mine" }), "ES256"],
  ])("%s: sign with the algorithm of their kind, and verify with what is published", async (_name, text, alg) => {
    const records = keyRecords();
    const keys = replica(records, { now: 0 }, { configured: [text] });
    const token = await keys.sign("JWT", { a: 1 });
    expect(decodeProtectedHeader(token).alg).toBe(alg);
    const keySet = createLocalJWKSet((await keys.publicKeys()) as unknown as JSONWebKeySet);
    expect((await jwtVerify(token, keySet)).payload).toEqual({ a: 1 });
    expect(records.entries.size).toBe(0);
  });

  it("the first signs, all are published", async () => {
    const configured = [pem(ec("P-256")), pem(ed), pem(rsa)];
    const keys = replica(keyRecords(), { now: 0 }, { configured });
    const kids = await published(keys);
    expect(new Set(kids).size).toBe(3);
    expect(await kidOf(keys)).toBe(kids[0]);
  });

  it.each([
    ["RSA of 1024 bits", pem(small)],
    ["X25519", pem(generateKeyPairSync("x25519").privateKey)],
    ["secp256k1", pem(ec("secp256k1"))],
    ["no key at all", "sesame"],
  ])("%s are no key to sign with, and the error repeats nothing of them", async (_name, text) => {
    const signing = replica(keyRecords(), { now: 0 }, { configured: [text] }).sign("JWT", {});
    const message = await signing.then(String, (fault: unknown) => (fault instanceof Error ? fault.message : ""));
    const body = text.split("\n")[1] ?? text;
    expect([message === "", message.includes(body)]).toEqual([false, false]);
  });
});
