import { createHash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAead } from "../../src/gateway/aead.ts";
import { createSealing } from "../../src/gateway/create-sealing.ts";
import type { Bound, Sealing } from "../../src/gateway/sealing.ts";

const start = 1_800_000_000_000;
const key = (name: string): { kid: string; key: Uint8Array } => ({
  kid: name,
  key: createHash("sha256").update(name).digest(),
});

function sealing(
  more: { clock?: () => number; keys?: readonly [string, ...string[]]; charsMax?: number } = {},
): Sealing {
  const [current, ...previous] = more.keys ?? ["k1"];
  return createSealing({
    keys: { current: key(current), previous: previous.map(key) },
    random: randomBytes,
    now: more.clock ?? (() => start),
    sealedHandleCharsMax: more.charsMax ?? 100_000,
  });
}

const bound: Bound = {
  purpose: "cursor",
  tenant: "acme",
  server: "support",
  principalKey: '["acme","i","human","u",""]',
  upstream: "crm",
  item: "tools/list",
  args: "d1",
};
const texts = fc.string({ unit: "binary", maxLength: 200 });
const bounds: fc.Arbitrary<Bound> = fc.record({
  purpose: fc.constantFrom("request-state", "cursor", "task"),
  tenant: texts,
  server: texts,
  principalKey: texts,
  upstream: texts,
  item: texts,
  args: texts,
});

describe("a sealed handle", () => {
  it("opens to exactly what was sealed, for what it was sealed for", () => {
    const one = sealing();
    fc.assert(
      fc.property(bounds, texts, (what, text) => {
        const opened = one.open(what, one.seal(what, text, 1_000));
        expect(opened).toEqual({ ok: true, text, expiresAt: start + 1_000 });
      }),
    );
  });

  it("keeps a lone surrogate as it is", () => {
    const one = sealing();
    expect(one.open(bound, one.seal(bound, "a\ud800b", 1))).toMatchObject({ ok: true, text: "a\ud800b" });
  });

  it("does not open with any one field of its bound changed", () => {
    const one = sealing();
    const fields = ["tenant", "server", "principalKey", "upstream", "item", "args"] as const;
    fc.assert(
      fc.property(bounds, texts, fc.constantFrom(...fields), texts, (what, text, field, other) => {
        fc.pre(other !== what[field]);
        const handle = one.seal(what, text, 1_000);
        expect(one.open({ ...what, [field]: other }, handle)).toEqual({ ok: false, reason: "not-for-this" });
      }),
    );
    for (const purpose of ["request-state", "task"] as const)
      expect(one.open({ ...bound, purpose }, one.seal(bound, "x", 1_000)).ok).toBe(false);
  });

  it("does not open for fields that only read alike when run together", () => {
    const one = sealing();
    const handle = one.seal({ ...bound, upstream: 'a","b', item: "c" }, "x", 1_000);
    expect(one.open({ ...bound, upstream: "a", item: 'b","c' }, handle).ok).toBe(false);
    const shifted = one.seal({ ...bound, upstream: "ab", item: "" }, "x", 1_000);
    expect(one.open({ ...bound, upstream: "a", item: "b" }, shifted).ok).toBe(false);
  });

  it("does not open with any character of it changed, left out or added", () => {
    const one = sealing();
    const handle = one.seal(bound, "some text", 1_000);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
    for (let at = 0; at < handle.length; at += 1) {
      expect(one.open(bound, handle.slice(0, at) + handle.slice(at + 1)).ok, `without ${at}`).toBe(false);
      for (const other of alphabet) {
        if (other !== handle[at])
          expect(one.open(bound, handle.slice(0, at) + other + handle.slice(at + 1)).ok, `${at} ${other}`).toBe(false);
        expect(one.open(bound, handle.slice(0, at) + other + handle.slice(at)).ok, `${other} before ${at}`).toBe(false);
      }
    }
    expect(one.open(bound, handle).ok).toBe(true);
  });

  it("never opens what nobody sealed", () => {
    const one = sealing();
    fc.assert(fc.property(fc.string(), (text) => !one.open(bound, text).ok));
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 12, maxLength: 12 }), fc.uint8Array({ minLength: 23 }), (nonce, bytes) => {
        const forged = `v1.k1.${Buffer.from(nonce).toString("base64url")}.${Buffer.from(bytes).toString("base64url")}`;
        return !one.open(bound, forged).ok;
      }),
    );
  });

  it.each([
    ["the moment before its end", 999, true],
    ["at its end", 1_000, false],
  ])("%s is %s ms old: opens %s", (_when, age, opens) => {
    let clock = start;
    const one = sealing({ clock: () => clock });
    const handle = one.seal(bound, "x", 1_000);
    clock += age;
    expect(one.open(bound, handle)).toMatchObject(opens ? { ok: true } : { ok: false, reason: "expired" });
  });

  it("is opened by a key that has been replaced, and by none that is gone", () => {
    const handle = sealing({ keys: ["old"] }).seal(bound, "x", 1_000);
    expect(sealing({ keys: ["new", "old"] }).open(bound, handle)).toMatchObject({ ok: true, text: "x" });
    expect(sealing({ keys: ["new"] }).open(bound, handle)).toEqual({ ok: false, reason: "key-unknown" });
    expect(sealing({ keys: ["new", "old"] }).seal(bound, "x", 1_000)).toMatch(/^v1\.new\./);
  });

  it("is of two seals of the same text never the same, and shows none of the text", () => {
    const one = sealing();
    const handles = Array.from({ length: 100 }, () => one.seal(bound, "canary", 1_000));
    expect(new Set(handles).size).toBe(100);
    expect(new Set(handles.map((handle) => handle.split(".")[2])).size).toBe(100);
    for (const handle of handles)
      expect(Buffer.from(handle.split(".")[3]!, "base64url").toString("latin1")).not.toContain("canary");
  });

  it("of the longest length is made and opened; one character more is neither", () => {
    const handle = sealing().seal(bound, "0123456789", 1_000);
    const exact = sealing({ charsMax: handle.length });
    expect(exact.open(bound, exact.seal(bound, "0123456789", 1_000)).ok).toBe(true);
    const tight = sealing({ charsMax: handle.length - 1 });
    expect(() => tight.seal(bound, "0123456789", 1_000)).toThrow(RangeError);
    expect(tight.open(bound, handle)).toEqual({ ok: false, reason: "malformed" });
  });
});

describe("encryption keys", () => {
  it.each([
    ["of 31 bytes", { kid: "k", key: new Uint8Array(31) }],
    ["of 33 bytes", { kid: "k", key: new Uint8Array(33) }],
    ["with a full stop in the name", { kid: "a.b", key: new Uint8Array(32) }],
    ["with a long name", { kid: "a".repeat(17), key: new Uint8Array(32) }],
  ])("%s are refused", (_law, bad) => {
    expect(() => createAead({ current: bad, previous: [] }, randomBytes)).toThrow();
    expect(() => createAead({ current: key("good"), previous: [bad] }, randomBytes)).toThrow();
  });
});
