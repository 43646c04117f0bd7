import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deniedSubjectKey } from "../../src/auth/deny-list.ts";
import { storeKey } from "../../src/store/keys.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import { openStream } from "./stream-client.ts";
import type { OpenStream } from "./stream-client.ts";
import { legacyHeaders, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let redis: RedisUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
  upstream = await startScriptedUpstream();
  redis = await startRedis();
});

afterAll(async () => {
  await issuer.close();
  await upstream.close();
  await redis.stop();
});

function start(more: Partial<GatewayOptions> = {}): Promise<GatewayUnderTest> {
  return startGatewayUnderTest({
    issuer,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    config: { limits: { streamCommentMs: 250, clockLeewaySeconds: 0 } },
    ...more,
  });
}

async function signedIn(gateway: GatewayUnderTest, claims = {}): Promise<Caller & { session: string }> {
  const token = await issuer.mint(gateway.resource("alpha"), claims);
  return openSession({ gateway, server: "alpha", token });
}

function listen(caller: Caller, headers: Record<string, string | undefined> = {}): Promise<OpenStream> {
  return openStream({
    port: caller.gateway.port,
    path: `/${caller.server}/mcp`,
    headers: { ...legacyHeaders(caller), accept: "text/event-stream", "content-type": undefined, ...headers },
  });
}

function remove(caller: Caller): ReturnType<typeof send> {
  return send({ port: caller.gateway.port, path: "/alpha/mcp", method: "DELETE", headers: legacyHeaders(caller) });
}

describe("the GET stream of a legacy session", () => {
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = await start();
  });
  afterAll(() => gateway.remove());

  it("opens at once with a comment, is not buffered, and stays alive by comments without event ids", async () => {
    const stream = await listen(await signedIn(gateway));
    expect(stream.status).toBe(200);
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    expect(stream.headers["x-accel-buffering"]).toBe("no");
    expect(stream.headers["cache-control"]).toContain("no-transform");
    expect(stream.headers["content-encoding"]).toBeUndefined();
    await until(() => stream.comments >= 3);
    expect(stream.text).not.toMatch(/^id/m);
    expect(stream.ended).toBe(false);
    stream.close();
  });

  const refused: readonly (readonly [string, Record<string, string | undefined>, number, string])[] = [
    ["an Accept without event streams", { accept: "application/json" }, 406, "NOT_ACCEPTABLE"],
    ["no session", { "mcp-session-id": undefined }, 400, "SESSION_MISSING"],
    ["a session that nobody opened", { "mcp-session-id": "A".repeat(22) }, 404, "SESSION_UNKNOWN"],
    ["a modern version header", { "mcp-protocol-version": "2026-07-28" }, 405, "HTTP_METHOD_REFUSED"],
    ["a version header nobody speaks", { "mcp-protocol-version": "1999-01-01" }, 405, "HTTP_METHOD_REFUSED"],
    ["no token", { authorization: undefined }, 401, "AUTH_TOKEN_MISSING"],
  ];
  it.each(refused)("is refused for %s", async (_, headers, status, code) => {
    const stream = await listen(await signedIn(gateway), headers);
    await until(() => stream.ended);
    expect([stream.status, stream.text.includes(code)]).toEqual([status, true]);
  });

  it.each(["*/*", "text/*", "text/event-stream, application/json"])("takes Accept: %s", async (accept) => {
    const stream = await listen(await signedIn(gateway), { accept });
    expect(stream.status).toBe(200);
    stream.close();
  });

  it("of another principal's session is answered like one of no session", async () => {
    const alice = await signedIn(gateway);
    const token = await issuer.mint(gateway.resource("alpha"), { sub: "mallory" });
    const foreign = await listen({ ...alice, token });
    const unknown = await listen({ ...alice, token, session: "A".repeat(22) });
    await until(() => foreign.ended && unknown.ended);
    const withoutRef = ({ text }: OpenStream): string => text.replace(/"ref":"[^"]*"/, "");
    expect([foreign.status, withoutRef(foreign)]).toEqual([404, withoutRef(unknown)]);
  });

  it("gives way to a newer one of the same session, and to none of another", async () => {
    const [alice, other] = [await signedIn(gateway), await signedIn(gateway)];
    const first = await listen(alice);
    const bystander = await listen(other);
    const second = await listen(alice);
    await until(() => first.ended);
    await until(() => second.comments >= 3);
    expect([second.ended, bystander.ended]).toEqual([false, false]);
    second.close();
    bystander.close();
  });

  it("ends with its session, and leaves an intent and one outcome as evidence", async () => {
    const alice = await signedIn(gateway, { sub: "evidence" });
    const stream = await listen(alice);
    expect((await remove(alice)).status).toBe(200);
    await until(() => stream.ended);
    await until(
      () =>
        gateway.audit().filter(({ principal, method }) => principal?.subject === "evidence" && method === "GET")
          .length === 2,
    );
    const events = gateway
      .audit()
      .filter(({ principal, method }) => principal?.subject === "evidence" && method === "GET");
    expect(events.map(({ type, outcome }) => [type, outcome])).toEqual([
      ["attempted", undefined],
      ["returned", "returned"],
    ]);
    expect((await listen(alice)).status).toBe(404);
  });

  it("ends when the token behind it expires, and not before", async () => {
    const now = Math.floor(Date.now() / 1000);
    const [brief, lasting] = [await signedIn(gateway, { exp: now + 2 }), await signedIn(gateway)];
    const [ending, staying] = [await listen(brief), await listen(lasting)];
    await until(() => ending.ended);
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(now + 2);
    expect(staying.ended).toBe(false);
    staying.close();
  });
});

describe("GET streams within bounds", () => {
  it("refuses one stream too many of a principal, and takes another once one is closed", async () => {
    const gateway = await start({ config: { limits: { streamsPerPrincipalMax: 2, streamCommentMs: 250 } } });
    const callers = [await signedIn(gateway), await signedIn(gateway), await signedIn(gateway)] as const;
    const [first, second] = [await listen(callers[0]), await listen(callers[1])];
    const third = await listen(callers[2]);
    await until(() => third.ended);
    expect([third.status, third.headers["retry-after"], third.text.includes("STREAM_LIMIT_REACHED")]).toEqual([
      429,
      "2",
      true,
    ]);
    const bob = await listen(await signedIn(gateway, { sub: "bob" }));
    expect(bob.status).toBe(200);
    // Its own stream anew is no further stream.
    const again = await listen(callers[1]);
    expect(again.status).toBe(200);
    first.close();
    await until(async () => (await listen(callers[2])).status === 200);
    await gateway.remove();
    expect([second.ended, again.ended, bob.ended]).toEqual([true, true, true]);
  });

  it("refuses one stream too many of everybody's", async () => {
    const gateway = await start({ config: { limits: { streamsMax: 1 } } });
    expect((await listen(await signedIn(gateway))).status).toBe(200);
    expect((await listen(await signedIn(gateway, { sub: "bob" }))).status).toBe(429);
    await gateway.remove();
  });

  it("is denied by a rule about the server like a stream that is not offered", async () => {
    const rules = [
      { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } },
      {
        id: "no-mallory",
        effect: "deny",
        who: { groups: { any: ["corp:bad"] } },
        what: { anything: true },
        when: "true",
      },
    ];
    const gateway = await start({ rules });
    const alice = await signedIn(gateway);
    const token = await issuer.mint(gateway.resource("alpha"), { groups: ["bad"] });
    const denied = await listen({ ...alice, token });
    await until(() => denied.ended);
    expect([denied.status, denied.headers.allow, denied.text.includes("POLICY_DENIED")]).toEqual([
      405,
      "POST, DELETE",
      true,
    ]);
    await gateway.remove();
  });

  it("ends at once when the gateway drains", async () => {
    const gateway = await start({ config: { limits: { drainMs: 600_000 } } });
    const stream = await listen(await signedIn(gateway));
    await gateway.stop();
    await until(() => stream.ended);
    expect(stream.text.trim()).toBe(":");
    await gateway.remove();
  });
});

describe("GET streams of two replicas", () => {
  let replicas: readonly [GatewayUnderTest, GatewayUnderTest];
  beforeAll(async () => {
    const shared = { redisUrl: redis.url, publicPort: await freePort() };
    replicas = [await start(shared), await start(shared)];
  });
  afterAll(async () => {
    for (const replica of replicas) await replica.remove();
  });

  it("the newest stream of a session wins, on whichever replica", async () => {
    const here = await signedIn(replicas[0]);
    const there = { ...here, gateway: replicas[1] };
    for (const [older, newer] of [
      [here, there],
      [there, here],
    ] as const) {
      const first = await listen(older);
      const second = await listen(newer);
      await until(() => first.ended);
      await until(() => second.comments >= 3);
      expect(second.ended).toBe(false);
      second.close();
    }
  });

  it("a session that is deleted at one replica has no stream at another", async () => {
    const here = await signedIn(replicas[0]);
    const stream = await listen(here);
    expect((await remove({ ...here, gateway: replicas[1] })).status).toBe(200);
    await until(() => stream.ended);
  });

  it("a principal that is put on the deny list loses its stream, others keep theirs", async () => {
    const [alice, denied] = [await signedIn(replicas[0]), await signedIn(replicas[0], { sub: "denied" })];
    const [staying, ending] = [await listen(alice), await listen(denied)];
    const key = storeKey(deniedSubjectKey({ tenant: "default", issuer: issuer.origin, subject: "denied" }));
    await redis.command(`SET ${key} 1 PX 60000`);
    await until(() => ending.ended);
    expect(staying.ended).toBe(false);
    staying.close();
  });
});

describe("GET streams in an outage of the store", () => {
  it("none is opened, and an open one whose token and session cannot be looked at ends", async () => {
    const own = await startRedis();
    const limits = { streamCommentMs: 250, storeCommandTimeoutMs: 100 };
    const gateway = await start({ redisUrl: own.url, config: { limits } });
    const alice = await signedIn(gateway);
    const stream = await listen(alice);
    await until(() => stream.comments >= 3);
    own.pause();
    const late = await listen(alice);
    await until(() => late.ended);
    expect([late.status, refusalIn({ json: JSON.parse(late.text) as Record<string, unknown> }).code]).toEqual([
      503,
      "STORE_UNAVAILABLE",
    ]);
    await until(() => stream.ended);
    own.resume();
    await until(async () => (await listen(alice)).status === 200);
    await gateway.remove();
    await own.stop();
  });

  it("one look that comes to nothing is forgiven", async () => {
    const own = await startRedis();
    const gateway = await start({
      redisUrl: own.url,
      config: { limits: { streamCommentMs: 2_000, storeCommandTimeoutMs: 100 } },
    });
    const stream = await listen(await signedIn(gateway));
    own.pause();
    await until(() => stream.comments >= 2);
    // The look of that tick has failed by the time the store is back, long before the next one.
    await until(() => gateway.log.some((line) => line.includes("store.failed")));
    own.resume();
    await until(() => stream.comments >= 4);
    expect(stream.ended).toBe(false);
    await gateway.remove();
    await own.stop();
  }, 20_000);
});
