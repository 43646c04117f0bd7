import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  decodeToken,
  exchange,
  obtainCode,
  postForm,
  redirectUri,
  refresh,
  register,
  registerPublic,
  robot,
  startHarness,
} from "./harness.ts";
import type { Answer, Harness } from "./harness.ts";
import type { RecordKey } from "../../src/model/records.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

const basic = { authorization: `Basic ${Buffer.from(`${robot.clientId}:${robot.clientSecret}`).toString("base64")}` };
const support = (): string => `${harness.server.issuer}/support/mcp`;

function service(fields: Record<string, string>): Promise<Answer> {
  return postForm(harness, "/token", { grant_type: "client_credentials", ...fields }, basic);
}

describe("an authorization code", () => {
  it("exchanged twice at once succeeds exactly once, in each of ten rounds", async () => {
    for (let round = 0; round < 10; round += 1) {
      const clientId = await registerPublic(harness);
      const flow = await obtainCode(harness, {}, clientId);
      const answers = await Promise.all([exchange(harness, flow), exchange(harness, flow)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
      expect(answers.find(({ status }) => status === 400)?.body["error"]).toBe("invalid_grant");
    }
  });

  it("replayed later is refused, and what it gave is revoked", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const replay = await exchange(harness, flow);
    expect([replay.status, replay.body["error"]]).toEqual([400, "invalid_grant"]);
    const after = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    expect([after.status, after.body["error"]]).toEqual([400, "invalid_grant"]);
  });

  it.each([
    ["another verifier", { code_verifier: "x".repeat(43) }, "invalid_grant"],
    ["a short verifier", { code_verifier: "x".repeat(42) }, "invalid_request"],
    ["an empty verifier", { code_verifier: "" }, "invalid_grant"],
    ["another redirect URI", { redirect_uri: "http://127.0.0.1:4712/callback" }, "invalid_grant"],
    ["another server", { resource: "SALES" }, "invalid_target"],
    ["a server nobody knows", { resource: "https://elsewhere.test/mcp" }, "invalid_target"],
  ])("is not exchanged with %s", async (_what, changes, error) => {
    const flow = await obtainCode(harness);
    const sales = "resource" in changes && changes.resource === "SALES";
    const resource = sales ? { resource: `${harness.server.issuer}/sales/mcp` } : {};
    const answer = await exchange(harness, flow, { ...changes, ...resource });
    expect([answer.status, answer.body["error"]]).toEqual([400, error]);
  });

  it("is not exchanged by another client", async () => {
    const flow = await obtainCode(harness);
    const answer = await exchange(harness, { ...flow, clientId: await registerPublic(harness) });
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_grant"]);
  });
});

describe("the resource of a token", () => {
  it.each([
    ["named exactly", "", "/support/mcp"],
    ["named with a trailing slash", "/", "/support/mcp"],
  ])("is the server, %s", async (_how, suffix, path) => {
    const flow = await obtainCode(harness, { resource: support() + suffix });
    const { body } = await exchange(harness, flow, { resource: support() + suffix });
    expect(decodeToken(body["access_token"]).claims["aud"]).toBe(harness.server.issuer + path);
  });

  it("is the only server there is when none is named", async () => {
    const single = await startHarness({ servers: ["support"] });
    const flow = await obtainCode(single, { resource: undefined });
    const { body } = await exchange(single, flow);
    expect(decodeToken(body["access_token"]).claims["aud"]).toBe(`${single.server.issuer}/support/mcp`);
    const renewed = await refresh(single, flow.clientId, body["refresh_token"]);
    expect(decodeToken(renewed.body["access_token"]).claims["aud"]).toBe(`${single.server.issuer}/support/mcp`);
    await single.close();
  });

  it("stays the same through a refresh, with and without being named", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const second = await refresh(harness, flow.clientId, first.body["refresh_token"], { resource: `${support()}/` });
    const third = await refresh(harness, flow.clientId, second.body["refresh_token"]);
    expect([second, third].map(({ body }) => decodeToken(body["access_token"]).claims["aud"])).toEqual([
      support(),
      support(),
    ]);
    const elsewhere = await refresh(harness, flow.clientId, third.body["refresh_token"], {
      resource: `${harness.server.issuer}/sales/mcp`,
    });
    expect(elsewhere.body["error"]).toBe("invalid_target");
  });
});

describe("the scope of a token", () => {
  it.each([
    ["absent", undefined, "tickets:read"],
    ["known", "tickets:write", "tickets:write"],
    ["partly unknown", "openid tickets:write offline_access admin", "tickets:write"],
    ["wholly unknown", "openid email profile", "tickets:read"],
    ["repeated", "tickets:write tickets:write", "tickets:write"],
    ["malformed", 'tickets:write "x" é', "tickets:write"],
  ])("is %s", async (_what, scope, granted) => {
    const flow = await obtainCode(harness, { scope });
    const { body } = await exchange(harness, flow);
    expect(body["scope"]).toBe(granted);
    expect(decodeToken(body["access_token"]).claims["scope"]).toBe(granted);
  });

  it("can be narrowed by a refresh that also names offline_access, and not widened", async () => {
    const flow = await obtainCode(harness, { scope: "tickets:read tickets:write", prompt: "consent" });
    const first = await exchange(harness, flow);
    const narrow = await refresh(harness, flow.clientId, first.body["refresh_token"], {
      scope: "tickets:read offline_access",
    });
    expect(narrow.body["scope"]).toBe("tickets:read");
    const small = await exchange(harness, await obtainCode(harness, { scope: "tickets:read" }, flow.clientId));
    const wide = await refresh(harness, flow.clientId, small.body["refresh_token"], { scope: "tickets:write" });
    expect(wide.body["error"]).toBe("invalid_scope");
  });

  it("is at most what a registered application is confined to", async () => {
    const clientId = "app";
    const grantTypes = ["authorization_code"] as const;
    const app = { clientId, clientSecret: "app-secret-0123456789", grantTypes, scopes: ["tickets:read"] };
    const confined = await startHarness({ clients: [{ ...app, redirectUris: [redirectUri] }] });
    const flow = await obtainCode(confined, { scope: "tickets:read tickets:write" }, clientId);
    const { body } = await exchange(confined, flow, { client_secret: app.clientSecret });
    expect([body["scope"], body["refresh_token"]]).toEqual(["tickets:read", undefined]);
    await confined.close();
  });

  it("is a fallback at a server that asks for none", async () => {
    const publicUrl = "http://localhost:1";
    const resource = `${publicUrl}/support/mcp`;
    const plain = await startHarness({ publicUrl, resources: [{ uri: resource, scopes: [], minimalScopes: [] }] });
    const { status, body } = await postForm(plain, "/token", { grant_type: "client_credentials", resource }, basic);
    expect([status, body["scope"]]).toEqual([200, "mcp"]);
    await plain.close();
  });
});

describe("client credentials", () => {
  it("give a service a token for one server, without groups and without a refresh token", async () => {
    const { status, body } = await service({ resource: support() });
    expect(status).toBe(200);
    expect(body["refresh_token"]).toBeUndefined();
    const { claims } = decodeToken(body["access_token"]);
    expect(claims).toMatchObject({ sub: "robot", client_id: "robot", aud: support(), scope: "tickets:read" });
    expect(claims["groups"]).toBeUndefined();
  });

  it("give no scope that the client is not confined to", async () => {
    const { body } = await service({ resource: support(), scope: "tickets:read tickets:write" });
    expect(body["scope"]).toBe("tickets:read");
    expect((await service({ resource: support(), scope: "tickets:write" })).body["scope"]).toBe("tickets:read");
  });

  it("work with the secret in the body too", async () => {
    const fields = { client_id: robot.clientId, client_secret: robot.clientSecret, resource: support() };
    const { status } = await postForm(harness, "/token", { grant_type: "client_credentials", ...fields });
    expect(status).toBe(200);
  });

  it.each([
    ["no resource among several servers", {}, 400, "invalid_target"],
    ["an unknown resource", { resource: "https://elsewhere.test/mcp" }, 400, "invalid_target"],
    ["the bare origin", { resource: "ORIGIN" }, 400, "invalid_target"],
  ])("are refused with %s", async (_what, fields, status, error) => {
    const chosen = "resource" in fields && fields.resource === "ORIGIN" ? { resource: harness.server.issuer } : fields;
    const answer = await service(chosen);
    expect([answer.status, answer.body["error"]]).toEqual([status, error]);
  });

  it("are refused with a wrong secret and to a public client", async () => {
    const fields = { client_id: robot.clientId, client_secret: "wrong", resource: support() };
    const wrong = await postForm(harness, "/token", { grant_type: "client_credentials", ...fields });
    expect([wrong.status, wrong.body["error"]]).toEqual([401, "invalid_client"]);
    const clientId = await registerPublic(harness);
    const self = { grant_type: "client_credentials", client_id: clientId, resource: support() };
    expect((await postForm(harness, "/token", self)).status).toBe(400);
  });
});

describe("a refresh token", () => {
  it("is rotated, and ends when the sign-in would have ended", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const second = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    expect(second.status).toBe(200);
    expect(second.body["refresh_token"]).not.toBe(first.body["refresh_token"]);
    expect(decodeToken(second.body["access_token"]).claims).toMatchObject({ sub: "u-ada", groups: ["support"] });
  });

  it("used twice at once serves both, so that no client loses its sign-in to a race", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const use = (): Promise<Answer> => refresh(harness, flow.clientId, first.body["refresh_token"]);
    const answers = await Promise.all([use(), use()]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of answers) {
      expect((await refresh(harness, flow.clientId, body["refresh_token"])).status).toBe(200);
    }
  });

  it("still works 10 s after its first use, and not a moment longer", async () => {
    for (const [waitMs, expected] of [
      [9_000, 200],
      [10_001, 400],
    ] as const) {
      const flow = await obtainCode(harness);
      const first = await exchange(harness, flow);
      await refresh(harness, flow.clientId, first.body["refresh_token"]);
      harness.advance(waitMs);
      expect((await refresh(harness, flow.clientId, first.body["refresh_token"])).status).toBe(expected);
    }
  });

  it("replayed after the grace window ends the whole family, and no other sign-in of the client", async () => {
    const flow = await obtainCode(harness);
    const other = await exchange(harness, await obtainCode(harness, {}, flow.clientId));
    const first = await exchange(harness, flow);
    const second = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    harness.advance(60_000);
    const replay = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    expect([replay.status, replay.body["error"]]).toEqual([400, "invalid_grant"]);
    const successor = await refresh(harness, flow.clientId, second.body["refresh_token"]);
    expect([successor.status, successor.body["error"]]).toEqual([400, "invalid_grant"]);
    expect((await refresh(harness, flow.clientId, other.body["refresh_token"])).status).toBe(200);
  });

  it("outlives the browser's session", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const sessions = harness.records.keysOf("oauth").filter((key) => key.includes('"Session"'));
    expect(sessions.length).toBeGreaterThan(0);
    for (const key of sessions) await harness.records.delete(JSON.parse(key) as RecordKey);
    expect((await refresh(harness, flow.clientId, first.body["refresh_token"])).status).toBe(200);
  });

  it("is refused to another client", async () => {
    const first = await exchange(harness, await obtainCode(harness));
    const answer = await refresh(harness, await registerPublic(harness), first.body["refresh_token"]);
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_grant"]);
  });

  it("is revoked on request (RFC 7009)", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    const token = String(first.body["refresh_token"]);
    expect((await postForm(harness, "/oauth/revoke", { client_id: flow.clientId, token })).status).toBe(200);
    expect((await refresh(harness, flow.clientId, token)).body["error"]).toBe("invalid_grant");
  });
});

describe("a confidential client that registered itself", () => {
  it.each(["client_secret_basic", "client_secret_post", undefined])("signs in with %s", async (method) => {
    const body = { redirect_uris: ["http://127.0.0.1:4711/callback"], token_endpoint_auth_method: method };
    const registered = await register(harness, body);
    expect(registered.body["client_secret_expires_at"]).toBe(0);
    const secret = String(registered.body["client_secret"]);
    const flow = await obtainCode(harness, {}, String(registered.body["client_id"]));
    const wrong = await exchange(harness, flow, { client_secret: `${secret}x` });
    expect([wrong.status, wrong.body["error"]]).toEqual([401, "invalid_client"]);
    expect((await exchange(harness, flow)).status).toBe(401);
    expect((await exchange(harness, flow, { client_secret: secret })).status).toBe(200);
    expect(harness.records.dump()).not.toContain(secret);
  });
});

describe("the token endpoint", () => {
  it("answers a client whose registration is lost with invalid_client, so that it registers again", async () => {
    const flow = await obtainCode(harness);
    const first = await exchange(harness, flow);
    harness.records.clear();
    const answer = await refresh(harness, flow.clientId, first.body["refresh_token"]);
    expect([answer.status, answer.body["error"]]).toEqual([401, "invalid_client"]);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  });

  it.each([
    ["no grant type", { client_id: "robot" }, "invalid_request"],
    ["an unknown grant type", { grant_type: "password", client_id: "robot" }, "unsupported_grant_type"],
  ])("answers %s in JSON", async (_what, fields, error) => {
    const answer = await postForm(harness, "/token", fields, { ...basic, accept: "text/html" });
    expect([answer.status, answer.body["error"]]).toEqual([400, error]);
  });

  it("answers JSON bodies, oversized bodies and an absent store in JSON", async () => {
    const post = async (body: string, type: string): Promise<Answer> => {
      const response = await fetch(`${harness.origin}/token`, {
        method: "POST",
        headers: { "content-type": type },
        body,
      });
      return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
    };
    expect((await post("{}", "application/json")).status).toBe(400);
    const large = await post("x".repeat(40_000), "application/x-www-form-urlencoded");
    expect([large.status, large.body["error"]]).toEqual([413, "invalid_request"]);
    harness.records.setDown(true);
    const down = await refresh(harness, "somebody", "something");
    harness.records.setDown(false);
    expect([down.status, down.body["error"], down.headers.get("retry-after")]).toEqual([
      503,
      "temporarily_unavailable",
      "1",
    ]);
    expect(harness.events.at(-1)).toEqual({
      event: "authserver.fault",
      facts: { path: "/token", fault: "StoreUnavailable" },
    });
  });
});
