import { Redis } from "ioredis";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedis, type RedisUnderTest } from "../setup/redis.ts";
import { startTokenServer, token as tokenAnswer } from "../upstream/credentials/token-server.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import { legacyCall, modernHeaders, modernMeta, openSession, post, type Caller } from "./wire-client.ts";

const names = ["exchanging", "asserting", "fixed", "bare"] as const;
type Name = (typeof names)[number];

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let exchange: Awaited<ReturnType<typeof startTokenServer>>;
let upstreams: Readonly<Record<Name, ScriptedUpstream>>;
let gateway: GatewayUnderTest;
const tokens: string[] = [];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  exchange = await startTokenServer();
  exchange.answer = ({ form }, count) => ({
    body: tokenAnswer(`given-${form["subject_token"]?.length ?? 0}-${count}`),
  });
  const [exchanging, asserting, fixed, bare] = await Promise.all([
    startScriptedUpstream({ era: "legacy" }),
    startScriptedUpstream({ era: "both" }),
    startScriptedUpstream({ era: "modern" }),
    startScriptedUpstream({ era: "legacy" }),
  ]);
  upstreams = { exchanging, asserting, fixed, bare };
  gateway = await startGatewayUnderTest({
    issuer,
    redisUrl: redis.url,
    env: { SECRET: "secret of the gateway", PASSWORD: "pass:wörd" },
    upstreams: {
      exchanging: {
        url: exchanging.url,
        credential: {
          type: "tokenExchange",
          issuer: exchange.url,
          clientId: "gateway",
          clientSecret: "${env:SECRET}",
          audience: "exchanging",
          actor: "assertion",
        },
      },
      asserting: { url: asserting.url, credential: { type: "assertion" }, forwardHeaders: ["X-Request-Id"] },
      fixed: {
        url: fixed.url,
        credential: { type: "static", basic: { username: "gate", password: "${env:PASSWORD}" } },
        forwardHeaders: ["accept-language", "x-request-id"],
      },
      bare: { url: bare.url },
    },
    servers: { all: Object.fromEntries(names.map((name) => [name, `${name}_`])) },
    config: { log: { level: "trace" } },
  });
  for (const subject of ["ada", "bob"]) await callEverything(subject);
});

afterAll(async () => {
  await gateway.remove();
  await Promise.all([issuer.close(), exchange.close(), ...Object.values(upstreams).map((one) => one.close())]);
  await redis.stop();
});

/** What a client may send along; none of it is for upstreams but what configuration lets through. */
const sent = {
  cookie: "session=canary-cookie",
  forwarded: "for=canary-forwarded",
  "x-forwarded-for": "canary-forwarded-for",
  "x-real-ip": "canary-real-ip",
  "x-api-key": "canary-api-key",
  "x-request-id": "request-7",
  "accept-language": "de",
  "user-agent": "canary-agent",
  "x-unlisted": "canary-unlisted",
};

async function callEverything(subject: string): Promise<void> {
  const token = await issuer.mint(gateway.resource("all"), {
    sub: subject,
    groups: [`${subject}s`],
    client_id: "editor",
  });
  tokens.push(token);
  const caller: Caller = { gateway, server: "all", token };
  const session = await openSession(caller);
  for (const name of names) {
    const params = { name: `${name}_echo`, arguments: { text: "hello" } };
    const headers = { ...modernHeaders(caller, "tools/call", params.name), ...sent };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: modernMeta } };
    expect((await post(caller, headers, body)).text).toContain("hello");
    expect((await legacyCall(session, "tools/call", params)).text).toContain("hello");
  }
  expect((await legacyCall(session, "tools/call", { name: "unknown" })).text).toContain("error");
  await send({ port: gateway.port, method: "DELETE", path: "/all/mcp", headers: legacyDelete(session) });
}

function legacyDelete({ token, session }: Caller): Record<string, string | undefined> {
  return { authorization: `Bearer ${token ?? ""}`, "mcp-session-id": session };
}

/** The parts of both callers' tokens: a part alone would be as bad as the whole. */
function canaries(): readonly string[] {
  return tokens.flatMap((token) => [token, ...token.split(".").slice(1)]);
}

function found(text: string): readonly string[] {
  return canaries().filter((part) => text.includes(part));
}

function rawOf(name: Name): string {
  return upstreams[name].received.map(({ raw }) => raw.toString("latin1")).join("\n");
}

describe("the caller's token", () => {
  it("reaches the token endpoint, once for each caller", () => {
    const subjects = exchange.asked.map(({ form }) => form["subject_token"]).filter((text) => text !== undefined);
    expect(subjects.sort()).toEqual([...tokens].sort());
  });

  it.each(names)("reaches no request to the upstream %s", (name) => {
    expect(upstreams[name].received.length).toBeGreaterThan(3);
    expect(found(rawOf(name))).toEqual([]);
  });

  it("reaches no line of the log, at its most talkative, and no event of the evidence", () => {
    expect(gateway.log.join("\n")).toContain("gateway.refused");
    expect(gateway.auditText()).toContain("echo");
    expect(found(gateway.log.join("\n") + gateway.auditText())).toEqual([]);
  });

  it("reaches no record of the store", async () => {
    const text = await everythingIn(redis);
    expect(text).toContain("assertion-keys");
    expect(found(text)).toEqual([]);
  });
});

async function everythingIn({ port }: RedisUnderTest): Promise<string> {
  const client = new Redis(port, "127.0.0.1");
  const kept: string[] = [];
  for (const key of await client.keys("*")) {
    const type = await client.type(key);
    if (type === "string") kept.push(key, (await client.get(key)) ?? "");
    else if (type === "stream") kept.push(key, JSON.stringify(await client.xrange(key, "-", "+")));
    else if (type === "zset") kept.push(key, ...(await client.zrange(key, "0", "-1")));
    else if (type === "set") kept.push(key, ...(await client.smembers(key)));
    else kept.push(key, JSON.stringify(await client.hgetall(key)));
  }
  await client.quit();
  return kept.join("\n");
}

describe("what an upstream is shown instead", () => {
  const shown = (name: Name): Set<string> =>
    new Set(upstreams[name].received.map((request) => request.header("authorization") ?? "nothing"));

  it("is what each caller's token was exchanged for, and the gateway's own token for lists", () => {
    expect(shown("exchanging").size).toBe(3);
    expect([...shown("exchanging")].every((value) => value.startsWith("Bearer given-"))).toBe(true);
  });

  it("is an assertion that verifies with the published keys and says who calls", async () => {
    const keySet = createRemoteJWKSet(new URL(`${gateway.publicUrl}/oauth/assertion-keys`));
    const checks = { issuer: gateway.publicUrl, audience: upstreams.asserting.url, typ: "at+jwt" };
    const said = new Set<string>();
    for (const value of shown("asserting")) {
      const { payload } = await jwtVerify(value.replace("Bearer ", ""), keySet, checks);
      said.add(JSON.stringify([payload.sub, payload["groups"] ?? [], payload["act"] ?? {}]));
    }
    expect([...said].sort()).toEqual([
      `["ada",["corp:adas"],{"iss":"${issuer.origin}","sub":"editor"}]`,
      `["bob",["corp:bobs"],{"iss":"${issuer.origin}","sub":"editor"}]`,
      `["${gateway.publicUrl}",[],{}]`,
    ]);
  });

  it("is basic authentication in UTF-8, or nothing, as configured", () => {
    expect([...shown("fixed")]).toEqual([`Basic ${Buffer.from("gate:pass:wörd", "utf8").toString("base64")}`]);
    expect([...shown("bare")]).toEqual(["nothing"]);
  });
});

describe("the actor of an exchange", () => {
  it("is the gateway, by an assertion that verifies with the same keys", async () => {
    const keySet = createRemoteJWKSet(new URL(`${gateway.publicUrl}/oauth/assertion-keys`));
    const actors = exchange.asked.map(({ form }) => form["actor_token"]).filter((text) => text !== undefined);
    expect(actors).toHaveLength(2);
    const checks = { issuer: gateway.publicUrl, audience: exchange.url, subject: gateway.publicUrl };
    for (const actor of actors) await jwtVerify(actor, keySet, checks);
  });
});

describe("the headers of a client's request", () => {
  it("reach an upstream only by the names that are configured for it", () => {
    const calls = (name: Name): readonly (string | undefined)[][] =>
      upstreams[name].received
        .filter(({ rpc, raw }) => rpc["method"] === "tools/call" && raw.includes("request-7"))
        .map((request) => [request.header("x-request-id"), request.header("accept-language")]);
    expect(calls("asserting")).toEqual([
      ["request-7", undefined],
      ["request-7", undefined],
    ]);
    expect(calls("fixed")).toEqual([
      ["request-7", "de"],
      ["request-7", "de"],
    ]);
    expect([calls("bare"), calls("exchanging")]).toEqual([[], []]);
  });

  it("reach none with what says who or where somebody is", () => {
    for (const name of names) expect(rawOf(name)).not.toContain("canary");
  });
});

describe("the published keys", () => {
  const fetchKeys = (method: string): Promise<Response> =>
    fetch(`${gateway.publicUrl}/oauth/assertion-keys`, { method });

  it("are there for everybody, and hold nothing private", async () => {
    const answer = await fetchKeys("GET");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/jwk-set+json"]);
    const { keys } = (await answer.json()) as { keys: object[] };
    expect(keys.map((key) => "d" in key)).toEqual([false, false]);
  });

  it("are read, and nothing else is done with them", async () => {
    expect([(await fetchKeys("HEAD")).status, (await fetchKeys("POST")).status]).toEqual([200, 405]);
  });
});
