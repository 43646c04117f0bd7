import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { legacyCall, openSession } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { Login } from "../../deploy/quickstart/person.ts";
import * as scripted from "./scripted-clients.ts";

const login: Login = { username: "alice", password: "alice-discovers" };
const page = "http://inspector.test:6274";

let upstream: ScriptedUpstream;
let issuer: IssuerUnderTest;
/** With its own authorization server and two virtual servers. */
let several: GatewayUnderTest;
/** With its own authorization server and one virtual server. */
let single: GatewayUnderTest;
/** With somebody else's authorization server. */
let external: GatewayUnderTest;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  issuer = await startIssuer();
  const upstreams = { one: upstream.url };
  const env = { ALICE: login.password };
  const builtIn = { users: [{ username: login.username, password: "${env:ALICE}" }] };
  const configOf = (names: readonly string[]): Record<string, unknown> => ({
    auth: { builtIn },
    allowedOrigins: [page],
    servers: Object.fromEntries(
      names.map((name) => [name, { scopes: { minimal: ["mcp:use"] }, upstreams: { one: {} } }]),
    ),
  });
  several = await startGatewayUnderTest({ upstreams, servers: {}, env, config: configOf(["left", "right"]) });
  single = await startGatewayUnderTest({ upstreams, servers: {}, env, config: configOf(["left"]) });
  external = await startGatewayUnderTest({ upstreams, servers: { left: { one: "" } }, issuer });
});

afterAll(async () => {
  await Promise.all([several.remove(), single.remove(), external.remove()]);
  await Promise.all([upstream.close(), issuer.close()]);
});

const metadata = "/.well-known/oauth-protected-resource";
const issuerMetadata = "/.well-known/oauth-authorization-server";

const clients: readonly { name: string; discover: scripted.Discover; trail: readonly string[] }[] = [
  {
    name: "that follows the challenge",
    discover: scripted.challengeFirst,
    trail: ["POST /left/mcp 401", `GET ${metadata}/left/mcp 200`, `GET ${issuerMetadata} 200`],
  },
  {
    name: "that starts at the path-inserted well-known",
    discover: scripted.pathInsertedFirst,
    trail: [`GET ${metadata}/left/mcp 200`, `GET ${issuerMetadata} 200`],
  },
  {
    name: "that starts at the root well-known",
    discover: scripted.rootFirst,
    trail: [`GET ${metadata} 404`, `GET ${metadata}/left/mcp 200`, `GET ${issuerMetadata} 200`],
  },
  {
    name: "that probes with HEAD",
    discover: scripted.headProbe,
    trail: ["HEAD /left/mcp 401", `GET ${metadata}/left/mcp 200`, `GET ${issuerMetadata} 200`],
  },
  {
    name: "that probes with GET",
    discover: scripted.getProbe,
    trail: ["GET /left/mcp 401", `GET ${metadata}/left/mcp 200`, `GET ${issuerMetadata} 200`],
  },
  {
    name: "that compares strings",
    discover: scripted.strictReader,
    trail: ["POST /left/mcp 401", `GET ${metadata}/left/mcp 200`, `GET ${issuerMetadata} 200`],
  },
  {
    name: "that looks for mirrors of the issuer's metadata",
    discover: scripted.pathMirrors,
    trail: ["oauth-authorization-server", "openid-configuration"].flatMap((name) => [
      `GET /.well-known/${name}/left/mcp 200`,
      `GET /left/mcp/.well-known/${name} 200`,
      `GET /.well-known/${name} 200`,
    ]),
  },
  {
    name: "in a page of an allowed origin",
    discover: scripted.pageAt(page),
    trail: [
      "OPTIONS /left/mcp 204",
      "POST /left/mcp 401",
      `GET ${metadata}/left/mcp 200`,
      `GET ${issuerMetadata} 200`,
      "OPTIONS /register 204",
      "OPTIONS /token 204",
    ],
  },
];

describe.each(clients)("a client $name", ({ discover, trail }) => {
  it("ends at the gateway's issuer and the server's resource, and gets in", async () => {
    const found = await discover(several.resource("left"));
    expect(found).toMatchObject({ issuer: several.publicUrl, resource: several.resource("left") });
    expect(found.trail).toEqual(trail);
    const answer = await scripted.signInWith(found, login);
    expect(answer).toMatchObject({ token_type: "Bearer", scope: "mcp:use" });
    await expectEntry(several, "left", answer["access_token"]);
  });

  it("gets a token for that server and no other", async () => {
    const { access_token: token } = await scripted.signInWith(await discover(several.resource("left")), login);
    const refused = await tryEntry(several, "right", token);
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(refused.headers["www-authenticate"]).toContain(`${metadata}/right/mcp"`);
  });
});

describe("a client that knows no resource metadata", () => {
  it("gets in where there is one server, which is the one it must mean", async () => {
    const found = await scripted.originAsIssuer(single.resource("left"));
    expect(found.issuer).toBe(single.publicUrl);
    await expectEntry(single, "left", (await scripted.signInWith(found, login))["access_token"]);
  });

  it("is told invalid_target where there are several", async () => {
    const found = await scripted.originAsIssuer(several.resource("left"));
    expect(await scripted.signInWith(found, login)).toMatchObject({ error: "invalid_target" });
  });
});

describe("a client of a gateway with an external issuer", () => {
  it("is sent there by the server's metadata", async () => {
    const answer = await fetch(`${external.publicUrl}${metadata}/left/mcp`);
    expect(await answer.json()).toMatchObject({
      resource: external.resource("left"),
      authorization_servers: [issuer.origin],
    });
  });

  it.each([
    issuerMetadata,
    `${issuerMetadata}/left/mcp`,
    `/left/mcp${issuerMetadata}`,
    "/.well-known/openid-configuration",
    "/authorize",
    "/token",
    "/register",
  ])("finds nothing at the gateway's own %s", async (path) => {
    const answer = await fetch(external.publicUrl + path);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/json"]);
  });
});

describe("a page of an origin that is not allowed", () => {
  const foreign = "https://elsewhere.test";

  it("is refused before it can send anything", async () => {
    await expect(scripted.pageAt(foreign)(several.resource("left"))).rejects.toThrow("the preflight is refused: 403");
  });

  it("is refused when it sends without a preflight, and cannot read why", async () => {
    const answer = await fetch(several.resource("left"), { method: "POST", headers: { origin: foreign }, body: "{}" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  });
});

describe("a stranger", () => {
  it.each([
    ["POST", { accept: "*/*" }, "{}"],
    ["POST", {}, undefined],
    ["POST", { "content-type": "text/plain", accept: "text/html" }, "not json"],
    ["POST", { authorization: "Basic YTpi" }, "{}"],
    ["GET", { accept: "text/html" }, undefined],
    ["HEAD", {}, undefined],
    ["DELETE", {}, undefined],
    ["PUT", {}, "{}"],
    ["PATCH", {}, "{}"],
  ] as const)("is challenged, whatever else is wrong with %s %j", async (method, headers, body) => {
    const init = { method, headers, redirect: "manual", ...(body === undefined ? {} : { body }) } as const;
    const answer = await fetch(several.resource("left"), init);
    expect(answer.status).toBe(401);
    const challenge = `Bearer scope="mcp:use", resource_metadata="${several.publicUrl}${metadata}/left/mcp"`;
    expect(answer.headers.get("www-authenticate")).toBe(challenge);
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  it.each([
    "/left/mcp/",
    "/LEFT/mcp",
    "/left",
    "/nowhere/mcp",
    `${metadata}/nowhere/mcp`,
    `${metadata}/left`,
    "/left/sse",
  ])("finds nothing at %s and is never redirected", async (path) => {
    const answer = await fetch(several.publicUrl + path, { redirect: "manual" });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/json"]);
    expect(answer.headers.get("www-authenticate")).toBeNull();
  });
});

async function expectEntry(gateway: GatewayUnderTest, server: string, token: unknown): Promise<void> {
  const session = await openSession({ gateway, server, token: String(token) });
  const { json } = await legacyCall(session, "tools/list");
  expect(json).toMatchObject({ result: { tools: expect.any(Array) as unknown } });
}

function tryEntry(gateway: GatewayUnderTest, server: string, token: unknown): ReturnType<typeof legacyCall> {
  return legacyCall({ gateway, server, token: String(token) }, "ping");
}
