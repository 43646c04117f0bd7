import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import type { Received } from "./http-client.ts";
import { legacyCall, legacyHeaders, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
let redis: RedisUnderTest;
let upstream: ScriptedUpstream;
const gateways: GatewayUnderTest[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
  redis = await startRedis();
});

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.remove();
  await upstream.close();
});

afterAll(async () => {
  await redis.stop();
  await issuer.close();
});

async function start(more: Partial<GatewayOptions> = {}): Promise<GatewayUnderTest> {
  upstream = await startScriptedUpstream({ era: "legacy" });
  return startMore(more);
}

async function startMore(more: Partial<GatewayOptions> = {}): Promise<GatewayUnderTest> {
  const upstreams = { up: upstream.url };
  const gateway = await startGatewayUnderTest({
    issuer,
    redisUrl: redis.url,
    upstreams,
    servers: { s: { up: "" } },
    ...more,
  });
  gateways.push(gateway);
  return gateway;
}

async function client(gateway: GatewayUnderTest, sub = "alice"): Promise<Caller & { readonly session: string }> {
  return openSession({ gateway, server: "s", token: await issuer.mint(gateway.resource("s"), { sub }) });
}

const call = (caller: Caller): Promise<Received> => legacyCall(caller, "tools/call", { name: "echo", arguments: {} });

function end(caller: Caller): Promise<Received> {
  return send({ port: caller.gateway.port, path: "/s/mcp", method: "DELETE", headers: legacyHeaders(caller) });
}

/** The next call waits until it is told to go on. */
function hold(): { readonly begun: () => boolean; go(): void } {
  let go = (): void => undefined;
  let begun = false;
  const held = new Promise<void>((resolve) => (go = resolve));
  upstream.script(async ({ rpc }) => {
    if (rpc["method"] !== "tools/call") return false;
    begun = true;
    await held;
    return false;
  });
  return { begun: () => begun, go };
}

describe("a call that runs", () => {
  it("when its session is gone from the store is answered all the same; the next one is told 404", async () => {
    const caller = await client(await start());
    const held = hold();
    const answer = call(caller);
    await until(held.begun);
    await redis.command(`DEL sallyport:default:session:${caller.session}`);
    held.go();
    expect((await answer).json).toMatchObject({ result: { content: [{ text: "{}" }] } });
    const next = await call(caller);
    expect([next.status, refusalIn(next).code]).toEqual([404, "SESSION_UNKNOWN"]);
  });

  it("longer than its session may idle keeps it: the next call needs no new session", async () => {
    const caller = await client(await start({ config: { limits: { sessionIdleMs: 10_000 } } }));
    const held = hold();
    const answer = call(caller);
    await until(held.begun);
    await new Promise((resolve) => setTimeout(resolve, 11_000));
    held.go();
    expect((await answer).status).toBe(200);
    upstream.script(undefined);
    expect((await call(caller)).json).toHaveProperty("result");
  });
});

describe("DELETE", () => {
  it("ends a session on every replica, and its upstream session; a second one is told 404", async () => {
    const publicPort = await freePort();
    const one = await start({ publicPort });
    const two = await startMore({ publicPort });
    const caller = await client(one);
    await call(caller);
    expect(upstream.sessions.size).toBeGreaterThan(0);
    const before = upstream.received.filter(({ method }) => method === "DELETE").length;
    expect((await end({ ...caller, gateway: two })).status).toBe(200);
    for (const gateway of [one, two]) expect((await call({ ...caller, gateway })).status).toBe(404);
    expect((await end(caller)).status).toBe(404);
    await until(() => upstream.received.filter(({ method }) => method === "DELETE").length > before);
  });

  it("in which the store fails is not said to have worked, and can be said again", async () => {
    const own = await startRedis();
    const caller = await client(await start({ redisUrl: own.url, config: { limits: { storeCommandTimeoutMs: 500 } } }));
    await own.command("REPLICAOF 127.0.0.1 1");
    expect((await end(caller)).status).toBe(503);
    await own.command("REPLICAOF NO ONE");
    await until(async () => (await end(caller)).status === 200);
    expect((await call(caller)).status).toBe(404);
    await own.stop();
  });
});

describe("a principal that is put on the deny list", () => {
  const denied = (sub: string): string =>
    `sallyport:default:denied-subject:${encodeURIComponent(issuer.origin)}:${encodeURIComponent(sub)}`;

  it("is refused, and its sessions end for good: none comes back once the denial is over", async () => {
    const gateway = await start();
    const [one, two, other] = [
      await client(gateway, "eve"),
      await client(gateway, "eve"),
      await client(gateway, "bob"),
    ];
    for (const caller of [one, two, other]) expect((await call(caller)).status).toBe(200);
    const deletions = (): number => upstream.received.filter(({ method }) => method === "DELETE").length;
    const before = deletions();
    await redis.command(`SET ${denied("eve")} 1`);
    const refused = await call(one);
    expect([refused.status, refusalIn(refused).code]).toEqual([401, "AUTH_TOKEN_REVOKED"]);
    await until(async () => (await redis.command(`EXISTS sallyport:default:session:${two.session}`)) === ":0");
    await until(() => deletions() >= before + 2);
    await redis.command(`DEL ${denied("eve")}`);
    for (const caller of [one, two]) expect((await call(caller)).status).toBe(404);
    expect((await call(other)).json).toHaveProperty("result");
    expect((await call(await client(gateway, "eve"))).json).toHaveProperty("result");
  });

  it("in one token alone keeps its sessions, which belong to whoever it is", async () => {
    const gateway = await start();
    const caller = await client(gateway, "eve");
    const { createHash } = await import("node:crypto");
    const signed = caller.token!.slice(0, caller.token!.lastIndexOf("."));
    const digest = createHash("sha256").update(signed).digest("hex");
    await redis.command(`SET sallyport:default:denied-token:${digest} 1`);
    expect((await call(caller)).status).toBe(401);
    const renewed = { ...caller, token: await issuer.mint(gateway.resource("s"), { sub: "eve", jti: "another" }) };
    expect((await call(renewed)).json).toHaveProperty("result");
  });
});
