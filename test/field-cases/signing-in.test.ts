import { createHmac, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactEncrypt, SignJWT } from "jose";
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { denyDigest } from "../../src/auth/deny-list.ts";
import { startGatewayUnderTest, startIssuer, trusted } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { send } from "../journey/http-client.ts";
import type { Received } from "../journey/http-client.ts";
import { legacyCall, modernHeaders, modernMeta, openSession, refusalIn } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

const tools = ["read", "write"].map((name) => ({ name, inputSchema: { type: "object" } }));
const metadata = "/.well-known/oauth-protected-resource";

let redis: RedisUnderTest;
let upstream: ScriptedUpstream;
let issuer: IssuerUnderTest;
/** Two servers under its own address. */
let gateway: GatewayUnderTest;
/** One server, known to its clients by another address than the one it listens on. */
let behind: GatewayUnderTest;
/** Where forged tokens say that their keys are. */
let attacker: { readonly url: string; readonly asked: string[]; readonly server: Server };

const rules = ["read", "write"].map((name) => ({
  id: name,
  effect: "allow",
  who: { scopes: { all: [name] } },
  what: { upstream: "up", tool: name },
}));

beforeAll(async () => {
  [redis, upstream, issuer] = await Promise.all([
    startRedis(),
    startScriptedUpstream({ era: "both", tools }),
    startIssuer(),
  ]);
  const common = { upstreams: { up: upstream.url }, rules };
  gateway = await startGatewayUnderTest({
    ...common,
    issuer,
    servers: { a: { up: "" }, b: { up: "" } },
    redisUrl: redis.url,
  });
  behind = await startGatewayUnderTest({
    ...common,
    servers: { a: { up: "" } },
    config: {
      publicUrl: "https://gw.test",
      auth: { issuers: [trusted(issuer)] },
      allowedHosts: ["gw.test", "10.0.0.5:8080"],
    },
  });
  attacker = await listen();
});

afterAll(async () => {
  await Promise.all([gateway.remove(), behind.remove()]);
  attacker.server.closeAllConnections();
  attacker.server.close();
  await Promise.all([issuer.close(), upstream.close(), redis.stop()]);
});

async function listen(): Promise<typeof attacker> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, server };
}

const seconds = (): number => Math.floor(Date.now() / 1_000);

function mint(claims: JWTPayload = {}, header: Record<string, unknown> = {}): Promise<string> {
  return issuer.mint(gateway.resource("a"), { scope: "read write", ...claims }, header);
}

/** A list with these `Authorization` headers. */
function list(...authorization: readonly string[]): Promise<Received> {
  const headers = {
    ...modernHeaders({}, "tools/list"),
    authorization: authorization.length === 0 ? undefined : authorization,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: modernMeta } });
  return send({ port: gateway.port, path: "/a/mcp", headers, body });
}

describe("where a server's metadata is", () => {
  const credentials = [undefined, "Bearer no-such-token", "Basic YTpi", "Bearer "];
  const get = (path: string, authorization: string | undefined, port = gateway.port): Promise<Received> =>
    send({ port, path, method: "GET", headers: { authorization } });

  it.each(credentials)("everybody may read it, with the credential %j as well", async (credential) => {
    for (const server of ["a", "b"]) {
      const answer = await get(`${metadata}/${server}/mcp`, credential);
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
      expect(answer.json["resource"]).toBe(gateway.resource(server));
    }
  });

  const elsewhere = [metadata, `${metadata}/`, `${metadata}/c/mcp`, `${metadata}/a`, `/a/mcp${metadata}`];
  it.each(elsewhere)("is not %s: 404 in JSON and nobody's metadata, with one server and with two", async (path) => {
    for (const { port } of [gateway, behind]) {
      for (const credential of credentials) {
        const host = port === behind.port ? "gw.test" : undefined;
        const answer = await send({ port, path, method: "GET", headers: { authorization: credential, host } });
        expect([answer.status, answer.headers["content-type"]]).toEqual([404, "application/json"]);
        expect([answer.json["resource"], answer.headers["www-authenticate"]]).toEqual([undefined, undefined]);
      }
    }
  });
});

describe("a gateway behind a front that ends TLS", () => {
  const told = ({ headers, text }: Received): string => JSON.stringify(headers) + text;

  it.each([
    ["the address that it listens on", { host: "10.0.0.5:8080" }],
    [
      "a forwarded host, scheme and port",
      { host: "gw.test", "x-forwarded-host": "evil.test", "x-forwarded-proto": "http", "x-forwarded-port": "81" },
    ],
    ["the standard's header", { host: "gw.test", forwarded: "for=1.2.3.4;host=evil.test;proto=http" }],
    [
      "an absolute rewriting of the path",
      { host: "gw.test", "x-original-url": "http://evil.test/x", "x-rewrite-url": "/evil.test" },
    ],
  ])("tells its public address whatever is said with %s", async (_what, headers) => {
    const challenged = await send({ port: behind.port, path: "/a/mcp", headers });
    expect(challenged.headers["www-authenticate"]).toBe(`Bearer resource_metadata="https://gw.test${metadata}/a/mcp"`);
    const document = await send({ port: behind.port, path: `${metadata}/a/mcp`, method: "GET", headers });
    expect(document.json["resource"]).toBe("https://gw.test/a/mcp");
    for (const answer of [challenged, document]) expect(told(answer)).not.toMatch(/evil|10\.0\.0\.5|http:\/\/gw/);
  });

  it("says nothing of a host that it is not asked by", async () => {
    const answer = await send({ port: behind.port, path: "/a/mcp", headers: { host: "evil.test" } });
    expect([answer.status, refusalIn(answer).code]).toEqual([403, "HOST_NOT_ALLOWED"]);
    expect(told(answer)).not.toContain("evil");
  });
});

describe("a credential that does not do", () => {
  type Credential = () => Promise<readonly string[]>;
  const bearer = (token: () => Promise<string>) => async () => [`Bearer ${await token()}`];
  const rows: readonly (readonly [what: string, error: boolean, credential: Credential])[] = [
    ["none", false, () => Promise.resolve([])],
    ["another scheme", false, () => Promise.resolve(["Basic YTpi"])],
    ["garbage", true, () => Promise.resolve(["Bearer abc.def"])],
    ["expired", true, bearer(() => mint({ exp: seconds() - 60 }))],
    ["another issuer's", true, bearer(() => mint({ iss: "https://evil.test" }))],
    ["for another audience", true, bearer(() => mint({ aud: "https://evil.test/mcp" }))],
    ["revoked", true, bearer(revoked)],
    ["unsigned", true, bearer(unsigned)],
    ["empty", false, () => Promise.resolve(["Bearer "])],
    ["two at once", true, async () => [`Bearer ${await mint()}`, `Bearer ${await mint()}`]],
  ];

  async function revoked(): Promise<string> {
    const token = await mint({ jti: "revoked" });
    await redis.command(`SET sallyport:default:denied-token:${denyDigest(token)} 1 EX 60`);
    return token;
  }

  it.each(rows)("%s: 401, with the one challenge, and its metadata is there", async (_what, error, credential) => {
    const answer = await list(...(await credential()));
    const challenge = String(answer.headers["www-authenticate"]);
    const at = `${gateway.publicUrl}${metadata}/a/mcp`;
    expect([answer.status, /resource_metadata="([^"]*)"/.exec(challenge)?.[1]]).toEqual([401, at]);
    expect([challenge.includes("error="), challenge.includes('error="invalid_token"')]).toEqual([error, error]);
    expect((await fetch(at)).status).toBe(200);
  });
});

describe("a token that is no signed JWT of its issuer", () => {
  const segment = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const jwe = async (): Promise<string> =>
    new CompactEncrypt(Buffer.from("{}"))
      .setProtectedHeader({ alg: "RSA-OAEP-256", enc: "A256GCM" })
      .encrypt(generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey);
  const hs256 = async (): Promise<string> => {
    const [, body] = (await mint()).split(".");
    const input = `${segment({ alg: "HS256", kid: issuer.key.kid, typ: "at+jwt" })}.${body}`;
    return `${input}.${createHmac("sha256", JSON.stringify(issuer.key.jwk)).update(input).digest("base64url")}`;
  };
  const forged = async (header: Record<string, unknown>): Promise<string> => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    return new SignJWT({ iss: issuer.origin, sub: "root", aud: gateway.resource("a"), exp: seconds() + 60 })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", ...header })
      .sign(privateKey);
  };

  it.each<[string, () => string | Promise<string>]>([
    ["one word", () => "abc"],
    ["two segments", () => "a.b"],
    ["five segments", () => "a.b.c.d.e"],
    ["encrypted", jwe],
    ["with a header that is no JSON", () => "aGVsbG8.e30.c2ln"],
    ["of 12 kB", () => "a".repeat(12_000)],
    ["unsigned", unsigned],
    ["signed with the public key as a secret", hs256],
    ["with a critical header that nobody knows", () => mint({}, { crit: ["b64"], b64: true })],
    ["with keys at an attacker's", () => forged({ jku: `${attacker.url}/jwks`, kid: "k" })],
    ["with a certificate at an attacker's", () => forged({ x5u: `${attacker.url}/x5u`, kid: issuer.key.kid })],
    [
      "with its own key",
      () => forged({ jwk: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }) }),
    ],
    ["with a path as its key's name", () => forged({ kid: "../../../../etc/passwd" })],
    ["with a URL as its key's name", () => forged({ kid: `${attacker.url}/kid` })],
  ])("%s: 401 with a challenge, and nobody is asked on its word", async (_what, token) => {
    const answer = await list(`Bearer ${await token()}`);
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(attacker.asked).toEqual([]);
  });
});

describe("the spellings of a server's address", () => {
  it.each([
    ["", 200],
    ["/", 200],
    ["//", 401],
    ["2", 401],
    ["/x", 401],
    ["?a=b", 401],
    ["#a", 401],
  ])("an audience with %j behind it is answered with %i", async (more, status) => {
    expect((await list(`Bearer ${await mint({ aud: gateway.resource("a") + more })}`)).status).toBe(status);
  });

  it("an audience in capitals is another", async () => {
    const aud = gateway.resource("a").replace("/a/mcp", "/a/MCP");
    expect((await list(`Bearer ${await mint({ aud })}`)).status).toBe(401);
  });

  it.each(["/a/mcp/", "//a/mcp", "/A/mcp", "/a/MCP", "/a/mcp/x"])(
    "a request to %s is not redirected, which would cost it its credential, but told that nothing is there",
    async (path) => {
      const headers = { ...modernHeaders({ token: await mint() }, "tools/list") };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: modernMeta } });
      const answer = await send({ port: gateway.port, path, headers, body });
      expect([answer.status, answer.headers.location]).toEqual([404, undefined]);
    },
  );
});

describe("a session whose client has a new token", () => {
  const call = async (token: string, session: string, name = "write"): Promise<Received> =>
    legacyCall({ gateway, server: "a", token, session }, "tools/call", { name, arguments: {} });

  /** An answer without what differs between any two. */
  const told = ({ status, text }: Received, name = ""): unknown => [
    status,
    text.replace(/[A-Z0-9]{10}/g, "REF").replaceAll(new RegExp(`\\b${name}\\b`, "g"), "NAME"),
  ];

  it("goes on, and permits what the new token permits", async () => {
    const { session } = await openSession({ gateway, server: "a", token: await mint() });
    const renewed = await call(await mint({ jti: "second" }), session);
    expect([renewed.status, refusalIn(renewed).code]).toEqual([200, ""]);
    const fewer = await mint({ jti: "third", scope: "read" });
    expect(refusalIn(await call(fewer, session, "read")).code).toBe("");
    const before = upstream.ledger.length;
    const refused = await call(fewer, session);
    expect(told(refused, "write")).toEqual(told(await call(fewer, session, "nothing"), "nothing"));
    expect(upstream.ledger).toHaveLength(before);
  });

  it("is not there for anybody else, whose answer is that for a session that never was", async () => {
    const { session } = await openSession({ gateway, server: "a", token: await mint() });
    const bob = await mint({ sub: "bob" });
    const theirs = await call(bob, session);
    const none = await call(bob, "00000000-0000-4000-8000-000000000000");
    expect([theirs.status, told(theirs)]).toEqual([404, told(none)]);
  });
});

async function unsigned(): Promise<string> {
  const [, body] = (await mint()).split(".");
  return `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url")}.${body}.`;
}
