import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RecordKey } from "../../src/model/records.ts";
import { storeKey, streamKey } from "../../src/store/keys.ts";

const part = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom(":", "%", "{", "}", "h", "u", "\ud800", "\udc00", "a", "3") }),
  fc.string({ minLength: 250, maxLength: 300 }),
);
const key = fc.tuple(part, part, fc.array(part, { maxLength: 3 })).map(([k, t, rest]): RecordKey => [k, t, ...rest]);

describe("store keys", () => {
  it("begin with the prefix, then tenant, kind and the rest", () => {
    expect(storeKey(["session", "acme", "s1", "s2"])).toBe("sallyport:acme:session:s1:s2");
    expect(streamKey("audit")).toBe("sallyport:audit");
  });

  it.each([
    ["the separator", ["session", "acme", "a:b"], "sallyport:acme:session:a%3Ab"],
    ["the escape", ["session", "acme", "a%3Ab"], "sallyport:acme:session:a%253Ab"],
    ["a hash tag", ["session", "{acme}", "x"], "sallyport:%7Bacme%7D:session:x"],
    ["a line break", ["session", "acme", "a\r\nb"], "sallyport:acme:session:a%0D%0Ab"],
    ["a lone surrogate", ["session", "acme", "\ud800"], "sallyport:acme:session:%ud800"],
    ["its replacement character", ["session", "acme", "\ufffd"], "sallyport:acme:session:%EF%BF%BD"],
    ["nothing", ["session", "acme", ""], "sallyport:acme:session:"],
  ] as const)("keep %s within its part", (_, parts, expected) => {
    expect(storeKey(parts)).toBe(expected);
  });

  it("write a part of 256 characters out and replace a longer one by its digest", () => {
    expect(storeKey(["session", "acme", "x".repeat(256)])).toBe(`sallyport:acme:session:${"x".repeat(256)}`);
    expect(storeKey(["session", "acme", "x".repeat(257)])).toMatch(/^sallyport:acme:session:%h[0-9a-f]{64}$/u);
  });

  it("differ whenever their parts differ, and never reach a stream's key", () => {
    fc.assert(
      fc.property(key, key, part, (one, other, stream) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(storeKey(one) === storeKey(other)).toBe(same);
        expect(storeKey(one)).not.toBe(streamKey(stream));
        expect(storeKey(one)).toMatch(/^[\w\-.!~*'()%:]+$/u);
      }),
      { numRuns: 2_000 },
    );
  });
});
