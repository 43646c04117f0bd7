import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { everyFeature, openCall, openSessionWith, respond } from "./asked-client.ts";
import type { AskedCaller } from "./asked-client.ts";
import { form, startLegacyAsking, startModernAsking } from "./asking-upstream.ts";
import type { AskingUpstream } from "./asking-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";
import { modernHeaders, modernMeta, post } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstreams: readonly AskingUpstream[];
/** Two instances of one deployment, on one store. */
let instances: readonly [GatewayUnderTest, GatewayUnderTest];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstreams = [await startLegacyAsking(), await startModernAsking()];
  const publicPort = await freePort();
  const start = (): Promise<GatewayUnderTest> =>
    startGatewayUnderTest({
      issuer,
      upstreams: { legacy: upstreams[0]?.upstream.url ?? "", modern: upstreams[1]?.upstream.url ?? "" },
      servers: { both: { legacy: "l_", modern: "m_" } },
      redisUrl: redis.url,
      publicPort,
    });
  instances = [await start(), await start()];
});

afterAll(async () => {
  for (const instance of instances) await instance.remove();
  for (const upstream of upstreams) await upstream.close();
  await issuer.close();
  await redis.stop();
});

async function session(sub: string): Promise<AskedCaller> {
  const token = await issuer.mint(instances[0].resource("both"), { sub });
  return openSessionWith({ gateway: instances[0], server: "both", token }, everyFeature);
}

const named = (name: string): Loose => ({ action: "accept", content: { name } });

describe("an answer that arrives at another instance than the call that asked", () => {
  it.each([
    ["legacy", { name: "l_echo", arguments: { ask: [form] } }, [{ result: named("Octo") }]],
    ["modern", { name: "m_echo", arguments: { ask: [{ who: form }] } }, [{ who: named("Octo") }]],
  ])("reaches it, before a %s upstream", async (_era, params, told) => {
    const client = await session("alice");
    const call = await openCall(client, params);
    const [asked] = await call.asked();
    const posted = await respond(client, asked?.["id"], { result: named("Octo") }, instances[1]);
    expect([posted.status, posted.text]).toEqual([202, ""]);
    expect(((await call.answer())["result"] as Loose)["told"]).toEqual(told);
  });

  it("reaches the one call it was asked by, of many that ask at the same time, and of two answers one counts", async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, (_, at) => session(`principal-${at}`)));
    const calls = await Promise.all(
      clients.map((client, at) =>
        openCall(
          client,
          at % 2 === 0
            ? { name: "l_echo", arguments: { ask: [form] } }
            : { name: "m_echo", arguments: { ask: [{ who: form }] } },
        ),
      ),
    );
    const asked = await Promise.all(calls.map(async (call) => (await call.asked())[0]?.["id"]));
    expect(new Set(asked).size).toBe(clients.length);
    await Promise.all(
      clients.flatMap((client, at) => [
        respond(client, asked[at], { result: named(`canary ${at};`) }, instances[1]),
        // Everybody tries the next one's too, at both instances.
        respond(client, asked[(at + 1) % clients.length], { result: named("foreign") }, instances[1]),
        respond(client, asked[(at + 1) % clients.length], { result: named("foreign") }, instances[0]),
      ]),
    );
    const results = await Promise.all(calls.map((call) => call.answer()));
    for (const [at, answer] of results.entries()) {
      const text = JSON.stringify(answer);
      expect(text).toContain(`canary ${at};`);
      expect(text).not.toContain("foreign");
    }
  }, 60_000);
});

describe("a request state that another instance sealed", () => {
  it("resumes the call there", async () => {
    const token = await issuer.mint(instances[0].resource("both"), { sub: "alice" });
    const args = { ask: [{ who: form }], state: "kept" };
    const call = (gateway: GatewayUnderTest, resume: Loose): ReturnType<typeof post> => {
      const caller = { gateway, server: "both", token };
      const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": everyFeature };
      const params = { name: "m_echo", arguments: args, ...resume, _meta };
      return post(caller, modernHeaders(caller, "tools/call", "m_echo"), {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params,
      });
    };
    const first = (await call(instances[0], {})).json["result"] as Loose;
    const resume = { requestState: first["requestState"], inputResponses: { who: named("Octo") } };
    expect((await call(instances[1], resume)).json["result"]).toMatchObject({ told: [{ who: named("Octo") }] });
  });
});
