import { beforeAll, describe, expect, it } from "vitest";
import { createIssuerKeys } from "../../src/auth/issuer-keys.ts";
import type { IssuerKeys } from "../../src/auth/issuer-keys.ts";
import { fits, signingKeys } from "../../src/auth/signing-key.ts";
import type { JsonObject } from "../../src/model/json.ts";
import { limits } from "../../src/model/limits.ts";
import { codeOf } from "./harness.ts";

const ec = (kid: string, more: JsonObject = {}): JsonObject => ({
  kty: "EC",
  crv: "P-256",
  x: "x",
  y: "y",
  kid,
  ...more,
});

/** Keys behind a load that is counted, and made to fail or wait at will. */
function source(kids: string[]): {
  keys: IssuerKeys;
  loads: () => number;
  set: string[];
  down: boolean;
  gate: Promise<void>;
} {
  let loads = 0;
  const self = {
    keys: undefined as unknown as IssuerKeys,
    loads: () => loads,
    set: kids,
    down: false,
    gate: Promise.resolve(),
  };
  const load = async (): Promise<JsonObject> => {
    loads += 1;
    await self.gate;
    if (self.down) throw new Error("down");
    return { keys: self.set.map((kid) => ec(kid)) };
  };
  self.keys = createIssuerKeys({ alias: "corp", load, limits });
  return self;
}

const find = async (keys: IssuerKeys, kid: string | undefined, now: number): Promise<string> =>
  codeOf(await keys.find({ kid, algorithm: "ES256" }, now));

/** Lets everything that is not waiting for a gate go on. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const {
  issuerKeysAgeMsMax: age,
  issuerKeysStaleMsMax: stale,
  issuerKeysRefetchMsMin: refetch,
  issuerKeysRetryMsMin: retry,
} = limits;

describe("issuer keys", () => {
  it("are fetched once for many that ask at once", async () => {
    const one = source(["a"]);
    let open = (): void => undefined;
    one.gate = new Promise((resolve) => (open = resolve));
    const asking = Promise.all(Array.from({ length: 50 }, () => find(one.keys, "a", 0)));
    await settle();
    open();
    expect(new Set(await asking)).toEqual(new Set(["ok"]));
    expect(one.loads()).toBe(1);
  });

  it("are fetched anew at their greatest age, not before", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    await find(one.keys, "a", age - 1);
    expect(one.loads()).toBe(1);
    await find(one.keys, "a", age);
    expect(one.loads()).toBe(2);
  });

  it("that were removed are refused from the next fetch on", async () => {
    const one = source(["a", "b"]);
    expect(await find(one.keys, "a", 0)).toBe("ok");
    one.set = ["b"];
    expect(await find(one.keys, "a", age - 1)).toBe("ok");
    expect(await find(one.keys, "a", age)).toBe("AUTH_KEY_UNKNOWN");
  });

  it("that are new are found with one fetch, by all who present them at once", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    one.set = ["a", "b"];
    const found = await Promise.all(Array.from({ length: 20 }, () => find(one.keys, "b", 1)));
    expect(new Set(found)).toEqual(new Set(["ok"]));
    expect(one.loads()).toBe(2);
  });

  it("that nobody has provoke one fetch per interval, whatever their number", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    for (let now = 1; now <= refetch; now += refetch / 1_000) {
      expect(await find(one.keys, `random-${now}`, now)).toBe("AUTH_KEY_UNKNOWN");
    }
    expect(one.loads()).toBe(2);
    await find(one.keys, "random", refetch + 1);
    expect(one.loads()).toBe(3);
  });

  it("never fetched make the issuer unavailable, with one attempt per interval", async () => {
    const one = source(["a"]);
    one.down = true;
    expect(await find(one.keys, "a", 0)).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(await find(one.keys, "a", retry - 1)).toBe("AUTH_ISSUER_UNAVAILABLE");
    expect(one.loads()).toBe(1);
    one.down = false;
    expect(await find(one.keys, "a", retry)).toBe("ok");
  });

  it("stay trusted while the issuer is down, until they are too old", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    one.down = true;
    expect(await find(one.keys, "a", age)).toBe("ok");
    expect(await find(one.keys, "a", stale - 1)).toBe("ok");
    await settle();
    expect(await find(one.keys, "a", stale + retry)).toBe("AUTH_ISSUER_UNAVAILABLE");
    one.down = false;
    expect(await find(one.keys, "a", stale + 2 * retry)).toBe("ok");
  });

  it("make nobody wait for an issuer that failed already, while they are trusted", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    one.down = true;
    await find(one.keys, "a", age);
    one.gate = new Promise(() => undefined);
    expect(await find(one.keys, "a", age + retry)).toBe("ok");
    expect(one.loads()).toBe(3);
  });

  it("unknown while the issuer is down are its unavailability, not the token's fault", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    one.down = true;
    expect(await find(one.keys, "b", 1)).toBe("AUTH_ISSUER_UNAVAILABLE");
  });

  it("have a new generation exactly when the set is another", async () => {
    const one = source(["a"]);
    await find(one.keys, "a", 0);
    const first = one.keys.generation();
    await find(one.keys, "a", age);
    expect(one.keys.generation()).toBe(first);
    one.set = ["b"];
    await find(one.keys, "b", 2 * age);
    expect(one.keys.generation()).toBe(first + 1);
  });

  it("without a kid are tried up to a bound", async () => {
    const one = source(Array.from({ length: 20 }, (_, index) => `k${index}`));
    const found = await one.keys.find({ kid: undefined, algorithm: "ES256" }, 0);
    expect(found.ok && found.value.length).toBe(limits.issuerKeysTriedMax);
  });

  it.each<[string, JsonObject, string]>([
    ["as many as allowed", { keys: Array.from({ length: 100 }, () => ec("a")) }, "ok"],
    ["one more", { keys: Array.from({ length: 101 }, () => ec("a")) }, "AUTH_ISSUER_UNAVAILABLE"],
    ["no list of keys", { keys: "a" }, "AUTH_ISSUER_UNAVAILABLE"],
    ["an empty list", { keys: [] }, "AUTH_KEY_UNKNOWN"],
  ])("%s", async (_, set, expected) => {
    const keys = createIssuerKeys({ alias: "corp", load: () => Promise.resolve(set), limits });
    expect(await find(keys, "a", 0)).toBe(expected);
  });
});

describe("signingKeys", () => {
  let rsa: JsonObject;
  beforeAll(() => {
    rsa = { kty: "RSA", n: "n", e: "AQAB" };
  });

  it("passes over what is no public signature key, and drops private parts", () => {
    const keys = [
      ec("good", { d: "private", x5u: "http://evil.test" }),
      ec("encrypts", { use: "enc" }),
      ec("signs", { key_ops: ["sign"] }),
      { kty: "oct", k: "c2VjcmV0", kid: "symmetric" },
      { kty: "EC", crv: "P-256", x: "x", kid: "half" },
      { kty: "NEW", kid: "unknown" },
      "text",
      null,
      { kty: "OKP", crv: "Ed25519", x: "x", kid: "okp" },
    ];
    expect(signingKeys({ keys }, 100).map(({ kid, jwk }) => [kid, jwk])).toEqual([
      ["good", { kty: "EC", crv: "P-256", x: "x", y: "y" }],
      ["okp", { kty: "OKP", crv: "Ed25519", x: "x" }],
    ]);
  });

  it.each<[string, () => JsonObject, string, boolean]>([
    ["RSA without alg", () => rsa, "RS256", true],
    ["RSA without alg", () => rsa, "PS512", true],
    ["RSA of RS256", () => ({ ...rsa, alg: "RS256" }), "PS256", false],
    ["RSA", () => rsa, "ES256", false],
    ["RSA", () => rsa, "HS256", false],
    ["RSA", () => rsa, "constructor", false],
    ["P-256", () => ec("a"), "ES256", true],
    ["P-256", () => ec("a"), "ES384", false],
    ["Ed25519 that says EdDSA", () => ({ kty: "OKP", crv: "Ed25519", x: "x", alg: "EdDSA" }), "Ed25519", true],
    ["Ed25519 that says Ed25519", () => ({ kty: "OKP", crv: "Ed25519", x: "x", alg: "Ed25519" }), "EdDSA", true],
    ["X25519", () => ({ kty: "OKP", crv: "X25519", x: "x" }), "EdDSA", false],
  ])("a key of %s with algorithm %#", (_, jwk, algorithm, expected) => {
    const [key] = signingKeys({ keys: [jwk()] }, 1);
    expect(fits(key!, algorithm)).toBe(expected);
  });
});
