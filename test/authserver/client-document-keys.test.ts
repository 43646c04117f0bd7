import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK } from "jose";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { GuardedFetch } from "../../src/authserver/port.ts";
import { limits } from "../../src/model/limits.ts";
import { exchange, obtainCode, refresh, startHarness } from "./harness.ts";
import type { Answer, Harness } from "./harness.ts";

const clientId = "https://client.test/oauth/metadata.json";
const keysAt = "https://keys.test/client/jwks";
const document = {
  client_id: clientId,
  redirect_uris: ["http://127.0.0.1/callback"],
  token_endpoint_auth_method: "private_key_jwt",
  jwks_uri: keysAt,
};

let key: CryptoKey;
let jwk: JWK;
let harness: Harness | undefined;

beforeAll(async () => {
  const pair = await generateKeyPair("ES256");
  key = pair.privateKey;
  jwk = { ...(await exportJWK(pair.publicKey)), kid: "c1", alg: "ES256" };
});

afterEach(() => harness?.close());

interface Web {
  readonly at: Harness;
  readonly asked: string[];
  keys: () => Promise<Response>;
}

async function start(keys: () => Promise<Response> = set): Promise<Web> {
  const asked: string[] = [];
  const fetchPublic: GuardedFetch = (url) => {
    asked.push(String(url));
    return String(url) === clientId ? json(document) : web.keys();
  };
  const at = await startHarness({ fetchPublic });
  const web: Web = { at, asked, keys };
  harness = at;
  return web;
}

function json(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return Promise.resolve(
    new Response(JSON.stringify(body), { headers: { "content-type": "application/json", ...headers } }),
  );
}

const set = (): Promise<Response> => json({ keys: [jwk] });

async function proof(at: Harness): Promise<Record<string, string>> {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: at.server.issuer,
    jti: crypto.randomUUID(),
    iat: now,
    exp: now + 60,
  };
  return {
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: await new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "c1" }).sign(key),
  };
}

const redirect = { redirect_uri: "http://127.0.0.1:4711/callback" };

async function signIn(at: Harness): Promise<Answer> {
  return exchange(at, await obtainCode(at, redirect, clientId), { ...redirect, ...(await proof(at)) });
}

const attempt = async (at: Harness): Promise<Answer> => refresh(at, clientId, "none", await proof(at));

describe("a client whose document names its keys at another address", () => {
  it("proves itself with them, and they are read once, with the document", async () => {
    const { at, asked } = await start();
    const first = await signIn(at);
    expect(first.status).toBe(200);
    const second = await refresh(at, clientId, first.body["refresh_token"], await proof(at));
    expect(second.status).toBe(200);
    expect(asked).toEqual([clientId, keysAt]);
  });

  it("is not believed with another key", async () => {
    const { at } = await start(async () =>
      json({ keys: [await exportJWK((await generateKeyPair("ES256")).publicKey)] }),
    );
    expect((await attempt(at)).body["error"]).toBe("invalid_client");
  });

  it("has its new keys read when the old ones' age is over, which their server says too", async () => {
    const web = await start(() => json({ keys: [jwk] }, { "cache-control": "max-age=60" }));
    expect((await signIn(web.at)).status).toBe(200);
    web.keys = async () => json({ keys: [await exportJWK((await generateKeyPair("ES256")).publicKey)] });
    web.at.advance(55_000);
    expect((await attempt(web.at)).body["error"]).toBe("invalid_grant");
    web.at.advance(5_001);
    expect((await attempt(web.at)).body["error"]).toBe("invalid_client");
  });

  it.each<[string, () => Promise<Response>]>([
    ["cannot be reached", () => Promise.reject(new Error("refused"))],
    ["fails", () => Promise.resolve(new Response("", { status: 503 }))],
  ])(
    "is asked to come again while their server %s, which is remembered; with keys of before it goes on",
    async (_, lost) => {
      const web = await start(lost);
      for (let count = 0; count < 5; count += 1) expect((await attempt(web.at)).status).toBe(503);
      expect(web.asked).toEqual([clientId, keysAt]);
      web.keys = set;
      web.at.advance(limits.oauthClientDocumentFailureMs + 1);
      const first = await signIn(web.at);
      web.keys = lost;
      web.at.advance(limits.oauthClientDocumentAgeMs + 1);
      expect((await refresh(web.at, clientId, first.body["refresh_token"], await proof(web.at))).status).toBe(200);
    },
  );

  it.each<[string, () => Promise<Response>]>([
    ["are not found", () => Promise.resolve(new Response("", { status: 404 }))],
    ["are no JSON", () => Promise.resolve(new Response("<html>"))],
    ["are none", () => json({ keys: [] })],
    ["are of a kind that signs nothing", () => json({ keys: [{ kty: "AKP" }] })],
    ["are shown with their private part", async () => json({ keys: [jwk, { ...jwk, d: "c2VjcmV0" }] })],
    ["are shown with a shared one", async () => json({ keys: [jwk, { kty: "oct", k: "c2VjcmV0" }] })],
  ])("is none whose keys %s", async (_what, keys) => {
    const { at, asked } = await start(keys);
    for (let count = 0; count < 3; count += 1) {
      const { status, body } = await attempt(at);
      expect([status, body["error"]]).toEqual([400, "invalid_client"]);
    }
    expect(asked).toEqual([clientId, keysAt]);
  });

  it("proves itself with those of a set that sign, whatever else is in it (RFC 7517 §5)", async () => {
    const { at } = await start(() => json({ keys: [{ kty: "AKP", kid: "pq" }, jwk] }));
    expect((await signIn(at)).status).toBe(200);
  });

  it("makes the gateway fetch no more than any other: documents and keys count together", async () => {
    const asked: string[] = [];
    const at = await startHarness({
      fetchPublic: (url) => {
        asked.push(String(url));
        const isDocument = !String(url).endsWith("/keys");
        return isDocument ? json({ ...document, client_id: String(url), jwks_uri: `${String(url)}/keys` }) : set();
      },
    });
    harness = at;
    for (let count = 0; count < limits.oauthClientDocumentFetchesPerMinuteMax; count += 1)
      await refresh(at, `https://evil.test/${String(count)}`, "none");
    expect(asked).toHaveLength(limits.oauthClientDocumentFetchesPerMinuteMax);
  });
});
