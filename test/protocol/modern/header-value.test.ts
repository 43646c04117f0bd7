import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeHeaderValue, encodeHeaderValue, trimOws } from "../../../src/protocol/modern/header-value.ts";

describe("encodeHeaderValue", () => {
  it.each([
    ["us-west1", "us-west1"],
    ["a b\tc", "a b\tc"],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="],
    ["=?base64?open", "=?base64?open"],
    ["", "=?base64??="],
    ["\t", "=?base64?CQ==?="],
    ["\u{7f}", "=?base64?fw==?="],
    ["é", "=?base64?w6k=?="],
  ])("writes %j as %s", (text, value) => {
    expect(encodeHeaderValue(text)).toBe(value);
    expect(decodeHeaderValue(value)).toBe(text);
  });

  it("yields only printable ASCII, and what decodes to the same text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: "grapheme" })), (text) => {
        const value = encodeHeaderValue(text);
        expect(value).toMatch(/^[\t\x20-\x7e]+$/);
        expect(trimOws(value)).toBe(value);
        expect(decodeHeaderValue(`\t ${value} `)).toBe(text);
      }),
    );
  });
});

describe("decodeHeaderValue", () => {
  it.each([
    ["SGVsbG8=", "SGVsbG8="],
    ["=?base64?SGVsbG8=", "=?base64?SGVsbG8="],
    ["=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="],
    ["  us-west1\t", "us-west1"],
    ["", ""],
    ["=?base64?SGVsbG8?=", undefined],
    ["=?base64?SGVs!!!bG8=?=", undefined],
    ["=?base64?SGVsbG9=?=", undefined],
    ["=?base64?SGVs bG8=?=", undefined],
    ["=?base64?SGVsbG8-?=", undefined],
    ["=?base64?/w==?=", undefined],
    ["=?base64?=", undefined],
    ["caf\u{e9}", undefined],
    ["a\u{0}b", undefined],
    ["a\u{7f}", undefined],
  ])("%j is %j", (value, text) => {
    expect(decodeHeaderValue(value)).toBe(text);
  });
});
