import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { challengeText, challengeError } from "../../src/auth/challenge.ts";
import { refusalCodes } from "../../src/model/refusal.ts";

const url = "https://gw.test/.well-known/oauth-protected-resource/support/mcp";

describe("challengeText", () => {
  it.each<[string, Parameters<typeof challengeText>[0], string]>([
    ["no credential", { resourceMetadataUrl: url, scopes: [] }, `Bearer resource_metadata="${url}"`],
    [
      "scopes",
      { resourceMetadataUrl: url, scopes: ["mcp:read", "crm:write"] },
      `Bearer scope="mcp:read crm:write", resource_metadata="${url}"`,
    ],
    [
      "a bad token",
      { resourceMetadataUrl: url, scopes: ["a"], error: "invalid_token" },
      `Bearer error="invalid_token", scope="a", resource_metadata="${url}"`,
    ],
    [
      "a step-up with a description",
      { resourceMetadataUrl: url, scopes: ["a"], error: "insufficient_scope", description: 'say "please" \\ü\r\nX: y' },
      `Bearer error="insufficient_scope", error_description="say please X: y", scope="a", resource_metadata="${url}"`,
    ],
    [
      "a scope that is none",
      { resourceMetadataUrl: url, scopes: ['a"b', "c d", "", "e"] },
      `Bearer scope="e", resource_metadata="${url}"`,
    ],
    [
      "algorithms of proofs",
      { resourceMetadataUrl: url, scopes: ["a"], error: "use_dpop_nonce", algs: ["ES256", "EdDSA"] },
      `DPoP algs="ES256 EdDSA", error="use_dpop_nonce", scope="a", resource_metadata="${url}"`,
    ],
    ["no algorithm at all", { resourceMetadataUrl: url, scopes: [], algs: [] }, `Bearer resource_metadata="${url}"`],
    [
      "an address with a quote",
      { resourceMetadataUrl: 'https://gw.test/"é', scopes: [] },
      'Bearer resource_metadata="https://gw.test/%22%C3%A9"',
    ],
  ])("writes %s", (_, parts, expected) => {
    expect(challengeText(parts)).toBe(expected);
  });

  it("is one challenge of quoted ASCII values for every input, and every value can be cut out with a pattern", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), fc.string(), (path, scopes, description) => {
        const text = challengeText({ resourceMetadataUrl: url + path, scopes, error: "invalid_token", description });
        expect(text).toMatch(/^Bearer (?:[a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*"(?:, )?)+$/);
        expect(/ resource_metadata="([^"]*)"$/.exec(text)?.[1]?.startsWith(url)).toBe(true);
      }),
    );
  });
});

describe("challengeError", () => {
  it("names no error to who showed no credential, insufficient_scope for a step-up, invalid_token for every other token", () => {
    const named = refusalCodes.map((code) => [code, challengeError(code)]).filter(([, error]) => error !== undefined);
    expect(named).toEqual([
      ["AUTH_TOKEN_MALFORMED", "invalid_token"],
      ["AUTH_TOKEN_ENCRYPTED", "invalid_token"],
      ["AUTH_TOKEN_TYPE_REFUSED", "invalid_token"],
      ["AUTH_ALGORITHM_REFUSED", "invalid_token"],
      ["AUTH_ISSUER_UNKNOWN", "invalid_token"],
      ["AUTH_KEY_UNKNOWN", "invalid_token"],
      ["AUTH_SIGNATURE_INVALID", "invalid_token"],
      ["AUTH_TOKEN_EXPIRED", "invalid_token"],
      ["AUTH_TOKEN_NOT_YET_VALID", "invalid_token"],
      ["AUTH_AUDIENCE_MISMATCH", "invalid_token"],
      ["AUTH_CLAIM_INVALID", "invalid_token"],
      ["AUTH_TOKEN_INACTIVE", "invalid_token"],
      ["AUTH_TOKEN_REVOKED", "invalid_token"],
      ["AUTH_DPOP_SCHEME_NEEDED", "invalid_token"],
      ["AUTH_DPOP_TOKEN_UNBOUND", "invalid_token"],
      ["AUTH_DPOP_REQUIRED", "invalid_token"],
      ["AUTH_DPOP_PROOF_MISSING", "invalid_dpop_proof"],
      ["AUTH_DPOP_PROOF_INVALID", "invalid_dpop_proof"],
      ["AUTH_DPOP_KEY_MISMATCH", "invalid_token"],
      ["AUTH_DPOP_NONCE_NEEDED", "use_dpop_nonce"],
      ["AUTH_DPOP_PROOF_REPLAYED", "invalid_dpop_proof"],
      ["AUTH_CERTIFICATE_MISSING", "invalid_token"],
      ["AUTH_CERTIFICATE_MISMATCH", "invalid_token"],
      ["SCOPE_INSUFFICIENT", "insufficient_scope"],
    ]);
  });
});
