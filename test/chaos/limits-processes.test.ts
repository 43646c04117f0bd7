import { afterAll, beforeAll, expect, it } from "vitest";
import { startIssuer, until } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { modernCall, refusalIn } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { planFleet } from "./gateway-process.ts";
import type { Fleet, GatewayProcess } from "./gateway-process.ts";

const rate = { burst: 100, count: 20, perMs: 1_000 };
const quota = 150;

const rules = [
  { id: "all", effect: "allow", who: { anyone: true }, what: { anything: true } },
  limited("rated", { rate: `${rate.count}/s`, burst: rate.burst, per: "server" }),
  limited("quoted", { quota: `${quota}/day`, per: "principal" }),
];

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
let fleet: Fleet;
let gateways: readonly [GatewayProcess, GatewayProcess];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstream = await startScriptedUpstream({ tools: ["rated", "quoted"].map(tool) });
  fleet = await planFleet({
    issuer,
    redisUrl: redis.url,
    upstreams: { m: upstream.url },
    rules,
    // Nobody looks at the files: they are read when somebody says so.
    config: { limits: { bundlePollMs: 3_600_000 } },
  });
  gateways = [await fleet.start(), await fleet.start()];
}, 120_000);

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await upstream.close();
  await issuer.close();
  await redis.stop();
  fleet.remove();
});

function limited(tool: string, limits: object): object {
  const what = { upstream: "m", tool };
  return { id: `few-${tool}`, effect: "constrain", who: { anyone: true }, what, limits };
}

function tool(name: string): { name: string; inputSchema: object } {
  return { name, inputSchema: { type: "object" } };
}

async function callersOf(sub: string): Promise<readonly Caller[]> {
  const token = await issuer.mint(`${fleet.publicUrl}/all/mcp`, { sub });
  return gateways.map((gateway) => ({ gateway, server: "all", token }));
}

/** Empty for a call that went through. */
async function call(caller: Caller, name: string): Promise<string> {
  return refusalIn(await modernCall(caller, "tools/call", { name: `m_${name}`, arguments: {} })).code;
}

it("a process that is told to hang up reads its policies again, and goes on", async () => {
  const [caller] = await callersOf("ann");
  const names = async (): Promise<unknown> => (await modernCall(caller!, "tools/list")).json["result"];
  expect(await names()).toMatchObject({ tools: [{ name: "m_rated" }, { name: "m_quoted" }] });
  fleet.write([rules[0]!, { id: "not-quoted", effect: "deny", who: { anyone: true }, what: { tool: "quoted" } }]);
  gateways[0].hangUp();
  await until(async () => !JSON.stringify(await names()).includes("m_quoted"));
  fleet.write(rules);
  gateways[0].hangUp();
  await until(async () => JSON.stringify(await names()).includes("m_quoted"));
}, 30_000);

it("a rate is exact within 2 % across two processes on one Redis", async () => {
  const people = (await Promise.all(["ada", "bo", "cy"].map((sub) => callersOf(sub)))).flat();
  // Both have read the catalog before anything is counted.
  await Promise.all(people.map((caller) => modernCall(caller, "tools/list")));
  const began = performance.now();
  let [firstAnswer, lastAsked, allowed] = [Infinity, 0, 0];
  const codes = new Set<string>();
  await Promise.all(
    people.map(async (caller) => {
      for (;;) {
        const asked = performance.now();
        if (asked - began > 6_000) return;
        lastAsked = Math.max(lastAsked, asked);
        const code = await call(caller, "rated");
        firstAnswer = Math.min(firstAnswer, performance.now());
        codes.add(code);
        if (code === "") allowed += 1;
      }
    }),
  );
  const most = rate.burst + (rate.count * (performance.now() - began)) / rate.perMs;
  const least = rate.burst + (rate.count * (lastAsked - firstAnswer)) / rate.perMs - 1;
  expect([...codes].sort()).toEqual(["", "RATE_LIMITED"]);
  expect(allowed).toBeLessThanOrEqual(most * 1.02);
  expect(allowed).toBeGreaterThanOrEqual(least * 0.98);
  expect(upstream.ledger.filter((name) => name === "rated")).toHaveLength(allowed);
}, 60_000);

it("a daily quota is exact across two processes, and each person's own", async () => {
  const shares = ["dee", "eve"].map(async (sub) => {
    const callers = await callersOf(sub);
    const turns = Array.from({ length: 2 * quota }, (_, at) => callers[at % callers.length]!);
    const codes: string[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let caller = turns.pop(); caller !== undefined; caller = turns.pop())
          codes.push(await call(caller, "quoted"));
      }),
    );
    return codes.filter((code) => code === "").length;
  });
  // At midnight UTC a second day begins for whoever is under way.
  const day = (): number => Math.floor(Date.now() / 86_400_000);
  const today = day();
  const allowed = await Promise.all(shares);
  if (day() === today) expect(allowed).toEqual([quota, quota]);
  else for (const one of allowed) expect(one).toBeLessThanOrEqual(2 * quota);
}, 60_000);
