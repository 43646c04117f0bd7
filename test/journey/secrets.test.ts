import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send, sendRaw } from "./http-client.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyCall, legacyHeaders, modernCall, modernHeaders, modernMeta, openSession, post } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

/**
 * Words, so that no pattern for credentials finds them: what is searched for here is kept out because it is
 * never handed over, and not because it is scrubbed.
 */
const canary = {
  claim: "canary in a claim",
  argument: "canary in an argument",
  read: "canary that policy reads",
  invalidArgument: "canary in an invalid argument",
  result: "canary in a result",
  structured: "canary in structured content",
  upstreamError: "canary in an upstream's error",
  upstreamBody: "canary in an upstream's page",
  upstreamHeader: "canary-in-an-upstreams-header",
  upstreamSession: "canary-session-of-an-upstream",
  clientHeader: "canary-in-a-header-of-the-client",
  query: "canary-in-a-query",
  malformedBody: "canary in a malformed body",
  duplicateKey: "canary as a duplicate key",
  method: "canary/method",
  meta: "canary in _meta",
  opaqueToken: "canary-opaque-token",
  staticCredential: "canary-of-a-static-credential",
  storePassword: "canary-of-the-store",
  sessionKey: `canary-session-key-${randomBytes(16).toString("hex")}`,
  digestKey: `canary-digest-key-${randomBytes(16).toString("hex")}`,
  unusedSecret: "canary-in-the-environment",
};

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let token: string;
let expiredToken: string;
let session: string;
/** Bodies and headers of everything that was refused or failed. */
const refusals: string[] = [];

beforeAll(async () => {
  redis = await startRedis(["--requirepass", canary.storePassword]);
  issuer = await startIssuer();
  upstream = await startScriptedUpstream({ era: "legacy", tools });
  gateway = await startGatewayUnderTest({
    issuer,
    redisUrl: `redis://:${canary.storePassword}@127.0.0.1:${redis.port}`,
    sessionKey: canary.sessionKey,
    env: { CREDENTIAL: canary.staticCredential, DIGEST_KEY: canary.digestKey, UNUSED: canary.unusedSecret },
    upstreams: {
      alpha: {
        url: upstream.url,
        credential: { type: "static", headers: { "x-api-key": "${env:CREDENTIAL}" } },
        timeouts: { callMs: 300 },
      },
    },
    servers: { alpha: { alpha: "" } },
    rules,
    config: { audit: { ...audit, digestKey: "${env:DIGEST_KEY}" }, log: { level: "trace" } },
  });
  await plantEverywhere();
});

afterAll(async () => {
  await gateway.remove();
  await issuer.close();
  await upstream.close();
  await redis.stop();
});

const audit = { mode: "required", sinks: [{ file: { path: "./audit.jsonl" } }, { redis: {} }] };
const tools = [
  { name: "echo", inputSchema: { type: "object", properties: { n: { type: "integer" } } } },
  {
    name: "typed",
    inputSchema: { type: "object" },
    outputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  },
];
const rules = [
  { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } },
  {
    id: "not-this-one",
    effect: "deny",
    who: { anyone: true },
    what: { upstream: "alpha", tool: "echo" },
    when: 'has(args.read) && args.read == "something else"',
  },
];

async function plantEverywhere(): Promise<void> {
  token = await issuer.mint(gateway.resource("alpha"), { secret: canary.claim });
  const past = Math.floor(Date.now() / 1000) - 3600;
  expiredToken = await issuer.mint(gateway.resource("alpha"), { secret: canary.claim, exp: past });
  const caller: Caller = { gateway, server: "alpha", token };
  const inSession = await openSession(caller);
  session = inSession.session;
  await plantInCalls(caller, inSession);
  await plantInRefused(caller, inSession);
  await plantInFailures(caller);
}

async function refused(answer: Promise<Received>): Promise<void> {
  const { text, headers } = await answer;
  refusals.push(text, JSON.stringify(headers));
}

const planted = { text: canary.argument, read: canary.read };

async function plantInCalls(caller: Caller, inSession: Caller): Promise<void> {
  const meta = { ...modernMeta, "test/canary": canary.meta };
  const headers = {
    ...modernHeaders(caller, "tools/call", "echo"),
    cookie: canary.clientHeader,
    "x-forwarded-for": canary.clientHeader,
    "user-agent": canary.clientHeader,
    "mcp-param-text": canary.clientHeader,
  };
  const params = { name: "echo", arguments: planted, _meta: meta };
  await post(caller, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params });
  upstream.script(({ rpc }, wire) => {
    if (rpc["method"] !== "tools/call") return false;
    const content = [{ type: "text", text: canary.result }];
    const structuredContent = { n: 1, text: canary.structured };
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { content, structuredContent } });
    return true;
  });
  await legacyCall(inSession, "tools/call", { name: "echo", arguments: planted });
  upstream.script(undefined);
}

async function plantInRefused(caller: Caller, inSession: Caller): Promise<void> {
  const { port } = gateway;
  await refused(
    send({
      port,
      path: `/alpha/mcp?token=${canary.query}`,
      headers: { authorization: `Bearer ${canary.opaqueToken}` },
    }),
  );
  await refused(send({ port, path: `/nowhere?token=${canary.query}`, headers: { cookie: canary.clientHeader } }));
  await refused(sendRaw(port, `NONSENSE ${canary.query}\r\n\r\n`));
  await refused(modernCall({ ...caller, token: expiredToken }, "tools/list"));
  await refused(modernCall({ ...caller, token: `${token.slice(0, -8)}AAAAAAAA` }, "tools/list"));
  await refused(post(caller, legacyHeaders(caller), `{"a":"${canary.malformedBody}`));
  await refused(post(caller, legacyHeaders(caller), `{"${canary.duplicateKey}":1,"${canary.duplicateKey}":2}`));
  await refused(legacyCall(inSession, canary.method));
  await refused(legacyCall(inSession, "tools/list", { cursor: canary.argument }));
  await refused(legacyCall(inSession, "tools/call", { name: "echo", arguments: { n: canary.invalidArgument } }));
  await refused(
    post(caller, { ...modernHeaders(caller, canary.method), "mcp-method": canary.clientHeader }, call(planted)),
  );
  await refused(
    post(
      caller,
      { ...modernHeaders(caller, "tools/call"), "mcp-protocol-version": canary.clientHeader },
      call(planted),
    ),
  );
  const foreign = await issuer.mint(gateway.resource("alpha"), { sub: "bob", secret: canary.claim });
  await refused(legacyCall({ ...inSession, token: foreign }, "tools/list"));
}

const call = (args: Loose): Loose => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "echo", arguments: args, _meta: modernMeta },
});

async function plantInFailures(caller: Caller): Promise<void> {
  const replies: ((
    wire: Parameters<NonNullable<Parameters<ScriptedUpstream["script"]>[0]>>[1],
    id: unknown,
  ) => void)[] = [
    (wire) => {
      wire.respond(500, "text/html", canary.upstreamBody, [`X-Debug: ${canary.upstreamHeader}`]);
    },
    (wire) => {
      wire.respond(401, "text/plain", canary.upstreamBody, [
        `WWW-Authenticate: Bearer realm="${canary.upstreamHeader}"`,
      ]);
    },
    (wire) => {
      wire.respond(200, "application/json", `{"a":"${canary.upstreamBody}`);
    },
    (wire) => {
      wire.respond(302, undefined, "", [`Location: http://127.0.0.1:1/${canary.upstreamHeader}`]);
    },
    (wire) => {
      wire.json(200, { jsonrpc: "2.0", id: "other", result: { content: [{ type: "text", text: canary.result }] } });
    },
    (wire, id) => {
      wire.json(200, { jsonrpc: "2.0", id, result: { content: [], structuredContent: { n: canary.structured } } });
    },
    (wire) => {
      wire.write(
        "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\nContent-Type: application/json\r\n\r\n" + canary.upstreamBody,
      );
      wire.reset();
    },
    () => undefined,
  ];
  for (const reply of replies) {
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] !== "tools/call") return false;
      reply(wire, rpc["id"]);
      return true;
    });
    await refused(modernCall(caller, "tools/call", { name: "typed", arguments: planted }));
  }
  // What an upstream says in its error is for its caller, and for nobody else.
  upstream.script(({ rpc }, wire) => {
    if (rpc["method"] !== "tools/call") return false;
    wire.json(200, { jsonrpc: "2.0", id: rpc["id"], error: { code: -32000, message: canary.upstreamError } });
    return true;
  });
  await modernCall(caller, "tools/call", { name: "typed", arguments: planted });
  upstream.script(undefined);
}

function everySecret(): Record<string, string> {
  const [, claims = "", signature = ""] = token.split(".");
  const [, expiredClaims = ""] = expiredToken.split(".");
  return { ...canary, token, claims, signature, expiredToken, expiredClaims, session };
}

/** Names of the secrets that occur in a text. */
function found(text: string, secrets = everySecret()): string[] {
  return Object.entries(secrets).flatMap(([name, value]) => (text.includes(value) ? [name] : []));
}

async function everythingInRedis(): Promise<string> {
  const client = new Redis(redis.port, "127.0.0.1", { password: canary.storePassword });
  const kept: string[] = [];
  for (const key of await client.keys("*")) {
    const type = await client.type(key);
    const value =
      type === "stream"
        ? await client.xrange(key, "-", "+")
        : type === "zset"
          ? await client.zrange(key, "0", "-1")
          : await client.get(key);
    kept.push(key, JSON.stringify(value));
  }
  client.disconnect();
  return kept.join("\n");
}

describe("nothing that was planted is found", () => {
  it("in answers that refuse", () => {
    expect(refusals.length).toBeGreaterThan(30);
    expect(found(refusals.join("\n"))).toEqual([]);
  });

  it("in the log, at its most talkative", () => {
    expect(gateway.log.length).toBeGreaterThan(20);
    expect(found(gateway.log.join("\n"))).toEqual([]);
  });

  it("in the metrics", async () => {
    const text = await gateway.metrics();
    expect(text).toContain("sallyport_");
    expect(found(text)).toEqual([]);
  });

  it("in the store but for the session's own id, with the stream of evidence as below", async () => {
    const text = await everythingInRedis();
    expect(text).toContain("sallyport:audit");
    expect(found(text.replaceAll(JSON.stringify(canary.read).slice(1, -1), ""))).toEqual(["session"]);
  });

  it("in the evidence, where the one field that policy read stands in its place and nowhere else", async () => {
    await gateway.stop();
    const events = gateway.audit();
    expect(events.some(({ read }) => read?.["/read"] === canary.read)).toBe(true);
    expect(events.some(({ argumentsDigest }) => argumentsDigest !== undefined)).toBe(true);
    const withoutRead = events.map((event) => JSON.stringify({ ...event, read: {} })).join("\n");
    expect(found(withoutRead)).toEqual([]);
    expect(found(gateway.auditText())).toEqual(["read"]);
  });
});

describe("what reaches the upstream", () => {
  it("is the gateway's own credential, and never the caller's token, session, cookies or forwarded headers", () => {
    const raw = upstream.received.map((request) => request.raw.toString("latin1"));
    expect(raw.every((text) => text.includes(`x-api-key: ${canary.staticCredential}`))).toBe(true);
    const sentOn = ["staticCredential", "argument", "read", "meta"];
    const others = Object.fromEntries(Object.entries(everySecret()).filter(([name]) => !sentOn.includes(name)));
    expect(found(raw.join("\n"), others)).toEqual([]);
  });
});
