import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startIssuer } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { send } from "../journey/http-client.ts";
import type { Received } from "../journey/http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { planFleet } from "./gateway-process.ts";
import type { Fleet, GatewayProcess } from "./gateway-process.ts";

const people = 40;
const callsEach = 12;

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstreams: { legacy: ScriptedUpstream; modern: ScriptedUpstream };
let fleet: Fleet;
let gateways: readonly [GatewayProcess, GatewayProcess];

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstreams = { legacy: await startScriptedUpstream({ era: "legacy" }), modern: await startScriptedUpstream() };
  for (const upstream of Object.values(upstreams))
    upstream.script(async ({ rpc }) => {
      if (rpc["method"] === "tools/call") await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60));
      return false;
    });
  fleet = await planFleet({
    issuer,
    redisUrl: redis.url,
    upstreams: { l: upstreams.legacy.url, m: upstreams.modern.url },
  });
  gateways = [await fleet.start(), await fleet.start()];
}, 120_000);

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all(Object.values(upstreams).map((upstream) => upstream.close()));
  await issuer.close();
  await redis.stop();
  fleet.remove();
});

interface Person {
  readonly index: number;
  readonly token: string;
  readonly session: string | undefined;
}

/** What a client can tell of one call: it was answered, or its connection broke. */
type Came = { readonly kind: "answer"; readonly answer: Received } | { readonly kind: "broken" };

const path = "/all/mcp";

async function post(at: 0 | 1, headers: Parameters<typeof send>[0]["headers"], body: unknown): Promise<Came> {
  const { port } = gateways[at];
  const sent = { port, path, headers: headers ?? {}, body: JSON.stringify(body), signal: AbortSignal.timeout(20_000) };
  try {
    return { kind: "answer", answer: await send(sent) };
  } catch (fault) {
    // A deadline that passes is what must not happen; a connection that breaks is what a crash looks like.
    if (fault instanceof Error && fault.name === "AbortError") throw new Error("a call hung", { cause: fault });
    return { kind: "broken" };
  }
}

async function arrive(index: number): Promise<Person> {
  const token = await issuer.mint(`${fleet.publicUrl}/all/mcp`, { sub: `person-${index}` });
  if (index % 2 === 0) return { index, token, session: undefined };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const came = await post(index % 4 === 1 ? 0 : 1, legacyHeaders({ token }), rpc("initialize", params));
  const session = came.kind === "answer" ? came.answer.headers["mcp-session-id"] : undefined;
  if (typeof session !== "string") throw new Error("no session was opened");
  return { index, token, session };
}

const rpc = (method: string, params: unknown): unknown => ({ jsonrpc: "2.0", id: 1, method, params });

function call(at: 0 | 1, { token, session }: Person, upstream: "l" | "m", text: string): Promise<Came> {
  const params = { name: `${upstream}_echo`, arguments: { text } };
  if (session !== undefined) return post(at, legacyHeaders({ token, session }), rpc("tools/call", params));
  const headers = modernHeaders({ token }, "tools/call", params.name);
  return post(at, headers, rpc("tools/call", { ...params, _meta: modernMeta }));
}

interface Made {
  readonly text: string;
  readonly came: Came;
  readonly at: 0 | 1;
}

/** One call after the other; whoever finds its connection broken goes to the other process from then on. */
async function work(person: Person, afterCall: () => void): Promise<readonly Made[]> {
  const made: Made[] = [];
  let at: 0 | 1 = person.index % 4 < 2 ? 0 : 1;
  for (let round = 0; round < callsEach; round += 1) {
    const text = `person-${person.index} round-${round};`;
    const came = await call(at, person, round % 2 === 0 ? "l" : "m", text);
    made.push({ text, came, at });
    afterCall();
    if (came.kind === "broken") at = at === 0 ? 1 : 0;
  }
  return made;
}

function executionsOf(text: string): number {
  return Object.values(upstreams)
    .flatMap(({ received }) => received)
    .filter(({ rpc: message, body }) => message["method"] === "tools/call" && body.includes(text)).length;
}

describe("one of two processes is killed under load", () => {
  it("every client goes on at the other one, hangs nowhere, and nothing is executed twice", async () => {
    const crowd = await Promise.all(Array.from({ length: people }, (_, index) => arrive(index)));
    let calls = 0;
    let killed: Promise<void> | undefined;
    const countAndKill = (): void => {
      calls += 1;
      if (calls === people * 3) killed = gateways[0].kill();
    };
    const made = (await Promise.all(crowd.map((person) => work(person, countAndKill)))).flat();
    await killed;

    const broken = made.filter(({ came }) => came.kind === "broken");
    expect(broken.length).toBeGreaterThan(0);
    expect(broken.every(({ at }) => at === 0)).toBe(true);
    const answers = made.flatMap(({ came, text }) =>
      came.kind === "answer" ? [{ ...came.answer, text, body: came.answer.text }] : [],
    );
    const wrong = answers.filter(({ status, body, text }) => status !== 200 || !body.includes(text));
    expect(wrong).toEqual([]);
    expect(made.map(({ text }) => [text, executionsOf(text)]).filter(([, times]) => Number(times) > 1)).toEqual([]);
    const lost = answers.filter(({ text }) => executionsOf(text) !== 1);
    expect(lost).toEqual([]);
  }, 180_000);
});
