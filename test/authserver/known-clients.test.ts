import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK, JWTPayload } from "jose";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { createBrowser } from "./browser.ts";
import {
  ada,
  authorizationUrl,
  decodeToken,
  exchange,
  obtainCode,
  postForm,
  redirectUri,
  register,
  startHarness,
} from "./harness.ts";
import type { Answer, Changes, Harness } from "./harness.ts";

let harness: Harness | undefined;
let key: CryptoKey;
let jwk: JWK;

beforeAll(async () => {
  const pair = await generateKeyPair("ES256");
  key = pair.privateKey;
  jwk = { ...(await exportJWK(pair.publicKey)), kid: "c1", alg: "ES256" };
});

afterEach(() => harness?.close());

async function start(changes: Changes): Promise<Harness> {
  harness = await startHarness(changes);
  return harness;
}

const byCode = ["authorization_code", "refresh_token"] as const;

describe("an application known beforehand", () => {
  it("that is public signs people in at its exact redirect URI and is called as the operator says", async () => {
    const app = { clientId: "desk", name: "Desk", grantTypes: byCode, scopes: undefined };
    const at = await start({ clients: [{ ...app, redirectUris: [redirectUri, "https://desk.test/cb"] }] });
    const browser = createBrowser();
    const page = await browser.open(authorizationUrl(at, "desk"));
    const consent = await browser.submit(page, { username: ada.username, password: ada.password });
    expect(consent.text).toMatch(/<strong>Desk<\/strong> asks to act/);
    expect(consent.text).not.toMatch(/chose its own name|says that this is/);
    const { body } = await exchange(at, await obtainCode(at, { scope: "tickets:write" }, "desk"));
    expect([body["scope"], typeof body["refresh_token"]]).toEqual(["tickets:write", "string"]);
    const elsewhere = await browser.open(authorizationUrl(at, "desk", { redirect_uri: "https://desk.test/cb/" }));
    expect([elsewhere.status, elsewhere.left]).toEqual([400, undefined]);
  });

  it("with a secret cannot exchange its code without it", async () => {
    const app = { clientId: "desk", clientSecret: "desk-secret-0123456789", grantTypes: byCode, scopes: undefined };
    const at = await start({ clients: [{ ...app, redirectUris: [redirectUri] }] });
    const refused = await exchange(at, await obtainCode(at, {}, "desk"));
    expect([refused.status, refused.body["error"]]).toEqual([401, "invalid_client"]);
    const { status } = await exchange(at, await obtainCode(at, {}, "desk"), { client_secret: app.clientSecret });
    expect(status).toBe(200);
  });
});

describe("a client that proves itself with its key (private_key_jwt)", () => {
  const startService = (): Promise<Harness> =>
    start({
      clients: [
        {
          clientId: "batch",
          jwks: { keys: [jwk] },
          grantTypes: ["client_credentials"],
          scopes: ["tickets:read"],
        },
      ],
    });

  const assertionFor = (at: Harness, claims: JWTPayload = {}, signing: CryptoKey = key): Promise<string> => {
    const now = Math.floor(Date.now() / 1_000);
    const all = {
      iss: "batch",
      sub: "batch",
      aud: at.server.issuer,
      jti: String(Math.random()),
      iat: now,
      exp: now + 60,
    };
    return new SignJWT({ ...all, ...claims }).setProtectedHeader({ alg: "ES256", kid: "c1" }).sign(signing);
  };

  const ask = (at: Harness, clientAssertion: string): Promise<Answer> =>
    postForm(at, "/token", {
      grant_type: "client_credentials",
      resource: `${at.server.issuer}/support/mcp`,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: clientAssertion,
    });

  it("gets a token of its own, without saying its name a second time", async () => {
    const at = await startService();
    const { status, body } = await ask(at, await assertionFor(at));
    expect([status, body["scope"]]).toEqual([200, "tickets:read"]);
    expect(decodeToken(body["access_token"]).claims).toMatchObject({ sub: "batch", client_id: "batch" });
  });

  it("cannot use an assertion twice, one after the other or at the same moment at two replicas", async () => {
    const at = await startService();
    const again = await startHarness({
      publicUrl: at.server.issuer,
      records: at.records,
      clients: [{ clientId: "batch", jwks: { keys: [jwk] }, grantTypes: ["client_credentials"], scopes: [] }],
    });
    const text = await assertionFor(at);
    const answers = await Promise.all([at, again, at, again].map((each) => ask(each, text)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
    expect((await ask(at, text)).body["error"]).toBe("invalid_client");
    await again.close();
  });

  it.each<[string, JWTPayload]>([
    ["for another server", { aud: "https://elsewhere.test" }],
    ["of another client", { iss: "robot", sub: "robot" }],
    ["that has expired", { exp: Math.floor(Date.now() / 1_000) - 60 }],
  ])("is refused with an assertion %s", async (_what, claims) => {
    const at = await startService();
    const { status, body } = await ask(at, await assertionFor(at, claims));
    expect([status, body["error"]]).toEqual([401, "invalid_client"]);
  });

  it("is refused with somebody else's key, and without any proof", async () => {
    const at = await startService();
    const forged = await ask(at, await assertionFor(at, {}, (await generateKeyPair("ES256")).privateKey));
    expect(forged.body["error"]).toBe("invalid_client");
    const bare = { grant_type: "client_credentials", client_id: "batch", resource: `${at.server.issuer}/support/mcp` };
    expect((await postForm(at, "/token", bare)).body["error"]).toBe("invalid_client");
  });
});

describe("registrations from everywhere", () => {
  it("are 600 a minute together, however many addresses they come from", async () => {
    const at = await start({});
    const live = ["oauthRegistrations", "default"] as const;
    for (let count = 0; count < 599; count += 1) await at.records.addMember(live, String(count), 60_000);
    const body = { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" };
    const statuses = [(await register(at, body)).status, (await register(at, body)).status];
    expect(statuses).toEqual([201, 429]);
  });
});
