import { generateKeyPairSync } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { createLocalJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthServer } from "../../src/authserver/create.ts";
import type { AuthServer } from "../../src/authserver/create.ts";
import { StartRefused } from "../../src/model/start-refused.ts";
import { createBrowser } from "./browser.ts";
import { createMemoryRecords } from "./memory-records.ts";
import type { MemoryRecords } from "./memory-records.ts";
import {
  ada,
  authorizationUrl,
  decodeToken,
  exchange,
  obtainCode,
  optionsFor,
  postForm,
  redirectUri,
  refresh,
  registerPublic,
  robot,
  startHarness,
} from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

describe("what lies in the store", () => {
  it("presents to nobody: neither codes, tokens, session cookies nor passwords are in it", async () => {
    const flow = await obtainCode(harness);
    const stored = harness.records.dump();
    expect(stored).toContain("AuthorizationCode");
    expect(stored).not.toContain(flow.code);
    const first = await exchange(harness, flow);
    const second = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    for (const { body } of [first, second]) {
      for (const token of ["access_token", "refresh_token"]) expect(harness.records.dump()).not.toContain(body[token]);
    }
    const browser = createBrowser();
    const page = await browser.open(authorizationUrl(harness, flow.clientId));
    await browser.submit(page, { username: ada.username, password: ada.password });
    const session = browser.cookies.get("sallyport_session;/") ?? "";
    expect(session).toMatch(/^[\w-]{21,}$/);
    expect(harness.records.dump()).not.toContain(session);
    expect(harness.records.dump()).not.toContain(ada.password);
  });

  it("keeps an unused registration for a day and one that was signed in with for 90", async () => {
    let now = Date.now();
    const records = createMemoryRecords(() => now);
    const aging = await startHarness({ records });
    const unused = await registerPublic(aging);
    const used = await registerPublic(aging);
    await exchange(aging, await obtainCode(aging, {}, used));
    const title = async (clientId: string): Promise<string | undefined> =>
      /<h1>([^<]*)/.exec((await createBrowser().open(authorizationUrl(aging, clientId))).text)?.[1];
    now += 86_400_000 - 1_000;
    expect(await title(unused)).toBe("Sign in");
    now += 2_000;
    expect(await title(unused)).toBe("This request cannot be answered");
    expect(await title(used)).toBe("Sign in");
    now += 90 * 86_400_000;
    expect(await title(used)).toBe("This request cannot be answered");
    await aging.close();
  });
});

describe("two replicas on one store", () => {
  it("share registrations, sign-ins and codes", async () => {
    const first = await startHarness();
    const second = await startHarness({ publicUrl: first.server.issuer, records: first.records });
    const flow = await obtainCode(first);
    const answer = await exchange(second, flow);
    expect(answer.status).toBe(200);
    expect((await refresh(first, flow.clientId, answer.body["refresh_token"])).status).toBe(200);
    await first.close();
    await second.close();
  });

  it("of two exchanges of one code at both, one succeeds", async () => {
    const first = await startHarness();
    const second = await startHarness({ publicUrl: first.server.issuer, records: first.records });
    const flow = await obtainCode(first);
    const answers = await Promise.all([exchange(first, flow), exchange(second, flow)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    await first.close();
    await second.close();
  });
});

describe("the generated signing key", () => {
  const events: string[] = [];
  const start = (records: MemoryRecords, cookieKeys: readonly string[]): Promise<AuthServer> =>
    createAuthServer({
      ...optionsFor("https://gw.test", ["support"]),
      records,
      secrets: { cookieKeys },
      log: (event) => events.push(event),
    });
  const oldKey = "the first cookie key";
  const newKey = "the second cookie key";

  it("is one and the same for replicas that start together", async () => {
    const records = createMemoryRecords();
    const servers = await Promise.all([1, 2, 3].map(() => start(records, [oldKey])));
    const kids = new Set(servers.map((server) => server.publicKeys().keys[0]?.["kid"]));
    expect(kids.size).toBe(1);
  });

  it("rests sealed, and survives a rotation of the secrets", async () => {
    const records = createMemoryRecords();
    const kidOf = async (keys: readonly string[]): Promise<unknown> =>
      (await start(records, keys)).publicKeys().keys[0]?.["kid"];
    const kid = await kidOf([oldKey]);
    expect(records.dump()).toMatch(/oauthKeys.*v1\./);
    expect(records.dump()).not.toMatch(/"d"|\\"d\\"|P-256/);
    expect(await kidOf([newKey, oldKey])).toBe(kid);
  });

  it("under another secret keeps a gateway from starting, which says what to do, and stays for those that have it", async () => {
    const records = createMemoryRecords();
    const kid = (await start(records, [oldKey])).publicKeys().keys[0]?.["kid"];
    events.length = 0;
    await expect(start(records, [newKey])).rejects.toThrow(StartRefused);
    await expect(start(records, [newKey])).rejects.toThrow(/cookieSecretPrevious.*sallyport:default:oauthKeys:signing/);
    expect(events).toEqual(["authserver.signing-keys-sealed", "authserver.signing-keys-sealed"]);
    expect((await start(records, [oldKey])).publicKeys().keys[0]?.["kid"]).toBe(kid);
  });

  it("is not made when the store is down", async () => {
    const records = createMemoryRecords();
    records.setDown(true);
    await expect(start(records, [oldKey])).rejects.toThrow("down");
  });

  it.each([
    ["too short a cookie key", { cookieKeys: ["short"] }, "cookieKeys"],
    ["no cookie key", { cookieKeys: [] }, "cookieKeys"],
    ["no signing key in the set", { cookieKeys: [oldKey], jwks: { keys: [] } }, "empty set"],
    ["a public signing key", { cookieKeys: [oldKey], jwks: { keys: [{ kty: "RSA", n: "AQ", e: "AQAB" }] } }, "private"],
  ])("is refused in configuration: %s", async (_what, secrets, reason) => {
    await expect(startHarness({ secrets })).rejects.toThrow(reason);
  });

  it("gives way to configured keys, of which the first signs", async () => {
    const jwk = (): JsonWebKey =>
      generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey.export({ format: "jwk" });
    const keys = [{ ...jwk(), kid: "new" }, jwk()];
    const configured = await startHarness({ secrets: { cookieKeys: [oldKey], jwks: { keys } } });
    const { body } = await exchange(configured, await obtainCode(configured));
    const header = JSON.parse(
      Buffer.from(String(body["access_token"]).split(".")[0] ?? "", "base64url").toString(),
    ) as object;
    expect(header).toMatchObject({ alg: "RS256", kid: "new", typ: "at+jwt" });
    expect(configured.server.publicKeys().keys).toHaveLength(2);
    expect(JSON.stringify(configured.server.publicKeys())).not.toMatch(/"(d|p|q|dp|dq|qi)"/);
    await configured.close();
  });
});

describe("replacing a configured signing key", () => {
  const made = (kid: string): JsonWebKey => ({
    ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
    kid,
  });

  it("refuses no token: the new key is published before it signs, and the old one verifies after it signed", async () => {
    const [older, newer] = [made("older"), made("newer")];
    const sets = [[older], [older, newer], [newer, older], [newer]];
    const replicas = [];
    for (const keys of sets) {
      const jwks = { keys };
      replicas.push(
        await startHarness({ publicUrl: "http://localhost:1", secrets: { cookieKeys: ["k".repeat(16)], jwks } }),
      );
    }
    const resource = "http://localhost:1/support/mcp";
    const fields = { grant_type: "client_credentials", client_id: robot.clientId, client_secret: robot.clientSecret };
    const signers: unknown[] = [];
    for (const [at, replica] of replicas.entries()) {
      const { body } = await postForm(replica, "/token", { ...fields, resource });
      signers.push(decodeToken(body["access_token"]).header["kid"]);
      // Whoever still runs the step before, and whoever already runs the next one, verifies it.
      for (const near of replicas.slice(Math.max(at - 1, 0), at + 2)) {
        await jwtVerify(String(body["access_token"]), createLocalJWKSet(near.server.publicKeys()));
      }
    }
    expect(signers).toEqual(["older", "older", "newer", "newer"]);
    for (const replica of replicas) await replica.close();
  });
});

describe("while the store is down", () => {
  it("every place answers 503 in its own form, and none says yes", async () => {
    const flow = await obtainCode(harness);
    harness.records.setDown(true);
    const page = await createBrowser().open(authorizationUrl(harness, flow.clientId));
    const code = await exchange(harness, flow);
    const registration = await fetch(`${harness.origin}/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri] }),
    });
    harness.records.setDown(false);
    expect([page.status, code.status, registration.status]).toEqual([503, 503, 503]);
    expect(page.text).toContain("<title>This request cannot be answered</title>");
    expect((await exchange(harness, flow)).status).toBe(200);
  });
});
