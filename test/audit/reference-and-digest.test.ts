import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createDigester } from "../../src/audit/digest.ts";
import { createRef, readRef } from "../../src/audit/ref.ts";

describe("a short reference", () => {
  it("is ten characters of Crockford's alphabet, all 32 of which occur", () => {
    let n = 0;
    const newRef = createRef((bytes) => Uint8Array.from({ length: bytes }, () => n++));
    const refs = Array.from({ length: 32 }, newRef);
    for (const ref of refs) expect(ref).toMatch(/^[0-9A-HJKMNP-TV-Z]{10}$/u);
    expect(new Set(refs.join("")).size).toBe(32);
    expect(refs.map(readRef)).toEqual(refs);
  });

  it.each([
    ["abc-def 0123", "ABCDEF0123"],
    ["oOiIlL", "001111"],
  ])("typed as %j is read as %s", (typed, expected) => {
    expect(readRef(typed)).toBe(expected);
  });
});

describe("a keyed digest", () => {
  const key = new Uint8Array(32).fill(7);

  it("is HMAC-SHA-256 of the text's UTF-8, with the key's id", () => {
    expect(createDigester({ kid: "k1", key })("é")).toEqual({
      digest: createHmac("sha256", key)
        .update(Buffer.from([0xc3, 0xa9]))
        .digest("hex"),
      key: "k1",
    });
  });

  it.each([32, 63, 64, 65, 200])("is an HMAC under a key of %i bytes too", (length) => {
    const long = Uint8Array.from({ length }, (_, at) => at);
    for (const text of ["", "x", "é".repeat(100)])
      expect(createDigester({ kid: "k", key: long })(text).digest).toBe(
        createHmac("sha256", long).update(text, "utf8").digest("hex"),
      );
  });

  it.each(["x", "é", "€", "😀", "\ud83d"])("is the same HMAC for texts of any length, here of %j", (character) => {
    const digest = createDigester({ kid: "k", key });
    for (const length of [16_384, 5_461, 5_462, 1, 0, 8_192, 40_000, 2])
      expect(digest(character.repeat(length)).digest).toBe(
        createHmac("sha256", key).update(character.repeat(length), "utf8").digest("hex"),
      );
  });

  it("differs by key and by text", () => {
    const [one, other] = [createDigester({ kid: "a", key }), createDigester({ kid: "b", key: new Uint8Array(32) })];
    expect(one("x").digest).not.toBe(other("x").digest);
    expect(one("x").digest).not.toBe(one("y").digest);
    expect(one("x")).toEqual(one("x"));
  });

  it("wants a key of 32 bytes at least", () => {
    expect(() => createDigester({ kid: "k", key: new Uint8Array(31) })).toThrow(RangeError);
  });
});
