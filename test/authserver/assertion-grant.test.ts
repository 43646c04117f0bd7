import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AssertionIssuer } from "../../src/authserver/assertion-issuer.ts";
import { endSignIns } from "../../src/authserver/ended-sign-ins.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { readPerson } from "../../src/signin/person.ts";
import { createFakeProvider, createTestSealer } from "./fake-provider.ts";
import { decodeToken, postForm, robot, startHarness } from "./harness.ts";
import type { Answer, Changes, Harness } from "./harness.ts";

const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const desk = {
  clientId: "desk",
  clientSecret: "desk-secret-0123456789",
  grantTypes: [grantType],
  scopes: undefined,
} as const;
const other = { ...desk, clientId: "other", clientSecret: "other-secret-0123456789" };

interface Signer {
  readonly issuer: string;
  readonly key: CryptoKey;
  readonly jwk: JWK;
}

async function createSigner(issuer: string, kid: string): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  return { issuer, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}

function issuerOf({ issuer, jwk }: Signer, more: Partial<AssertionIssuer> = {}): AssertionIssuer {
  const documents: Readonly<Record<string, unknown>> = {
    [`${issuer}/.well-known/openid-configuration`]: { issuer, jwks_uri: `${issuer}/keys` },
    [`${issuer}/keys`]: { keys: [jwk] },
  };
  return {
    alias: "okta",
    issuer,
    jwksUri: undefined,
    algorithms: ["RS256", "ES256"],
    subjectFrom: "sub",
    groupsClaim: "groups",
    groupsMax: 3,
    clients: undefined,
    fetch: (url) => {
      const found = documents[String(url)];
      return Promise.resolve(
        found === undefined
          ? new Response("", { status: 404 })
          : new Response(JSON.stringify(found), { headers: { "content-type": "application/json" } }),
      );
    },
    ...more,
  };
}

let okta: Signer;
let entra: Signer;
let harness: Harness;
let counter = 0;

beforeAll(async () => {
  okta = await createSigner("https://okta.test", "o1");
  entra = await createSigner("https://entra.test", "e1");
  harness = await start();
});

afterAll(() => harness.close());

function start(changes: Changes = {}): Promise<Harness> {
  return startHarness({
    clients: [robot, desk, other],
    assertionIssuers: [
      issuerOf(okta),
      issuerOf(entra, { alias: "entra", subjectFrom: "email", groupsClaim: undefined, clients: ["desk"] }),
    ],
    ...changes,
  });
}

interface Changed {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: { readonly typ?: string; readonly alg?: string; readonly kid?: string };
  readonly signer?: Signer;
  readonly key?: CryptoKey | Uint8Array;
}

function assertion(
  at: Harness,
  { claims = {}, header = {}, signer = okta, key = signer.key }: Changed = {},
): Promise<string> {
  counter += 1;
  const now = Math.floor(Date.now() / 1_000);
  const all: Record<string, unknown> = {
    iss: signer.issuer,
    sub: "ada",
    aud: at.server.issuer,
    client_id: "desk",
    resource: `${at.server.issuer}/support/mcp`,
    scope: "tickets:read tickets:write",
    groups: ["staff"],
    jti: `jti-${String(counter)}`,
    iat: now,
    exp: now + 300,
    ...claims,
  };
  const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return new SignJWT(kept)
    .setProtectedHeader({ alg: "ES256", typ: "oauth-id-jag+jwt", kid: String(signer.jwk.kid), ...header })
    .sign(key);
}

function bring(
  at: Harness,
  text: string,
  fields: Record<string, string> = {},
  client = desk as typeof other,
): Promise<Answer> {
  const authorization = `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString("base64")}`;
  return postForm(at, "/token", { grant_type: grantType, assertion: text, ...fields }, { authorization });
}

describe("an identity assertion (ID-JAG)", () => {
  it("is offered where its issuers are known", async () => {
    const metadata = (await (await fetch(`${harness.origin}/.well-known/oauth-authorization-server`)).json()) as object;
    expect(metadata).toMatchObject({
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials", grantType],
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
    });
  });

  it("gives an access token for its person, client and server, and no refresh token", async () => {
    const { status, body } = await bring(harness, await assertion(harness));
    expect([status, body["token_type"], body["expires_in"], body["scope"], body["refresh_token"]]).toEqual([
      200,
      "Bearer",
      300,
      "tickets:read tickets:write",
      undefined,
    ]);
    expect(decodeToken(body["access_token"])).toMatchObject({
      header: { typ: "at+jwt" },
      claims: {
        iss: harness.server.issuer,
        aud: `${harness.server.issuer}/support/mcp`,
        sub: "okta:ada",
        client_id: "desk",
        groups: ["okta:staff"],
      },
    });
  });

  it("of another issuer is about other people, whatever they are called", async () => {
    const claims = { email: "Ada@Corp.test", email_verified: true, groups: ["staff"] };
    const { body } = await bring(harness, await assertion(harness, { signer: entra, claims }));
    expect(decodeToken(body["access_token"]).claims).toMatchObject({ sub: "entra:ada@corp.test", groups: [] });
  });

  it("of the provider at which people sign in is about those very people", async () => {
    const broker = {
      issuer: okta.issuer,
      provider: createFakeProvider(),
      sealer: createTestSealer(),
      regrantSeconds: 600,
    };
    const brokered = await start({ broker, users: [] });
    const { body } = await bring(brokered, await assertion(brokered));
    expect(decodeToken(body["access_token"]).claims).toMatchObject({ sub: "ada", groups: ["staff"] });
    await brokered.close();
  });

  it.each(["robot", "entra:ada@corp.test"])("of that provider is about nobody who is called %s", async (sub) => {
    const provider = createFakeProvider();
    const broker = { issuer: okta.issuer, provider, sealer: createTestSealer(), regrantSeconds: 600 };
    const brokered = await start({ broker, users: [] });
    const { status, body } = await bring(brokered, await assertion(brokered, { claims: { sub } }));
    expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
    await brokered.close();
  });

  it("of that provider is about nobody who is called as the gateway calls itself", async () => {
    const provider = createFakeProvider();
    const broker = { issuer: okta.issuer, provider, sealer: createTestSealer(), regrantSeconds: 600 };
    const brokered = await start({ broker, users: [] });
    const text = await assertion(brokered, { claims: { sub: brokered.server.issuer } });
    expect((await bring(brokered, text)).body["error"]).toBe("invalid_grant");
    await brokered.close();
  });

  it.each<[string, Record<string, unknown>, Record<string, string>]>([
    ["and asks for none", { scope: undefined }, {}],
    ["though it names some", { scope: "tickets:read" }, {}],
    ["though some are asked for", { scope: undefined }, { scope: "openid" }],
  ])("is good for a server without scopes %s", async (_, claims, fields) => {
    const resources = [{ uri: `${harness.server.issuer}/plain/mcp`, scopes: [], minimalScopes: [] }];
    const plain = await start({ publicUrl: harness.server.issuer, resources });
    const text = await assertion(plain, { claims: { resource: resources[0]?.uri, ...claims } });
    const { status, body } = await bring(plain, text, fields);
    expect([status, body["scope"]]).toEqual([200, "mcp"]);
    await plain.close();
  });

  it("can be used once, also at the same moment and on another replica", async () => {
    const second = await start({ publicUrl: harness.server.issuer, records: harness.records });
    const text = await assertion(harness);
    const answers = await Promise.all([harness, second, harness].map((at) => bring(at, text)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    await second.close();
  });

  const now = Math.floor(Date.now() / 1_000);
  it.each<[string, Changed, string]>([
    ["another type", { header: { typ: "JWT" } }, "type"],
    ["the type of an ID token's neighbour", { header: { typ: "at+jwt" } }, "type"],
    ["another audience", { claims: { aud: "https://elsewhere.test" } }, "audience"],
    ["the server itself as audience", { claims: { aud: "https://elsewhere.test/support/mcp" } }, "audience"],
    ["another client's name", { claims: { client_id: "other" } }, "client"],
    ["no client", { claims: { client_id: undefined } }, "client"],
    ["no resource", { claims: { resource: undefined } }, "resource"],
    ["two resources", { claims: { resource: ["a", "b"] } }, "resource"],
    ["no jti", { claims: { jti: undefined } }, "malformed"],
    ["no exp", { claims: { exp: undefined } }, "malformed"],
    ["an end that has passed", { claims: { iat: now - 400, exp: now - 60 } }, "expired"],
    ["a beginning to come", { claims: { nbf: now + 300 } }, "expired"],
    ["a life of over an hour", { claims: { exp: now + 3_700 } }, "life"],
    ["no person", { claims: { sub: undefined } }, "subject"],
    ["an unknown issuer", { claims: { iss: "https://evil.test" } }, "issuer"],
    ["an issuer with a slash more", { claims: { iss: "https://okta.test/" } }, "issuer"],
  ])("with %s is refused as %3$s", async (_what, changed, fault) => {
    const { status, body } = await bring(harness, await assertion(harness, changed));
    expect([status, body["error"], harness.events.at(-1)?.facts["fault"]]).toEqual([400, "invalid_grant", fault]);
  });

  it("signed by somebody else, with a symmetric key, or with none is refused", async () => {
    const forged = await assertion(harness, { key: entra.key });
    const symmetric = await assertion(harness, {
      header: { alg: "HS256" },
      key: new TextEncoder().encode(JSON.stringify(okta.jwk)),
    });
    const [header = "", claims = ""] = (await assertion(harness)).split(".");
    const none = JSON.stringify({ ...JSON.parse(Buffer.from(header, "base64url").toString()), alg: "none" });
    const unsigned = `${Buffer.from(none).toString("base64url")}.${claims}.`;
    for (const text of [forged, symmetric, unsigned, "", "a.b.c", "x".repeat(20_000)]) {
      const { status, body } = await bring(harness, text);
      expect([status, body["error"]]).toEqual([400, "invalid_grant"]);
    }
  });

  it.each([
    ["unverified", { email: "ada@corp.test", email_verified: false }],
    ["verified in words", { email: "ada@corp.test", email_verified: "true" }],
    ["of which nothing is said", { email: "ada@corp.test" }],
    ["absent", { email_verified: true }],
  ])("whose e-mail address is %s names nobody", async (_what, claims) => {
    const { body } = await bring(harness, await assertion(harness, { signer: entra, claims }));
    expect([body["error"], harness.events.at(-1)?.facts["fault"]]).toEqual(["invalid_grant", "subject"]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["are an object", { groups: { staff: true } }],
    ["are a number", { groups: 7 }],
    ["are null", { groups: null }],
    ["have one that is no text", { groups: ["staff", 7] }],
    ["are elsewhere", { groups: undefined, _claim_names: { groups: "src1" }, _claim_sources: { src1: {} } }],
    ["are elsewhere and here", { groups: ["staff"], _claim_names: { groups: "src1" } }],
    ["are more than may be", { groups: ["a", "b", "c", "d"] }],
  ])("whose groups %s is refused, since a rule that denies one of them would miss", async (_what, claims) => {
    const { status, body } = await bring(harness, await assertion(harness, { claims }));
    expect([status, body["error"], harness.events.at(-1)?.facts["fault"]]).toEqual([400, "invalid_grant", "groups"]);
  });

  it.each<[string, unknown, readonly string[]]>([
    ["are absent", undefined, []],
    ["are none", [], []],
    ["are as many as may be", ["a", "b", "c"], ["okta:a", "okta:b", "okta:c"]],
    ["are one, as text", "staff", ["okta:staff"]],
  ])("whose groups %s is read as it says", async (_what, groups, expected) => {
    const { body } = await bring(harness, await assertion(harness, { claims: { groups } }));
    expect(decodeToken(body["access_token"]).claims["groups"]).toEqual(expected);
  });

  it("of the provider and named by e-mail address is about whom the provider signs in by another spelling", async () => {
    const broker = {
      issuer: entra.issuer,
      provider: createFakeProvider(),
      sealer: createTestSealer(),
      regrantSeconds: 9,
    };
    const brokered = await start({ broker, users: [] });
    const claims = { email: "ADA@Corp.test", email_verified: true };
    const { body } = await bring(brokered, await assertion(brokered, { signer: entra, claims }));
    const signedIn = readPerson(claims, { subjectFrom: "email", groupsClaim: undefined, limits });
    expect(signedIn).toMatchObject({ ok: true, value: { subject: "ada@corp.test" } });
    expect(decodeToken(body["access_token"]).claims["sub"]).toBe("ada@corp.test");
    await brokered.close();
  });

  it("about somebody on the deny list gives no token, and none while nobody can tell", async () => {
    let denied: readonly string[] = ["okta:ada"];
    const isDenied = (subject: string): Promise<boolean> =>
      denied.includes("?") ? Promise.reject(new StoreUnavailable("down")) : Promise.resolve(denied.includes(subject));
    const guarded = await start({ isDenied });
    const { status, body } = await bring(guarded, await assertion(guarded));
    expect([status, body["error"], guarded.events.at(-1)?.facts["fault"]]).toEqual([400, "invalid_grant", "denied"]);
    denied = ["?"];
    expect((await bring(guarded, await assertion(guarded))).status).toBe(503);
    denied = ["okta:bob", "ada"];
    expect((await bring(guarded, await assertion(guarded))).status).toBe(200);
    await guarded.close();
  });

  it("that is older than the end of its person's sign-ins gives no token, and a newer one does", async () => {
    const at = await start();
    const who = { tenant: "default", issuer: at.server.issuer, subject: "okta:ada" };
    await endSignIns(at.records, who, { now: Date.now() - 10_000, refreshTokenSeconds: 60 });
    const before = await bring(at, await assertion(at, { claims: { iat: Math.floor(Date.now() / 1_000) - 11 } }));
    expect([before.body["error"], at.events.at(-1)?.facts["fault"]]).toEqual(["invalid_grant", "ended"]);
    expect((await bring(at, await assertion(at))).status).toBe(200);
    await at.close();
  });

  it("is taken from the clients that its issuer is configured with, and each brings its own", async () => {
    const claims = { client_id: "other", email: "a@b.test", email_verified: true };
    const refused = await bring(harness, await assertion(harness, { signer: entra, claims }), {}, other);
    expect([refused.body["error"], harness.events.at(-1)?.facts["fault"]]).toEqual(["invalid_grant", "client"]);
    expect((await bring(harness, await assertion(harness, { claims }), {}, other)).status).toBe(200);
  });

  it("is of no use to who cannot prove himself, or does not have the grant", async () => {
    const fields = { grant_type: grantType, assertion: await assertion(harness), client_id: "desk" };
    expect((await postForm(harness, "/token", fields)).body["error"]).toBe("invalid_client");
    const text = await assertion(harness, { claims: { client_id: "robot" } });
    expect((await bring(harness, text, {}, robot as unknown as typeof other)).body["error"]).toBe("invalid_request");
  });

  it("names the server: an unknown one, or another than the request's, is invalid_target", async () => {
    const unknown = await assertion(harness, { claims: { resource: "https://elsewhere.test/mcp" } });
    expect((await bring(harness, unknown)).body["error"]).toBe("invalid_target");
    const resource = `${harness.server.issuer}/sales/mcp`;
    expect((await bring(harness, await assertion(harness), { resource })).body["error"]).toBe("invalid_target");
    const same = `${harness.server.issuer}/support/mcp/`;
    expect((await bring(harness, await assertion(harness), { resource: same })).status).toBe(200);
  });

  it.each([
    ["what the assertion grants", { scope: "tickets:read" }, {}, "tickets:read"],
    ["what the request asks of it", {}, { scope: "tickets:write offline_access" }, "tickets:write"],
    ["the server's minimum when neither says", { scope: undefined }, {}, "tickets:read"],
  ])("gives %s", async (_what, claims, fields, scope) => {
    const { body } = await bring(harness, await assertion(harness, { claims }), fields);
    expect(body["scope"]).toBe(scope);
  });

  it("gives nothing beyond the assertion, and says so", async () => {
    const text = await assertion(harness, { claims: { scope: "tickets:read" } });
    expect((await bring(harness, text, { scope: "tickets:write" })).body["error"]).toBe("invalid_scope");
  });

  it("gives no scope that its person may not have", async () => {
    const confined = await start({ scopesByGroup: new Map([["okta:staff", ["tickets:read"]]]) });
    const { body } = await bring(confined, await assertion(confined));
    expect(body["scope"]).toBe("tickets:read");
    await confined.close();
  });

  it("is to come again when its issuer's keys cannot be had", async () => {
    const down = issuerOf(okta, { fetch: () => Promise.reject(new Error("down")) });
    const lost = await start({ assertionIssuers: [down] });
    const { status, body } = await bring(lost, await assertion(lost));
    expect([status, body["error"]]).toEqual([503, "temporarily_unavailable"]);
    await lost.close();
  });

  it("is not verified with keys of metadata that names another issuer", async () => {
    const lying = issuerOf(okta, {
      fetch: (url) =>
        Promise.resolve(
          new Response(
            JSON.stringify(
              String(url).endsWith("/keys")
                ? { keys: [okta.jwk] }
                : { issuer: "https://evil.test", jwks_uri: "https://evil.test/keys" },
            ),
          ),
        ),
    });
    const deceived = await start({ assertionIssuers: [lying] });
    expect((await bring(deceived, await assertion(deceived))).body["error"]).toBe("temporarily_unavailable");
    await deceived.close();
  });

  it("is no grant at all where no issuer is configured", async () => {
    const without = await startHarness();
    const authorization = `Basic ${Buffer.from(`${robot.clientId}:${robot.clientSecret}`).toString("base64")}`;
    const fields = { grant_type: grantType, assertion: await assertion(without) };
    const { body } = await postForm(without, "/token", fields, { authorization });
    expect(body["error"]).toBe("unsupported_grant_type");
    await without.close();
  });
});
