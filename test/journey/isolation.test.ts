import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyCall, legacyHeaders, modernCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstreams: readonly ScriptedUpstream[];
/** Two instances of one deployment, on one store. */
let instances: readonly [GatewayUnderTest, GatewayUnderTest];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstreams = await Promise.all([startScriptedUpstream(), startScriptedUpstream({ era: "legacy", answers: "events" })]);
  // Answers change places: each waits a random while.
  for (const upstream of upstreams)
    upstream.script(async ({ rpc }) => {
      if (rpc["method"] === "tools/call") await pause(Math.random() * 20);
      return false;
    });
  const publicPort = await freePort();
  const start = (): Promise<GatewayUnderTest> =>
    startGatewayUnderTest({
      issuer,
      upstreams: { modern: upstreams[0]?.url ?? "", legacy: upstreams[1]?.url ?? "" },
      servers: { both: { modern: "m_", legacy: "l_" } },
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

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function callerOf(sub: string, at: 0 | 1 = 0): Promise<Caller> {
  const gateway = instances[at];
  return { gateway, server: "both", token: await issuer.mint(gateway.resource("both"), { sub }) };
}

const on = <C extends Caller>(caller: C, at: 0 | 1): C => ({ ...caller, gateway: instances[at] });

describe("fifty principals that all number their calls 1", () => {
  it("get their own answers alone, each of them, whichever instance and era they meet", async () => {
    const principals = Array.from({ length: 50 }, (_, at) => `principal-${at}`);
    const canaryOf = (name: string, round: number): string => `canary ${name} ${round};`;
    const ask = async (name: string): Promise<{ name: string; answers: Received[]; rounds: number[] }> => {
      const caller = await callerOf(name);
      const session = await openSession(caller);
      const rounds = [0, 1, 2, 3, 4, 5];
      const answers = await Promise.all(
        rounds.map(async (round) => {
          const at = round % 2 === 0 ? 0 : 1;
          const params = { name: round < 3 ? "m_echo" : "l_echo", arguments: { text: canaryOf(name, round) } };
          return round % 3 === 0
            ? modernCall(on(caller, at), "tools/call", params, 1)
            : legacyCall(on(session, at), "tools/call", params, 1);
        }),
      );
      return { name, answers, rounds };
    };
    const all = await Promise.all(principals.map(ask));
    for (const { name, answers, rounds } of all)
      for (const round of rounds) {
        const answer = answers[round];
        expect([answer?.status, answer?.json["id"]]).toEqual([200, 1]);
        const { content } = answer?.json["result"] as { content: { text: string }[] };
        expect(content.map(({ text }) => text)).toEqual([JSON.stringify({ text: canaryOf(name, round) })]);
        expect(answer?.text.match(/canary principal-\d+ \d;/g)).toEqual([canaryOf(name, round)]);
      }
    expect(upstreams.map(({ ledger }) => ledger.length)).toEqual([150, 150]);
  });

  it("never shared a session of a legacy upstream", () => {
    const bySession = new Map<string, Set<string>>();
    for (const request of upstreams[1]?.received ?? []) {
      const { rpc, body } = request;
      if (rpc["method"] !== "tools/call") continue;
      const owner = /canary (principal-\d+)/.exec(body)?.[1] ?? "nobody";
      const session = request.header("mcp-session-id") ?? "none";
      bySession.set(session, (bySession.get(session) ?? new Set()).add(owner));
    }
    expect(bySession.size).toBeGreaterThanOrEqual(50);
    for (const owners of bySession.values()) expect(owners.size).toBe(1);
  });
});

describe("a legacy session", () => {
  const remove = (caller: Caller): Promise<Received> =>
    send({
      port: caller.gateway.port,
      path: "/both/mcp",
      method: "DELETE",
      headers: legacyHeaders(caller),
    });

  it("opened on one instance works on the other, and ended there is ended here", async () => {
    const alice = await openSession(await callerOf("alice"));
    expect((await legacyCall(on(alice, 1), "ping")).status).toBe(200);
    expect((await remove(on(alice, 1))).status).toBe(200);
    for (const at of [0, 1] as const) {
      const answer = await legacyCall(on(alice, at), "ping");
      expect([answer.status, refusalIn(answer).code]).toEqual([404, "SESSION_UNKNOWN"]);
    }
  });

  it("outlives the token it was opened with, for the same principal alone", async () => {
    const alice = await openSession(await callerOf("alice"));
    const renewed = await issuer.mint(instances[0].resource("both"), { sub: "alice", jti: "another" });
    expect((await legacyCall({ ...alice, token: renewed }, "ping")).status).toBe(200);
    const otherClient = await issuer.mint(instances[0].resource("both"), { sub: "alice", client_id: "other" });
    expect((await legacyCall({ ...alice, token: otherClient }, "ping")).status).toBe(404);
  });

  it("cannot be ended by another principal, who hears what a stranger to it hears", async () => {
    const alice = await openSession(await callerOf("alice"));
    const bob = await callerOf("bob");
    const foreign = await remove({ ...bob, session: alice.session });
    const absent = await remove({ ...bob, session: "AAAAAAAAAAAAAAAAAAAAAA" });
    const blind = ({ status, text, json }: Received): Loose => ({
      status,
      text: text.replace(refusalIn({ json }).ref, "REF"),
    });
    expect(blind(foreign)).toEqual(blind(absent));
    expect(foreign.status).toBe(404);
    expect((await legacyCall(alice, "ping")).status).toBe(200);
  });
});

describe("what policy hides", () => {
  it("is answered like what does not exist: equal bytes once the name is substituted", async () => {
    const gateway = await startGatewayUnderTest({
      issuer,
      upstreams: { modern: upstreams[0]?.url ?? "" },
      servers: { both: { modern: "m_" } },
      rules: [
        {
          id: "few",
          effect: "allow",
          who: { groups: { any: ["corp:few"] } },
          what: { upstream: "modern", tool: "echo" },
        },
      ],
    });
    const caller = { gateway, server: "both", token: await issuer.mint(gateway.resource("both"), { sub: "eve" }) };
    expect((await modernCall(caller, "tools/list")).json["result"]).toMatchObject({ tools: [] });
    const blind = (answer: Received, name: string): string =>
      answer.text.replace(refusalIn(answer).ref, "REF").replaceAll(name, "NAME");
    const hidden = await modernCall(caller, "tools/call", { name: "m_echo", arguments: {} });
    const absent = await modernCall(caller, "tools/call", { name: "m_none", arguments: {} });
    expect(blind(hidden, "m_echo")).toBe(blind(absent, "m_none"));
    await gateway.stop();
    const asked = gateway.audit().filter(({ method }) => method !== undefined);
    expect(asked.map(({ refusal }) => refusal?.code)).toEqual([undefined, "ITEM_HIDDEN", "ITEM_UNKNOWN"]);
    await gateway.remove();
  });
});
