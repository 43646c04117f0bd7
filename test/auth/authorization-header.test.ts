import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { namesDpop, readAuthorization } from "../../src/auth/authorization-header.ts";

function outcome(authorization: readonly string[], bytesMax = 100): string {
  const read = readAuthorization(authorization, bytesMax);
  if (!read.ok) return read.refusal.code;
  const { scheme, token } = read.value;
  return scheme === "Bearer" ? token : `${scheme}: ${token}`;
}

describe("readAuthorization", () => {
  it.each<[string, readonly string[], string]>([
    ["no header", [], "AUTH_TOKEN_MISSING"],
    ["an empty header", [""], "AUTH_TOKEN_MISSING"],
    ["the scheme alone", ["Bearer"], "AUTH_TOKEN_MISSING"],
    ["the scheme and spaces", ["Bearer   "], "AUTH_TOKEN_MISSING"],
    ["Basic", ["Basic dXNlcjpwYXNz"], "AUTH_SCHEME_UNSUPPORTED"],
    ["the scheme DPoP alone", ["DPoP"], "AUTH_TOKEN_MISSING"],
    ["DPoP", ["DPoP a.b-c=="], "DPoP: a.b-c=="],
    ["DPoP in another case", ["dPoP  abc "], "DPoP: abc"],
    ["DPoP and Bearer", ["DPoP abc", "Bearer abc"], "AUTH_TOKEN_MALFORMED"],
    ["DPoP and a second token", ["DPoP abc, Bearer abc"], "AUTH_TOKEN_MALFORMED"],
    ["a scheme that begins like DPoP", ["DPoPs abc"], "AUTH_SCHEME_UNSUPPORTED"],
    ["a scheme that begins alike", ["BearerX abc"], "AUTH_SCHEME_UNSUPPORTED"],
    ["a tab for the space", ["Bearer\tabc"], "AUTH_SCHEME_UNSUPPORTED"],
    ["a token", ["Bearer a.b-c_d~e+f/g=="], "a.b-c_d~e+f/g=="],
    ["a scheme in capitals", ["BEARER abc"], "abc"],
    ["a scheme in small letters", ["bearer abc"], "abc"],
    ["several spaces", ["Bearer   abc  "], "abc"],
    ["two headers", ["Bearer abc", "Bearer abc"], "AUTH_TOKEN_MALFORMED"],
    ["two headers of different schemes", ["Basic abc", "Bearer abc"], "AUTH_TOKEN_MALFORMED"],
    ["two credentials joined by a comma", ["Bearer abc, Bearer def"], "AUTH_TOKEN_MALFORMED"],
    ["two tokens", ["Bearer abc def"], "AUTH_TOKEN_MALFORMED"],
    ["an equals sign inside", ["Bearer a=b"], "AUTH_TOKEN_MALFORMED"],
    ["quotes", ['Bearer "abc"'], "AUTH_TOKEN_MALFORMED"],
    ["a control character", ["Bearer abc\u0000"], "AUTH_TOKEN_MALFORMED"],
    ["a letter beyond ASCII", ["Bearer äbc"], "AUTH_TOKEN_MALFORMED"],
  ])("%s", (_, authorization, expected) => {
    expect(outcome(authorization)).toBe(expected);
  });

  it("takes a token of the greatest length and refuses one that is a character longer", () => {
    expect(outcome([`Bearer ${"a".repeat(10)}`], 10)).toBe("a".repeat(10));
    expect(outcome([`Bearer ${"a".repeat(11)}`], 10)).toBe("AUTH_TOKEN_MALFORMED");
  });

  it("yields nothing but a b64token that the header contains, whatever the header", () => {
    const piece = fc.oneof(fc.constantFrom("Bearer", "bearer", "DPoP", " ", "  ", ",", "=", ".", "Basic"), fc.string());
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const header = pieces.join("");
        const read = readAuthorization([header], 1_000);
        if (read.ok) {
          const { scheme, token } = read.value;
          expect(header.toLowerCase().startsWith(`${scheme.toLowerCase()} `)).toBe(true);
          expect(header.slice(scheme.length + 1).trim()).toBe(token);
          expect(token).toMatch(/^[\w\-.~+/]+=*$/);
          expect(namesDpop([header])).toBe(scheme === "DPoP");
        }
      }),
    );
  });
});
