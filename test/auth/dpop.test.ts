import { beforeAll, describe, expect, it } from "vitest";
import { createAuthenticator } from "../../src/auth/authenticate.ts";
import { deniedTokenKey, denyDigest } from "../../src/auth/deny-list.ts";
import type { ProofRecords } from "../../src/auth/port.ts";
import type { Shown } from "../../src/auth/possession.ts";
import { createProofNonces } from "../../src/auth/proof-nonces.ts";
import type { DpopMode } from "../../src/model/dpop-mode.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { codeOf, denyList, goodClaims, issuer, refusalOf, resource, start, startSeconds } from "./harness.ts";
import { segment, sign, signer } from "./mock-issuer.ts";
import type { Signer } from "./mock-issuer.ts";
import { proofMaker } from "./proof-maker.ts";
import type { ProofMaker, ProofOf } from "./proof-maker.ts";

let es: Signer;
let client: ProofMaker;
let other: ProofMaker;
/** Bound to the client's key. */
let bound: string;
let unbound: string;

beforeAll(async () => {
  [es, client, other] = await Promise.all([signer("es"), proofMaker(), proofMaker()]);
  unbound = await sign(es, goodClaims);
  bound = await sign(es, { ...goodClaims, cnf: { jkt: client.thumbprint } });
});

const nonces = createProofNonces({ keys: [new Uint8Array(32)], secondsMax: limits.dpopNonceSecondsMax });

interface Sent {
  readonly token?: string;
  readonly scheme?: string;
  readonly proofs?: readonly string[];
  readonly laterMs?: number;
  readonly method?: string;
  readonly certificate?: Shown["certificate"];
}

interface Bench {
  readonly list: ReturnType<typeof denyList>;
  /** How many records of used proofs were asked for. */
  records: { asked: number; broken: Error | undefined };
  send(sent: Sent): Promise<string>;
  reason(sent: Sent): Promise<unknown>;
}

function bench(dpop?: DpopMode, more: { readonly noProofs?: boolean } = {}): Bench {
  const records: Bench["records"] = { asked: 0, broken: undefined };
  let now = start;
  const store = createMemoryStore({ now: () => now, entriesMax: 100 });
  const counted: ProofRecords = {
    setIfAbsent: (...one) => {
      records.asked += 1;
      return records.broken === undefined ? store.setIfAbsent(...one) : Promise.reject(records.broken);
    },
  };
  const list = denyList();
  const authenticator = createAuthenticator({
    issuers: [{ alias: "corp", issuer, keys: { kind: "local", keys: () => ({ keys: [es.jwk] }) }, dpop }],
    fetch: () => Promise.reject(new Error("nothing may be fetched here")),
    denyList: list,
    proofs: more.noProofs === true ? undefined : { records: counted, nonces },
    limits,
  });
  const result = async (sent: Sent): Promise<Awaited<ReturnType<typeof authenticator.authenticate>>> => {
    const { token = bound, scheme = "DPoP", proofs = [], laterMs = 0, method = "POST", certificate } = sent;
    now = start + laterMs;
    const shown = { proofs, method, uri: resource, certificate };
    return authenticator.authenticate({ authorization: [`${scheme} ${token}`], resource, shown, now });
  };
  return {
    list,
    records,
    send: async (sent) => codeOf(await result(sent)),
    reason: async (sent) => refusalOf(await result(sent))?.facts["reason"],
  };
}

/** A proof of the client that holds at the start, but for what is changed. */
function prove(
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  by = client,
): Promise<string> {
  return proveLater(0, claims, header, by);
}

function proveLater(
  laterMs: number,
  claims: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
  by = client,
): Promise<string> {
  const now = start + laterMs;
  const of: ProofOf = { token: bound, uri: resource, nonce: nonces.current(now), iat: Math.floor(now / 1000) };
  return by.prove(of, claims, header);
}

describe("a token that is bound to a key", () => {
  it("is taken with a proof of that key, again and again, each time with a new one", async () => {
    const one = bench();
    for (let round = 0; round < 3; round += 1) expect(await one.send({ proofs: [await prove()] })).toBe("ok");
    expect(one.records.asked).toBe(3);
  });

  it("sent as a bearer token is refused, whatever proof comes with it", async () => {
    expect(await bench().send({ scheme: "Bearer" })).toBe("AUTH_DPOP_SCHEME_NEEDED");
    expect(await bench().send({ scheme: "Bearer", proofs: [await prove()] })).toBe("AUTH_DPOP_SCHEME_NEEDED");
  });

  it("is refused without a proof, with two, and with one of another key, also right after it was taken", async () => {
    const one = bench();
    expect(await one.send({ proofs: [await prove()] })).toBe("ok");
    expect(await one.send({})).toBe("AUTH_DPOP_PROOF_MISSING");
    expect(await one.send({ proofs: [await prove(), await prove()] })).toBe("AUTH_DPOP_PROOF_INVALID");
    expect(await one.send({ proofs: [await prove({}, {}, other)] })).toBe("AUTH_DPOP_KEY_MISMATCH");
    expect(one.records.asked).toBe(1);
  });

  it("is looked at again without a proof only where its request was authenticated as it came", async () => {
    const one = createAuthenticator({
      issuers: [{ alias: "corp", issuer, keys: { kind: "local", keys: () => ({ keys: [es.jwk] }) } }],
      fetch: () => Promise.reject(new Error("nothing may be fetched here")),
      denyList: denyList(),
      proofs: { records: { setIfAbsent: () => Promise.resolve(true) }, nonces },
      limits,
    });
    const asked = { authorization: [`DPoP ${bound}`], resource, now: start };
    expect(codeOf(await one.authenticate({ ...asked, shown: "before" }))).toBe("ok");
    expect(codeOf(await one.authenticate(asked))).toBe("AUTH_DPOP_PROOF_MISSING");
  });

  it("tells whoever has no proof nothing of the deny list", async () => {
    const one = bench();
    one.list.denied.add(JSON.stringify(deniedTokenKey("default", denyDigest(bound))));
    expect(await one.send({})).toBe("AUTH_DPOP_PROOF_MISSING");
    expect(one.list.reads).toBe(0);
    expect(await one.send({ proofs: [await prove()] })).toBe("AUTH_TOKEN_REVOKED");
  });

  it.each<[string, unknown, string]>([
    ["to a key and something unknown", { jkt: "A".repeat(43), kid: "k" }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["to nothing", {}, "AUTH_TOKEN_TYPE_REFUSED"],
    ["to a key that it brings", { jwk: { kty: "EC" } }, "AUTH_TOKEN_TYPE_REFUSED"],
    ["by text", "jkt", "AUTH_CLAIM_INVALID"],
    ["to a thumbprint that is too short", { jkt: "A".repeat(42) }, "AUTH_CLAIM_INVALID"],
    ["to a number", { jkt: 7 }, "AUTH_CLAIM_INVALID"],
    ["to a certificate by a number", { "x5t#S256": 7 }, "AUTH_CLAIM_INVALID"],
  ])("%s is refused, whichever scheme it comes with", async (_, cnf, code) => {
    const token = await sign(es, { ...goodClaims, cnf });
    for (const scheme of ["Bearer", "DPoP"]) expect(await bench().send({ token, scheme })).toBe(code);
  });

  it("that says it is of the DPoP kind, and names no key, is refused", async () => {
    for (const more of [{}, { cnf: { "x5t#S256": "M".repeat(43) } }]) {
      const token = await sign(es, { ...goodClaims, typ: "DPoP", ...more });
      const sent = { token, scheme: "Bearer", certificate: () => "M".repeat(43) };
      expect(await bench().send(sent)).toBe("AUTH_TOKEN_TYPE_REFUSED");
    }
  });
});

describe("a proof", () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ["for another method", { htm: "GET" }, {}, "htm"],
    ["for a method in small letters", { htm: "post" }, {}, "htm"],
    ["for no method", { htm: undefined }, {}, "htm"],
    ["for another server", { htu: "https://gw.test/billing/mcp" }, {}, "htu"],
    ["for another host", { htu: "https://internal.test/support/mcp" }, {}, "htu"],
    ["for another port", { htu: "https://gw.test:8443/support/mcp" }, {}, "htu"],
    ["for a URI in clear", { htu: "http://gw.test/support/mcp" }, {}, "htu"],
    ["for a URI with credentials", { htu: "https://gw.test@gw.test/support/mcp" }, {}, "htu"],
    ["for a URI that is none", { htu: "/support/mcp" }, {}, "htu"],
    ["for no URI", { htu: undefined }, {}, "htu"],
    ["for another token", { ath: "A".repeat(43) }, {}, "ath"],
    ["for no token", { ath: undefined }, {}, "ath"],
    ["of no time", { iat: undefined }, {}, "iat"],
    ["of a time that is text", { iat: `${startSeconds}` }, {}, "iat"],
    ["without an id", { jti: undefined }, {}, "jti"],
    ["with an empty id", { jti: "" }, {}, "jti"],
    ["with an id that is a number", { jti: 1 }, {}, "jti"],
    ["with an id that is too long", { jti: "x".repeat(limits.dpopProofIdCharsMax + 1) }, {}, "jti"],
    ["of another type", {}, { typ: "JWT" }, "typ"],
    ["of no type", {}, { typ: undefined }, "typ"],
    ["without its key", {}, { jwk: undefined }, "jwk"],
    ["with a symmetric key", {}, { jwk: { kty: "oct", k: "AAAA" } }, "jwk"],
    ["with a critical header", {}, { crit: ["exp"], exp: 1 }, "no JWT"],
    ["that is too long", { more: "x".repeat(limits.dpopProofBytesMax) }, {}, "too long"],
  ])("%s is refused", async (_, claims, header, reason) => {
    const one = bench();
    const proof = await prove(claims, header).catch(() => handMade(claims, header));
    expect(await one.send({ proofs: [proof] })).toBe("AUTH_DPOP_PROOF_INVALID");
    expect(await one.reason({ proofs: [proof] })).toBe(reason);
    expect(one.records.asked).toBe(0);
  });

  it.each([
    ["with query and fragment", `${resource}?session=1#top`],
    ["in capitals where they do not count, with the port that https has", "HTTPS://GW.test:443/support/mcp"],
  ])("for the same URI %s is taken", async (_, htu) => {
    expect(await bench().send({ proofs: [await prove({ htu })] })).toBe("ok");
  });

  it("with the longest id is taken", async () => {
    expect(await bench().send({ proofs: [await prove({ jti: "x".repeat(limits.dpopProofIdCharsMax) })] })).toBe("ok");
  });

  it("that brings its private key is refused", async () => {
    const jwk = { ...client.jwk, d: "AAAA" };
    expect(await bench().reason({ proofs: [await prove({}, { jwk })] })).toBe("jwk");
  });

  it("signed by another key than it brings is refused, though the token is bound to that one", async () => {
    expect(await bench().reason({ proofs: [await prove({}, { jwk: client.jwk }, other)] })).toBe("signature");
  });

  it.each(["none", "HS256"])("of the algorithm %s is refused", async (alg) => {
    const [, payload = "", signature = ""] = (await prove()).split(".");
    const proof = `${segment({ alg, typ: "dpop+jwt", jwk: client.jwk })}.${payload}.${signature}`;
    expect(await bench().reason({ proofs: [proof] })).toBe("alg");
  });

  it.each(["ES384", "EdDSA", "PS256", "RS256"])("of the algorithm %s is taken", async (alg) => {
    const maker = await proofMaker(alg);
    const token = await sign(es, { ...goodClaims, cnf: { jkt: maker.thumbprint } });
    const of = { token, uri: resource, nonce: nonces.current(start), iat: startSeconds };
    expect(await bench().send({ token, proofs: [await maker.prove(of)] })).toBe("ok");
  });

  it("of an RSA key below 2048 bits, or with an exponent that makes it dear, is refused", async () => {
    const small = await proofMaker("RS256", 1024).catch(() => undefined);
    const rsa = await proofMaker("RS256");
    const of = { token: bound, uri: resource, nonce: nonces.current(start), iat: startSeconds };
    const dear = await rsa.prove(of, {}, { jwk: { ...rsa.jwk, e: "A".repeat(7) } });
    expect(await bench().reason({ proofs: [dear] })).toBe("jwk");
    const weak = await small?.prove(of).catch(() => undefined);
    // The library that tests sign with refuses such a key itself.
    if (weak !== undefined) expect(await bench().reason({ proofs: [weak] })).toBe("signature");
  });

  it("is taken until a minute and the clocks' leeway after it was made, and as long before as clocks may differ", async () => {
    const { dpopProofSecondsMax: age, clockLeewaySeconds: leeway } = limits;
    const [early, late] = [-leeway * 1000, (age + leeway) * 1000];
    const at = async (laterMs: number): Promise<string> =>
      bench().send({ laterMs, proofs: [await prove({ nonce: nonces.current(start + laterMs) })] });
    expect(await at(early - 1)).toBe("AUTH_DPOP_PROOF_INVALID");
    expect(await at(early)).toBe("ok");
    expect(await at(late - 1)).toBe("ok");
    expect(await at(late)).toBe("AUTH_DPOP_PROOF_INVALID");
  });
});

/** What the signing library does not make. */
async function handMade(claims: Record<string, unknown>, header: Record<string, unknown>): Promise<string> {
  const [, payload = "", signature = ""] = (await prove(claims)).split(".");
  return `${segment({ alg: "ES256", typ: "dpop+jwt", jwk: client.jwk, ...header })}.${payload}.${signature}`;
}

describe("a proof that was used", () => {
  it("is refused, in any order and at once", async () => {
    const one = bench();
    const proof = await prove();
    const both = await Promise.all([one.send({ proofs: [proof] }), one.send({ proofs: [proof] })]);
    expect(both.sort()).toEqual(["AUTH_DPOP_PROOF_REPLAYED", "ok"]);
    expect(await one.send({ proofs: [proof] })).toBe("AUTH_DPOP_PROOF_REPLAYED");
  });

  it("is remembered until it is too old, though it was used before its time", async () => {
    const { dpopProofSecondsMax: age, clockLeewaySeconds: leeway } = limits;
    const one = bench();
    const proof = await prove({ iat: startSeconds + leeway });
    expect(await one.send({ proofs: [proof] })).toBe("ok");
    const until = (age + 2 * leeway) * 1000;
    expect(await one.send({ proofs: [proof], laterMs: until - 1 })).toBe("AUTH_DPOP_PROOF_REPLAYED");
    expect(await one.send({ proofs: [proof], laterMs: until })).toBe("AUTH_DPOP_PROOF_INVALID");
  });

  it("uses up the id for its own key alone", async () => {
    const one = bench();
    expect(await one.send({ proofs: [await prove({ jti: "same" })] })).toBe("ok");
    expect(await one.send({ proofs: [await prove({ jti: "same" })] })).toBe("AUTH_DPOP_PROOF_REPLAYED");
    const token = await sign(es, { ...goodClaims, cnf: { jkt: other.thumbprint } });
    const of = { token, uri: resource, nonce: nonces.current(start), iat: startSeconds };
    expect(await one.send({ token, proofs: [await other.prove(of, { jti: "same" })] })).toBe("ok");
  });

  it("cannot be told from a new one while the store is down, and then none is taken", async () => {
    const one = bench();
    one.records.broken = new StoreUnavailable("down");
    expect(await one.send({ proofs: [await prove()] })).toBe("STORE_UNAVAILABLE");
    expect(await one.send({ token: unbound, scheme: "Bearer" })).toBe("ok");
  });
});

describe("the nonce of a proof", () => {
  const half = (limits.dpopNonceSecondsMax * 1000) / 2;

  it("must be one of this gateway's", async () => {
    expect(await bench().send({ proofs: [await prove({ nonce: undefined })] })).toBe("AUTH_DPOP_NONCE_NEEDED");
    expect(await bench().send({ proofs: [await prove({ nonce: "x" })] })).toBe("AUTH_DPOP_NONCE_NEEDED");
    expect(await bench().send({ proofs: [await prove({ nonce: 7 })] })).toBe("AUTH_DPOP_NONCE_NEEDED");
  });

  it("is accepted for one span after its own, and one before, and no longer", () => {
    const nonce = nonces.current(start);
    const spanStart = Math.floor(start / half) * half;
    expect(nonces.current(spanStart + half - 1)).toBe(nonce);
    expect(nonces.current(spanStart + half)).not.toBe(nonce);
    expect(nonces.accepts(nonce, spanStart + 2 * half - 1)).toBe(true);
    expect(nonces.accepts(nonce, spanStart + 2 * half)).toBe(false);
    expect(nonces.accepts(nonce, spanStart - half)).toBe(true);
    expect(nonces.accepts(nonce, spanStart - half - 1)).toBe(false);
  });

  it("of another key is not accepted, unless the key is one of before a rotation", () => {
    const [older, newer] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const made = (...keys: Uint8Array[]): typeof nonces => createProofNonces({ keys, secondsMax: 300 });
    expect(made(newer).accepts(made(older).current(start), start)).toBe(false);
    const rotated = made(newer, older);
    expect(rotated.accepts(made(older).current(start), start)).toBe(true);
    expect(rotated.current(start)).toBe(made(newer).current(start));
  });
});

describe("a token that is bound to no key", () => {
  it("is refused with the scheme DPoP", async () => {
    expect(await bench().send({ token: unbound, proofs: [await prove()] })).toBe("AUTH_DPOP_TOKEN_UNBOUND");
  });

  it("is taken as a bearer token, a proof or none", async () => {
    expect(await bench().send({ token: unbound, scheme: "Bearer" })).toBe("ok");
    expect(await bench().send({ token: unbound, scheme: "Bearer", proofs: [await prove()] })).toBe("ok");
  });
});

describe("what an issuer's dpop says", () => {
  it.each<[DpopMode, string, string, string]>([
    ["accept", "ok", "ok", "AUTH_DPOP_SCHEME_NEEDED"],
    ["require", "AUTH_DPOP_REQUIRED", "ok", "AUTH_DPOP_SCHEME_NEEDED"],
    ["off", "ok", "AUTH_TOKEN_TYPE_REFUSED", "AUTH_TOKEN_TYPE_REFUSED"],
  ])(
    "%s: an unbound token is %s, a bound one with its proof %s, as a bearer token %s",
    async (mode, plain, ...rest) => {
      const one = bench(mode);
      expect(await one.send({ token: unbound, scheme: "Bearer" })).toBe(plain);
      expect(await one.send({ token: unbound, scheme: "Bearer" })).toBe(plain);
      const proved = await one.send({ proofs: [await prove()] });
      expect([proved, await one.send({ scheme: "Bearer" })]).toEqual(rest);
    },
  );

  it("of no issuer: the scheme is not known, and a bound token no bearer token", async () => {
    const one = bench("off", { noProofs: true });
    expect(await one.send({ proofs: [await prove()] })).toBe("AUTH_SCHEME_UNSUPPORTED");
    expect(await one.send({ scheme: "Bearer" })).toBe("AUTH_TOKEN_TYPE_REFUSED");
  });
});

describe("a token that is bound to a client certificate", () => {
  const [mine, theirs] = ["M".repeat(43), "T".repeat(43)];
  const token = (cnf: object): Promise<string> => sign(es, { ...goodClaims, cnf });

  it.each<[string, Sent["certificate"], string]>([
    ["on a connection without TLS of ours", undefined, "AUTH_CERTIFICATE_MISSING"],
    ["without one", () => undefined, "AUTH_CERTIFICATE_MISSING"],
    ["with another", () => theirs, "AUTH_CERTIFICATE_MISMATCH"],
    ["with it", () => mine, "ok"],
  ])("%s", async (_, certificate, code) => {
    const one = bench();
    const sent = { token: await token({ "x5t#S256": mine }), scheme: "Bearer", certificate };
    expect([await one.send(sent), await one.send(sent)]).toEqual([code, code]);
  });

  it("and to a key needs both", async () => {
    const both = await token({ "x5t#S256": mine, jkt: client.thumbprint });
    const of = { token: both, uri: resource, nonce: nonces.current(start), iat: startSeconds };
    const proofs = [await client.prove(of)];
    const one = bench();
    expect(await one.send({ token: both, proofs })).toBe("AUTH_CERTIFICATE_MISSING");
    expect(await one.send({ token: both, certificate: () => mine })).toBe("AUTH_DPOP_PROOF_MISSING");
    expect(await one.send({ token: both, scheme: "Bearer", certificate: () => mine })).toBe("AUTH_DPOP_SCHEME_NEEDED");
    expect(await one.send({ token: both, proofs, certificate: () => mine })).toBe("ok");
  });

  it("is taken also where tokens that are bound to a key are off", async () => {
    const sent = { token: await token({ "x5t#S256": mine }), scheme: "Bearer", certificate: () => mine };
    expect(await bench("off").send(sent)).toBe("ok");
  });
});

it("no fact of a refusal holds any part of the proof", async () => {
  const proof = await prove({ htu: "https://elsewhere.test/canary" });
  const one = bench();
  expect(JSON.stringify([await one.reason({ proofs: [proof] }), await one.send({ proofs: [proof] })])).not.toMatch(
    /canary|elsewhere/,
  );
});
