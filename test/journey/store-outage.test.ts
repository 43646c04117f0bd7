import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Received } from "./http-client.ts";
import { errorCodeIn, legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

beforeEach(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstream = await startScriptedUpstream();
});

afterEach(async () => {
  redis.resume();
  await gateway.remove();
  await upstream.close();
  await issuer.close();
  await redis.stop();
});

async function start(options: Partial<GatewayOptions> = {}): Promise<Caller> {
  gateway = await startGatewayUnderTest({
    issuer,
    redisUrl: redis.url,
    upstreams: { alpha: upstream.url },
    servers: { alpha: { alpha: "" } },
    ...options,
  });
  return { gateway, server: "alpha", token: await issuer.mint(gateway.resource("alpha")) };
}

const echo = { name: "echo", arguments: {} };

function expectUnavailable(answer: Received, code: string): void {
  expect([answer.status, errorCodeIn(answer), refusalIn(answer).code]).toEqual([503, -32603, code]);
  expect(answer.headers["retry-after"]).toBe("2");
  expect(answer.headers["www-authenticate"]).toBeUndefined();
}

describe("a store that fails under load", () => {
  const outages = [
    { how: "killed", begin: () => redis.kill(), end: () => redis.restart() },
    {
      how: "paused",
      begin: async () => {
        redis.pause();
        await Promise.resolve();
      },
      end: async () => {
        redis.resume();
        await Promise.resolve();
      },
    },
  ];
  it.each(outages)(
    "$how: every answer comes and is whole or a 503, and it recovers by itself",
    async ({ begin, end }) => {
      const caller = await start();
      const session = await openSession(caller);
      await modernCall(caller, "tools/call", echo);
      const load = (count: number): Promise<Received[]> =>
        Promise.all(
          Array.from({ length: count }, (_, at) =>
            at % 2 === 0 ? modernCall(caller, "tools/call", echo) : legacyCall(session, "ping"),
          ),
        );
      const before = load(20);
      await begin();
      const during = [...(await before), ...(await load(20))];
      for (const answer of during) if (answer.status !== 200) expectUnavailable(answer, "STORE_UNAVAILABLE");
      expect(during.slice(20).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 503));
      const executed = upstream.ledger.length;
      expectUnavailable(await modernCall(caller, "tools/call", echo), "STORE_UNAVAILABLE");
      expect(upstream.ledger.length).toBe(executed);
      expect((await fetch(`${gateway.running.addresses.operations}/readyz`)).status).toBe(503);
      await end();
      await until(async () => (await modernCall(caller, "tools/call", echo)).status === 200);
      expect((await fetch(`${gateway.running.addresses.operations}/readyz`)).status).toBe(200);
      expect((await openSession(caller)).session).toMatch(/^[\w-]{22}$/);
    },
  );
});

describe("required evidence that cannot be kept", () => {
  const sinks = [{ redis: {} }];

  it("refuses calls as AUDIT_UNAVAILABLE before anything is forwarded, and goes on once it is kept again", async () => {
    const caller = await start({ config: { audit: { mode: "required", sinks } } });
    expect((await modernCall(caller, "tools/call", echo)).status).toBe(200);
    expect(upstream.ledger).toEqual(["echo"]);
    // The store answers, but the stream cannot be written to.
    await redis.command("DEL sallyport:audit");
    await redis.command("SET sallyport:audit something-else");
    expectUnavailable(await modernCall(caller, "tools/call", echo), "AUDIT_UNAVAILABLE");
    expectUnavailable(await modernCall(caller, "tools/list"), "AUDIT_UNAVAILABLE");
    expectUnavailable(await legacyCall(caller, "initialize", { protocolVersion: "2025-11-25" }), "AUDIT_UNAVAILABLE");
    expect(upstream.ledger).toEqual(["echo"]);
    await redis.command("DEL sallyport:audit");
    await until(async () => (await modernCall(caller, "tools/call", echo)).status === 200);
    expect(upstream.ledger).toEqual(["echo", "echo"]);
  });

  it("with a store that is gone too, where nobody signs in, is AUDIT_UNAVAILABLE all the same", async () => {
    await start({ config: { auth: { none: true }, audit: { mode: "required", sinks } } });
    const anybody = { gateway, server: "alpha" };
    expect((await modernCall(anybody, "tools/call", echo)).status).toBe(200);
    await redis.kill();
    expectUnavailable(await modernCall(anybody, "tools/call", echo), "AUDIT_UNAVAILABLE");
    expect(upstream.ledger).toEqual(["echo"]);
    await redis.restart();
    await until(async () => (await modernCall(anybody, "tools/call", echo)).status === 200);
  });

  it("that is only best effort refuses nothing", async () => {
    await start({ config: { auth: { none: true }, audit: { mode: "best-effort", sinks } } });
    const anybody = { gateway, server: "alpha" };
    await modernCall(anybody, "tools/list");
    await redis.kill();
    expect((await modernCall(anybody, "tools/call", echo)).status).toBe(200);
    await redis.restart();
  });
});
