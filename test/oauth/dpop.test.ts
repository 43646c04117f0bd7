import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { proofMaker } from "../auth/proof-maker.ts";
import type { ProofMaker } from "../auth/proof-maker.ts";
import { startGatewayUnderTest, startIssuer, trusted, until } from "../journey/gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { send } from "../journey/http-client.ts";
import type { Received } from "../journey/http-client.ts";
import { openStream } from "../journey/stream-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, post, refusalIn } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
/** Its tokens are taken with a proof alone. */
let strict: IssuerUnderTest;
let upstream: ScriptedUpstream;
/** Two instances of one deployment, whose public URL is neither's own. */
let instances: readonly [GatewayUnderTest, GatewayUnderTest];
let client: ProofMaker;
let token: string;

const page = "https://app.example.com";

beforeAll(async () => {
  redis = await startRedis();
  [issuer, strict, client] = await Promise.all([startIssuer(), startIssuer(), proofMaker()]);
  upstream = await startScriptedUpstream();
  upstream.script(({ path, method }, wire) => {
    if (path === "/mcp" && method === "POST") return false;
    wire.respond(200, "application/pdf", "%PDF-1.7 figures");
    return true;
  });
  const files = { routes: ["/reports/*"], types: ["application/pdf"] };
  const options = {
    issuer,
    upstreams: { alpha: { url: upstream.url, files } },
    servers: { alpha: { alpha: "" } },
    redisUrl: redis.url,
    publicPort: await freePort(),
    config: {
      auth: { issuers: [trusted(issuer), { ...trusted(strict), alias: "strict", dpop: "require" }] },
      servers: {
        alpha: { upstreams: { alpha: { prefix: "" } }, issuer: "corp" },
        beta: { upstreams: { alpha: { prefix: "" } }, issuer: "strict" },
      },
      allowedOrigins: [page],
      limits: { streamCommentMs: 250 },
    },
  };
  instances = [await startGatewayUnderTest(options), await startGatewayUnderTest(options)];
  token = await issuer.mint(uri(), { cnf: { jkt: client.thumbprint } });
});

afterAll(async () => {
  for (const one of instances) await one.remove();
  await upstream.close();
  await Promise.all([issuer.close(), strict.close(), redis.stop()]);
});

function uri(server = "alpha"): string {
  return instances[0].resource(server);
}

/** A modern `tools/list` with a proof. */
function list(proof: string | undefined, at = instances[0], more: Record<string, string> = {}): Promise<Received> {
  const headers = { ...modernHeaders({}, "tools/list"), authorization: `DPoP ${token}`, dpop: proof, ...more };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: modernMeta } };
  return post({ gateway: at, server: "alpha" }, headers, body);
}

async function nonceOf(at = instances[0]): Promise<string> {
  return String((await list(undefined, at)).headers["dpop-nonce"]);
}

function challengeIn({ headers }: Received): string {
  return String(headers["www-authenticate"]);
}

describe("a client that proves possession of its key", () => {
  it("is told the nonce with its first refusal, and from then on with every answer", async () => {
    const first = await list(await client.prove({ token, uri: uri() }));
    expect(first.status).toBe(401);
    expect(refusalIn(first).code).toBe("AUTH_DPOP_NONCE_NEEDED");
    expect(challengeIn(first)).toMatch(
      /^DPoP algs="ES256 [A-Za-z0-9 ]+", error="use_dpop_nonce", error_description="[^"]+", resource_metadata="[^"]+"$/,
    );
    const nonce = String(first.headers["dpop-nonce"]);
    const second = await list(await client.prove({ token, uri: uri(), nonce }));
    expect([second.status, second.headers["dpop-nonce"]]).toEqual([200, nonce]);
  });

  it("uses a proof once, at whichever instance, and its nonce at each", async () => {
    const proof = await client.prove({ token, uri: uri(), nonce: await nonceOf() });
    expect((await list(proof, instances[1])).status).toBe(200);
    for (const one of instances) expect(refusalIn(await list(proof, one)).code).toBe("AUTH_DPOP_PROOF_REPLAYED");
  });

  it("proves it for the public URL, whatever host it asks", async () => {
    const nonce = await nonceOf();
    const own = `http://${instances[0].host}/alpha/mcp`;
    const forOwn = await list(await client.prove({ token, uri: own, nonce }));
    expect(refusalIn(forOwn).code).toBe("AUTH_DPOP_PROOF_INVALID");
    const host = new URL(uri()).host;
    const proof = await client.prove({ token, uri: own, nonce });
    expect(refusalIn(await list(proof, instances[0], { host })).code).toBe("AUTH_DPOP_PROOF_INVALID");
    expect((await list(await client.prove({ token, uri: uri(), nonce }), instances[0], { host })).status).toBe(200);
  });

  it("sends one proof: a second header is seen, though both would do", async () => {
    const nonce = await nonceOf();
    const dpop = [await client.prove({ token, uri: uri(), nonce }), await client.prove({ token, uri: uri(), nonce })];
    const headers = { ...modernHeaders({}, "tools/list"), authorization: `DPoP ${token}`, dpop };
    expect(refusalIn(await post({ gateway: instances[0], server: "alpha" }, headers, {})).code).toBe(
      "AUTH_DPOP_PROOF_INVALID",
    );
  });

  it("gets its file, with a proof for the file's own URL and method alone", async () => {
    const path = "/files/alpha/alpha/reports/7.pdf";
    const nonce = await nonceOf();
    const get = (dpop: string): Promise<Received> =>
      send({
        port: instances[0].port,
        path: `${path}?page=1`,
        method: "GET",
        headers: { authorization: `DPoP ${token}`, dpop },
      });
    const file = new URL(path, uri()).href;
    const good = await get(await client.prove({ token, uri: file, method: "GET", nonce }));
    expect([good.status, good.text, good.headers["dpop-nonce"]]).toEqual([200, "%PDF-1.7 figures", nonce]);
    for (const proof of [{ uri: uri(), method: "GET" }, { uri: file }]) {
      const refused = await get(await client.prove({ token, nonce, ...proof }));
      expect([refused.status, refusalIn(refused).code]).toEqual([401, "AUTH_DPOP_PROOF_INVALID"]);
      expect(challengeIn(refused)).toMatch(/^DPoP algs=/);
    }
  });

  it("keeps its stream, which is looked at again without a new proof", async () => {
    const nonce = await nonceOf();
    const dpop = (): Promise<string> => client.prove({ token, uri: uri(), nonce });
    const headers = { ...legacyHeaders({}), authorization: `DPoP ${token}` };
    const caller = { gateway: instances[0], server: "alpha" };
    const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const opened = await post(
      caller,
      { ...headers, dpop: await dpop() },
      { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
    );
    const session = String(opened.headers["mcp-session-id"]);
    const listening = { ...headers, accept: "text/event-stream", "content-type": undefined, "mcp-session-id": session };
    const refused = await openStream({ port: instances[0].port, path: "/alpha/mcp", headers: listening });
    expect(refused.status).toBe(401);
    const proof = await client.prove({ token, uri: uri(), method: "GET", nonce });
    const stream = await openStream({
      port: instances[0].port,
      path: "/alpha/mcp",
      headers: { ...listening, dpop: proof },
    });
    expect([stream.status, stream.headers["dpop-nonce"]]).toEqual([200, nonce]);
    await until(() => stream.comments > 2);
    expect(stream.ended).toBe(false);
    stream.close();
  });
});

describe("a client that proves nothing", () => {
  it("is answered by the challenge of its own scheme, and no nonce", async () => {
    const stolen = await list(undefined, instances[0], { authorization: `Bearer ${token}` });
    expect([stolen.status, refusalIn(stolen).code]).toEqual([401, "AUTH_DPOP_SCHEME_NEEDED"]);
    expect(challengeIn(stolen)).toMatch(/^Bearer error="invalid_token"/);
    expect(stolen.headers["dpop-nonce"]).toBeUndefined();
  });

  it("is not let in where the issuer's tokens need a proof", async () => {
    const plain = await strict.mint(uri());
    const answer = await list(undefined, instances[0], { authorization: `Bearer ${plain}` });
    expect(refusalIn(answer).code).toBe("AUTH_DPOP_REQUIRED");
  });
});

describe("what is published", () => {
  it("metadata says what the server's issuer wants", async () => {
    const about = async (server: string): Promise<Record<string, unknown>> => {
      const path = `/.well-known/oauth-protected-resource/${server}/mcp`;
      return (await send({ port: instances[0].port, path, method: "GET" })).json;
    };
    const alpha = await about("alpha");
    expect(alpha["dpop_signing_alg_values_supported"]).toContain("ES256");
    expect(alpha).not.toHaveProperty("dpop_bound_access_tokens_required");
    expect(alpha).not.toHaveProperty("tls_client_certificate_bound_access_tokens");
    expect(await about("beta")).toHaveProperty("dpop_bound_access_tokens_required", true);
  });

  it("pages may send proofs and read nonces", async () => {
    const preflight = await send({
      port: instances[0].port,
      path: "/alpha/mcp",
      method: "OPTIONS",
      headers: { origin: page, "access-control-request-method": "POST", "access-control-request-headers": "dpop" },
    });
    expect(preflight.headers["access-control-allow-headers"]).toMatch(/(^|, )DPoP(,|$)/);
    const refused = await list(undefined, instances[0], { origin: page });
    expect(refused.headers["access-control-expose-headers"]).toMatch(/(^|, )DPoP-Nonce(,|$)/);
    expect(refused.headers["dpop-nonce"]).toBeDefined();
  });
});

it("where every issuer's dpop is off, the scheme is not known and nothing is published of it", async () => {
  const gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    config: { auth: { issuers: [{ ...trusted(issuer), dpop: "off" }] } },
  });
  const answer = await list(undefined, gateway);
  expect([answer.status, refusalIn(answer).code]).toEqual([401, "AUTH_SCHEME_UNSUPPORTED"]);
  expect(challengeIn(answer)).toMatch(/^Bearer resource_metadata=/);
  expect(answer.headers["dpop-nonce"]).toBeUndefined();
  const path = "/.well-known/oauth-protected-resource/alpha/mcp";
  const metadata = await send({ port: gateway.port, path, method: "GET" });
  expect(metadata.text).not.toContain("dpop");
  await gateway.remove();
});
