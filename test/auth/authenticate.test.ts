import { createHmac } from "node:crypto";
import { CompactEncrypt, exportSPKI, generateKeyPair } from "jose";
import type { JWTPayload } from "jose";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { createAuthenticator } from "../../src/auth/authenticate.ts";
import { deniedSubjectKey, deniedTokenKey, denyDigest } from "../../src/auth/deny-list.ts";
import type { TrustedIssuer } from "../../src/auth/trusted-issuer.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { bench, codeOf, denyList, goodClaims, issuer, refusalOf, resource, start, startSeconds } from "./harness.ts";
import { segment, sign, signer } from "./mock-issuer.ts";
import type { Signer } from "./mock-issuer.ts";

let es: Signer;
let rs: Signer;
let ed: Signer;
let stranger: Signer;
let published: Signer[];
let corp: TrustedIssuer;

beforeAll(async () => {
  es = await signer("es");
  rs = await signer("rs", "RS256");
  ed = await signer("ed", "EdDSA");
  stranger = await signer("es");
  published = [es, rs, ed];
  corp = {
    alias: "corp",
    issuer,
    issuerAliases: ["https://sts.login.test/"],
    keys: { kind: "local", keys: () => ({ keys: published.map(({ jwk }) => jwk) }) },
  };
});

async function outcome(claims: JWTPayload, header: Record<string, unknown> = {}, by = es): Promise<string> {
  return codeOf(await bench([corp]).present(await sign(by, { ...goodClaims, ...claims }, header)));
}

describe("a good token", () => {
  it.each(["ES256", "RS256", "EdDSA"])("of %s names the principal", async (alg) => {
    const by = published.find((one) => one.alg === alg)!;
    const result = await bench([corp]).present(await sign(by, goodClaims));
    expect(result.ok && result.value).toMatchObject({ tenant: "default", issuer, subject: "u1", clientId: "desktop" });
  });

  it("without a kid is verified by whichever key fits its algorithm", async () => {
    expect(await outcome({}, { kid: undefined })).toBe("ok");
    expect(await outcome({}, { kid: undefined }, stranger)).toBe("AUTH_SIGNATURE_INVALID");
  });

  it("under an alias of the issuer belongs to the issuer itself", async () => {
    const token = await sign(es, { ...goodClaims, iss: "https://sts.login.test/" });
    const result = await bench([corp]).present(token);
    expect(result.ok && result.value.issuer).toBe(issuer);
  });
});

describe("claims of who it is from, for whom, and when", () => {
  const other = "https://gw.test/billing/mcp";
  it.each<[string, JWTPayload, string]>([
    ["the issuer with a slash more", { iss: `${issuer}/` }, "AUTH_ISSUER_UNKNOWN"],
    ["the issuer with a slash less", { iss: "https://sts.login.test" }, "AUTH_ISSUER_UNKNOWN"],
    ["the issuer in capitals", { iss: issuer.toUpperCase() }, "AUTH_ISSUER_UNKNOWN"],
    ["no issuer", { iss: undefined as never }, "AUTH_ISSUER_UNKNOWN"],
    ["the audience with a slash more", { aud: `${resource}/` }, "ok"],
    ["the audience with two slashes more", { aud: `${resource}//` }, "AUTH_AUDIENCE_MISMATCH"],
    ["the audience in a list", { aud: ["account", resource] }, "ok"],
    ["a list without the audience", { aud: ["account", other] }, "AUTH_AUDIENCE_MISMATCH"],
    ["an empty list of audiences", { aud: [] }, "AUTH_AUDIENCE_MISMATCH"],
    ["no audience", { aud: undefined as never }, "AUTH_AUDIENCE_MISMATCH"],
    ["an empty audience", { aud: "" }, "AUTH_AUDIENCE_MISMATCH"],
    ["another server's audience", { aud: other }, "AUTH_AUDIENCE_MISMATCH"],
    ["the bare origin", { aud: "https://gw.test" }, "AUTH_AUDIENCE_MISMATCH"],
    ["a longer path", { aud: `${resource}/x` }, "AUTH_AUDIENCE_MISMATCH"],
    ["the client id as audience", { aud: "desktop" }, "AUTH_AUDIENCE_MISMATCH"],
    ["an audience list with a number in it", { aud: [resource, 1] as never }, "AUTH_CLAIM_INVALID"],
    ["no expiry", { exp: undefined as never }, "AUTH_CLAIM_INVALID"],
    ["an expiry in text", { exp: "9999999999" as never }, "AUTH_CLAIM_INVALID"],
    ["expired for less than the leeway", { exp: startSeconds - 29 }, "ok"],
    ["expired for the leeway", { exp: startSeconds - 30 }, "AUTH_TOKEN_EXPIRED"],
    ["not valid for as long as the leeway", { nbf: startSeconds + 30 }, "ok"],
    ["not valid for longer than the leeway", { nbf: startSeconds + 31 }, "AUTH_TOKEN_NOT_YET_VALID"],
    ["nbf in text", { nbf: "0" as never }, "AUTH_CLAIM_INVALID"],
    ["fractions of seconds", { exp: startSeconds + 0.5, nbf: startSeconds - 0.5 }, "ok"],
    ["issued by a clock that runs ahead", { iat: startSeconds + 4 }, "ok"],
    ["no subject", { sub: undefined as never }, "AUTH_CLAIM_INVALID"],
    ["an empty subject", { sub: "" }, "AUTH_CLAIM_INVALID"],
    ["a subject that is a number", { sub: 7 as never }, "AUTH_CLAIM_INVALID"],
    ["a subject of the greatest length", { sub: "x".repeat(1_024) }, "ok"],
    ["a subject that is longer", { sub: "x".repeat(1_025) }, "AUTH_CLAIM_INVALID"],
    ["a client id that is a list", { client_id: ["a"] }, "AUTH_CLAIM_INVALID"],
  ])("%s", async (_, claims, expected) => {
    expect(await outcome(claims)).toBe(expected);
  });

  it("the audience that configuration maps is accepted for that resource only", async () => {
    const mapped = bench([{ ...corp, audience: { [resource]: "api://support" } }]);
    const token = await sign(es, { ...goodClaims, aud: "api://support" });
    expect(codeOf(await mapped.present(token))).toBe("ok");
    expect(codeOf(await mapped.present(token, 0, other))).toBe("AUTH_AUDIENCE_MISMATCH");
  });

  it("a token remembered for one server is not taken at another", async () => {
    const one = bench([corp]);
    const token = await sign(es, goodClaims);
    expect(codeOf(await one.present(token))).toBe("ok");
    expect(codeOf(await one.present(token, 0, other))).toBe("AUTH_AUDIENCE_MISMATCH");
  });
});

describe("what is no access token", () => {
  const typed: [string, JWTPayload, Record<string, unknown>, string][] = [
    ["typ at+jwt", {}, { typ: "at+jwt" }, "ok"],
    ["typ application/at+jwt", {}, { typ: "application/AT+JWT" }, "ok"],
    ["typ JWT", {}, { typ: "JWT" }, "ok"],
    ["typ logout+jwt", {}, { typ: "logout+jwt" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["typ dpop+jwt", {}, { typ: "dpop+jwt" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["a nonce", { nonce: "n" }, {}, "AUTH_TOKEN_TYPE_REFUSED"],
    ["an at_hash", { at_hash: "h" }, { typ: "JWT" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["a c_hash", { c_hash: "h" }, {}, "AUTH_TOKEN_TYPE_REFUSED"],
    ["a nonce in what is typed at+jwt", { nonce: "n" }, { typ: "at+jwt" }, "ok"],
    ["a nonce in what says Bearer", { nonce: "n", typ: "Bearer" }, { typ: "JWT" }, "ok"],
    ["a typ claim of ID", { typ: "ID" }, {}, "AUTH_TOKEN_TYPE_REFUSED"],
    ["a typ claim of Refresh", { typ: "Refresh" }, { typ: "at+jwt" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["token_use id", { token_use: "id" }, {}, "AUTH_TOKEN_TYPE_REFUSED"],
    ["token_use access", { token_use: "access" }, {}, "ok"],
    ["a token bound in a way that is not known", { cnf: { kid: "k" } }, { typ: "at+jwt" }, "AUTH_TOKEN_TYPE_REFUSED"],
  ];
  it.each(typed)("%s", async (_, claims, header, expected) => {
    expect(await outcome(claims, header)).toBe(expected);
  });
});

describe("a token that is forged or no JWT", () => {
  const head = (header: object): string => segment({ alg: "ES256", kid: "es", ...header });
  const body = segment(goodClaims);

  it.each<[string, () => string | Promise<string>, string]>([
    ["one word", () => "abc", "AUTH_TOKEN_MALFORMED"],
    ["two segments", () => "a.b", "AUTH_TOKEN_MALFORMED"],
    ["four segments", () => "a.b.c.d", "AUTH_TOKEN_MALFORMED"],
    ["five segments", () => "a.b.c.d.e", "AUTH_TOKEN_ENCRYPTED"],
    ["a JWE", () => jwe(), "AUTH_TOKEN_ENCRYPTED"],
    ["a header that is no JSON", () => `${segment("hello")}.${body}.c2ln`, "AUTH_TOKEN_MALFORMED"],
    ["a header that is a list", () => `${segment([])}.${body}.c2ln`, "AUTH_TOKEN_MALFORMED"],
    ["claims that are text", () => `${head({})}.${segment('"x"')}.c2ln`, "AUTH_TOKEN_MALFORMED"],
    ["a claim twice", () => `${head({})}.${segment('{"iss":"a","iss":"b"}')}.c2ln`, "AUTH_TOKEN_MALFORMED"],
    ["empty segments", () => "..", "AUTH_TOKEN_MALFORMED"],
    ["characters of plain base64", () => `${head({})}.${body}.a+b/`, "AUTH_TOKEN_MALFORMED"],
    ["padding", () => `${head({})}.${body}.YQ==`, "AUTH_TOKEN_MALFORMED"],
    ["no alg", () => `${segment({ kid: "es" })}.${body}.c2ln`, "AUTH_TOKEN_MALFORMED"],
    ["a kid that is a number", () => `${head({ kid: 1 })}.${body}.c2ln`, "AUTH_TOKEN_MALFORMED"],
    ["a critical header", () => sign(es, goodClaims, { crit: ["b64"], b64: true }), "AUTH_TOKEN_MALFORMED"],
    ["alg none", () => `${head({ alg: "none" })}.${body}.`, "AUTH_ALGORITHM_REFUSED"],
    ["alg None", () => `${head({ alg: "None" })}.${body}.`, "AUTH_ALGORITHM_REFUSED"],
    ["HS256 keyed with the public key", () => hs256(), "AUTH_ALGORITHM_REFUSED"],
    ["an empty signature", () => `${head({})}.${body}.`, "AUTH_SIGNATURE_INVALID"],
    ["a signature of rubbish", () => `${head({})}.${body}.c2ln`, "AUTH_SIGNATURE_INVALID"],
    ["another key under a known kid", () => sign(stranger, goodClaims), "AUTH_SIGNATURE_INVALID"],
    ["an unknown kid", () => sign(es, goodClaims, { kid: "../../etc/passwd" }), "AUTH_KEY_UNKNOWN"],
    ["a kid of a key of another kind", () => sign(es, goodClaims, { kid: "rs" }), "AUTH_KEY_UNKNOWN"],
    ["its own key in the header", () => sign(stranger, goodClaims, { jwk: stranger.jwk }), "AUTH_SIGNATURE_INVALID"],
    ["keys at an attacker's", () => sign(stranger, goodClaims, { jku: "http://evil.test/" }), "AUTH_SIGNATURE_INVALID"],
    ["20 kB", () => "a".repeat(20_000), "AUTH_TOKEN_MALFORMED"],
  ])("%s", async (_, token, expected) => {
    expect(codeOf(await bench([corp]).present(await token()))).toBe(expected);
  });

  it("with any claim changed after signing is refused", async () => {
    const [header, , signature] = (await sign(es, goodClaims)).split(".");
    const token = `${header!}.${segment({ ...goodClaims, sub: "admin" })}.${signature!}`;
    expect(codeOf(await bench([corp]).present(token))).toBe("AUTH_SIGNATURE_INVALID");
  });

  it("with a respelled last character is refused, though its bytes are the same", async () => {
    const token = await sign(rs, goodClaims);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const respelled = token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1)!) + 1]!;
    expect(Buffer.from(respelled.split(".")[2]!, "base64url")).toEqual(Buffer.from(token.split(".")[2]!, "base64url"));
    expect(codeOf(await bench([corp]).present(token))).toBe("ok");
    expect(codeOf(await bench([corp]).present(respelled))).toBe("AUTH_TOKEN_MALFORMED");
  });

  it("with one bit of its signature changed is refused, also right after the good one was remembered", async () => {
    const one = bench([corp]);
    const token = await sign(es, goodClaims);
    const [header, payload, signature] = token.split(".");
    const bytes = Buffer.from(signature!, "base64url");
    bytes[5]! ^= 1;
    expect(codeOf(await one.present(token))).toBe("ok");
    const bent = `${header!}.${payload!}.${bytes.toString("base64url")}`;
    expect(codeOf(await one.present(bent))).toBe("AUTH_SIGNATURE_INVALID");
  });

  it("is refused, never thrown, whatever the text", async () => {
    const one = bench([corp]);
    const piece = fc.oneof(
      fc.json().map(segment),
      fc.constantFrom(head({}), head({ alg: "RS256", kid: "rs" }), body, "", "x"),
      fc.base64String(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 6 }), async (pieces) => {
        const refusal = refusalOf(await one.present(pieces.join(".")));
        expect(refusal?.code).toMatch(/^AUTH_/);
      }),
    );
  });

  async function jwe(): Promise<string> {
    const { publicKey } = await generateKeyPair("RSA-OAEP");
    const header = { alg: "RSA-OAEP", enc: "A256GCM" };
    return new CompactEncrypt(Buffer.from("{}")).setProtectedHeader(header).encrypt(publicKey);
  }

  async function hs256(): Promise<string> {
    const { publicKey } = await generateKeyPair("RS256", { extractable: true });
    const input = `${head({ alg: "HS256", kid: "rs" })}.${body}`;
    return `${input}.${createHmac("sha256", await exportSPKI(publicKey))
      .update(input)
      .digest("base64url")}`;
  }
});

describe("no fact of a refusal", () => {
  it("holds any part of the token", async () => {
    const token = await sign(es, { ...goodClaims, sub: "secret-sub", aud: "secret-aud" }, { kid: "secret-kid" });
    const facts = JSON.stringify(refusalOf(await bench([corp]).present(token)));
    expect(facts).toContain("AUTH_AUDIENCE_MISMATCH");
    expect(facts).not.toContain("secret");
  });
});

describe("issuers", () => {
  it.each<[string, readonly Partial<TrustedIssuer>[], RegExp]>([
    ["sharing an identifier", [{}, { alias: "b" }], /share the identifier/],
    [
      "sharing an alias",
      [{}, { alias: "b", issuer: "https://b.test", issuerAliases: [issuer] }],
      /share the identifier/,
    ],
    ["allowing HS256", [{ algorithms: ["HS256"] }], /not an accepted signature algorithm/],
    ["allowing none", [{ algorithms: ["none"] }], /not an accepted signature algorithm/],
    ["with a tenant and a claim for it", [{ tenant: "a", tenantClaim: "t" }], /exclude each other/],
  ])("%s are not accepted", (_, parts, message) => {
    const issuers = parts.map((part) => ({ ...corp, ...part }));
    const fetch = (): never => {
      throw new Error("unused");
    };
    expect(() => createAuthenticator({ issuers, fetch, denyList: denyList(), limits })).toThrow(message);
  });

  it("accept only the algorithms they list", async () => {
    const strict = bench([{ ...corp, algorithms: ["RS256"] }]);
    expect(codeOf(await strict.present(await sign(rs, goodClaims)))).toBe("ok");
    expect(codeOf(await strict.present(await sign(es, goodClaims)))).toBe("AUTH_ALGORITHM_REFUSED");
  });

  it("vouch with their own keys only", async () => {
    const partner: TrustedIssuer = {
      alias: "partner",
      issuer: "https://partner.test",
      keys: { kind: "local", keys: () => ({ keys: [stranger.jwk] }) },
    };
    const both = bench([corp, partner]);
    expect(codeOf(await both.present(await sign(stranger, { ...goodClaims, iss: partner.issuer })))).toBe("ok");
    expect(codeOf(await both.present(await sign(stranger, goodClaims)))).toBe("AUTH_SIGNATURE_INVALID");
    expect(codeOf(await both.present(await sign(es, { ...goodClaims, iss: partner.issuer })))).toBe(
      "AUTH_SIGNATURE_INVALID",
    );
  });

  it("with an RSA key below 2048 bits verify nothing", async () => {
    const { generateKeyPairSync } = await import("node:crypto");
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const weak = { ...publicKey.export({ format: "jwk" }), kid: "rs" };
    const result = await bench([{ ...corp, keys: { kind: "local", keys: () => ({ keys: [weak] }) } }]).present(
      await sign(rs, goodClaims),
    );
    expect(refusalOf(result)).toMatchObject({ code: "AUTH_SIGNATURE_INVALID", facts: { reason: "a key is unusable" } });
  });
});

describe("a verified token", () => {
  /** An authenticator whose keys are counted each time they are asked for. */
  function counted(): { one: ReturnType<typeof bench>; asks: () => number } {
    let asks = 0;
    const keys = (): { keys: object[] } => {
      asks += 1;
      return { keys: published.map(({ jwk }) => jwk) };
    };
    return { one: bench([{ ...corp, keys: { kind: "local", keys } }]), asks: () => asks };
  }

  it("is remembered for a minute and verified anew after it", async () => {
    const { one, asks } = counted();
    const token = await sign(es, goodClaims);
    await one.present(token);
    await one.present(token, 59_999);
    expect(asks()).toBe(1);
    await one.present(token, 60_000);
    expect(asks()).toBe(2);
  });

  it("is not remembered beyond its expiry", async () => {
    const { one, asks } = counted();
    const token = await sign(es, { ...goodClaims, exp: startSeconds + 10 });
    await one.present(token);
    await one.present(token, 9_999);
    expect(asks()).toBe(1);
    expect(codeOf(await one.present(token, 10_000))).toBe("ok");
    expect(asks()).toBe(2);
    expect(codeOf(await one.present(token, 40_000))).toBe("AUTH_TOKEN_EXPIRED");
  });

  it("is forgotten when the key set has changed", async () => {
    const { one } = counted();
    const [byEs, byRs] = [await sign(es, goodClaims), await sign(rs, goodClaims)];
    expect(codeOf(await one.present(byEs))).toBe("ok");
    published = [rs];
    // Another token's verification finds the new set; from then on the old key's tokens are refused.
    expect(codeOf(await one.present(byRs, 1))).toBe("ok");
    expect(codeOf(await one.present(byEs, 2))).toBe("AUTH_KEY_UNKNOWN");
    published = [es, rs, ed];
  });

  it("makes room for others once the greatest number is remembered, the least used first", async () => {
    let asks = 0;
    const keys = (): { keys: object[] } => {
      asks += 1;
      return { keys: [es.jwk] };
    };
    const one = bench([{ ...corp, keys: { kind: "local", keys } }], { limits: { verifiedTokensMax: 2 } });
    const tokens = await Promise.all(["a", "b", "c"].map((sub) => sign(es, { ...goodClaims, sub })));
    for (const index of [0, 1, 0, 2, 0]) await one.present(tokens[index]!);
    expect(asks).toBe(3);
    await one.present(tokens[1]!);
    expect(asks).toBe(4);
  });
});

describe.each([
  ["over a network", false],
  ["of this process", true],
])("the deny list %s", (_, denyAtOnce) => {
  it("is read on every request, so that a remembered token is refused from the next request on", async () => {
    const one = bench([corp], { denyAtOnce });
    const token = await sign(es, goodClaims);
    expect(codeOf(await one.present(token))).toBe("ok");
    one.list.denied.add(JSON.stringify(deniedTokenKey("default", denyDigest(token))));
    expect(codeOf(await one.present(token, 1))).toBe("AUTH_TOKEN_REVOKED");
    one.list.denied.clear();
    expect(codeOf(await one.present(token, 2))).toBe("ok");
    expect(one.list.reads).toBe(6);
  });

  it("denies a subject with whatever client and token, and nobody else", async () => {
    const one = bench([corp], { denyAtOnce });
    one.list.denied.add(JSON.stringify(deniedSubjectKey({ tenant: "default", issuer, subject: "u1" })));
    for (const client_id of ["desktop", "other"]) {
      expect(codeOf(await one.present(await sign(es, { ...goodClaims, client_id })))).toBe("AUTH_TOKEN_REVOKED");
    }
    expect(codeOf(await one.present(await sign(es, { ...goodClaims, sub: "u2" })))).toBe("ok");
  });

  it("denies a token also under the other signature that ECDSA gives it", async () => {
    const one = bench([corp], { denyAtOnce });
    const token = await sign(es, goodClaims);
    const twin = twinOf(token);
    expect(twin).not.toBe(token);
    expect(codeOf(await one.present(twin))).toBe("ok");
    one.list.denied.add(JSON.stringify(deniedTokenKey("default", denyDigest(token))));
    expect(codeOf(await one.present(twin))).toBe("AUTH_TOKEN_REVOKED");
  });

  it("that cannot be read refuses, a remembered token too", async () => {
    const one = bench([corp], { denyAtOnce });
    const token = await sign(es, goodClaims);
    await one.present(token);
    one.list.broken = new StoreUnavailable("down");
    expect(codeOf(await one.present(token, 1))).toBe("STORE_UNAVAILABLE");
    one.list.broken = new TypeError("our bug");
    await expect(one.present(token, 2)).rejects.toThrow("our bug");
  });

  it("is not asked about tokens that are refused anyway", async () => {
    const one = bench([corp], { denyAtOnce });
    await one.present(await sign(stranger, goodClaims));
    expect(one.list.reads).toBe(0);
  });

  /** (r, n − s) verifies wherever (r, s) does. */
  function twinOf(token: string): string {
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const signature = Buffer.from(token.split(".")[2]!, "base64url");
    const s = BigInt(`0x${signature.subarray(32).toString("hex")}`);
    const other = Buffer.from((order - s).toString(16).padStart(64, "0"), "hex");
    const twin = Buffer.concat([signature.subarray(0, 32), other]).toString("base64url");
    return `${token.slice(0, token.lastIndexOf("."))}.${twin}`;
  }
});

it("several Authorization headers are refused though each would do", async () => {
  const header = `Bearer ${await sign(es, goodClaims)}`;
  const request = { authorization: [header, header], resource, now: start };
  expect(codeOf(await bench([corp]).authenticator.authenticate(request))).toBe("AUTH_TOKEN_MALFORMED");
});
