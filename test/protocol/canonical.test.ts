import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber } from "../../src/model/json.ts";
import type { Json, JsonObject } from "../../src/model/json.ts";
import { canonicalJson } from "../../src/protocol/json/canonical.ts";

describe("canonical JSON", () => {
  it.each<[string, Json, string]>([
    ["keys in order", { a: 1, b: { c: [], d: null } }, '{"a":1,"b":{"c":[],"d":null}}'],
    ["keys out of order", { b: 1, a: 2 }, '{"a":2,"b":1}'],
    ["keys out of order deep within ordered ones", { a: [{ b: { d: 1, c: 2 } }] }, '{"a":[{"b":{"c":2,"d":1}}]}'],
    ["numeric keys, which engines put first by value", { "9": 1, "10": 2 }, '{"10":2,"9":1}'],
    ["an exact number among ordered keys", { a: new ExactNumber("9007199254740993") }, '{"a":9007199254740993}'],
    ["an exact number in a list", [1, new ExactNumber("1e999")], "[1,1e999]"],
    ["minus zero", { a: -0 }, '{"a":0}'],
    ["an empty key before others", { "": 1, a: 2 }, '{"":1,"a":2}'],
    ["code units, not code points", { "\u{10000}": 1, "\uffff": 2 }, '{"\u{10000}":1,"\uffff":2}'],
  ])("of %s is what RFC 8785 says", (_what, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it("does not depend on the order in which members were written", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        const entries = Object.entries(members as JsonObject).filter(([key]) => key !== "__proto__");
        const [forward, backward] = [Object.fromEntries(entries), Object.fromEntries(entries.toReversed())];
        expect(canonicalJson(backward)).toBe(canonicalJson(forward));
      }),
    );
  });
});
