import { Agent, request } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startIssuer, until } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { legacyCall, legacyHeaders, modernHeaders, modernMeta, openSession } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream, Script } from "../upstream/scripted-upstream.ts";
import { startProbedGateway } from "./probed-process.ts";
import type { Figures, ProbedProcess } from "./probed-process.ts";

const abandoned = 5_000;
const people = 60;
/** Far below what a session or a stream that is kept would take: the least seen in the field are 300 kB each. */
const bytesGrownMax = 8_000_000;

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let upstreams: { readonly old: ScriptedUpstream; readonly new: ScriptedUpstream };
let gateway: ProbedProcess;
const agent = new Agent({ keepAlive: true, maxSockets: 24 });

/** Begins to answer as a stream where the call asks for progress, and takes its time to come to an end. */
const takesItsTime: Script = ({ method, rpc }, wire) => {
  if (method === "GET") {
    wire.respond(405, undefined, "");
    return true;
  }
  const token = ((rpc["params"] as Loose | undefined)?.["_meta"] as Loose | undefined)?.["progressToken"];
  if (rpc["method"] !== "tools/call" || token === undefined) return false;
  wire.eventStream();
  const params = { progressToken: token, progress: 1 };
  wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params }));
  setTimeout(() => {
    wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", content: [] } }));
    wire.endChunks();
  }, 1_000);
  return true;
};

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  upstreams = { old: await startScriptedUpstream({ era: "legacy" }), new: await startScriptedUpstream() };
  for (const upstream of Object.values(upstreams)) upstream.script(takesItsTime);
  const of = ({ url }: ScriptedUpstream): Loose => ({ url, connectionsMax: 1_024 });
  gateway = await startProbedGateway({
    issuer: { origin: issuer.origin },
    redisUrl: redis.url,
    upstreams: { old: of(upstreams.old), new: of(upstreams.new) },
    servers: { old: { old: "" }, new: { new: "" } },
    config: { limits: { sessionIdleMs: 10_000, sessionsPerPrincipalMax: 1_000, upstreamSessionIdleMs: 1_000 } },
  });
}, 60_000);

afterAll(async () => {
  agent.destroy();
  await gateway.stop();
  for (const upstream of Object.values(upstreams)) await upstream.close();
  await issuer.close();
  await redis.stop();
});

/** A caller by number: people take turns. */
type Callers = (server: string, at: number) => Caller;

async function everybody(): Promise<Callers> {
  const tokens = new Map<string, string>();
  for (const server of ["old", "new"])
    for (let at = 0; at < people; at += 1)
      tokens.set(`${server} ${String(at)}`, await issuer.mint(gateway.resource(server), { sub: `p${String(at)}` }));
  return (server, at) => ({ gateway, server, agent, token: tokens.get(`${server} ${String(at % people)}`)! });
}

async function inTurns(count: number, atOnce: number, work: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let at = next++; at < count; at = next++) await work(at);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

interface Stream {
  readonly caller: Caller;
  readonly method: "GET" | "POST";
  readonly headers: ReturnType<typeof legacyHeaders>;
  readonly body: unknown;
}

const call = (meta: Loose): Loose => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "echo", arguments: {}, _meta: { ...meta, progressToken: 1 } },
});

/** Every kind of stream that a client can have. A legacy one is of a session, which is abandoned as well. */
const kinds: readonly ((session: Caller, modern: Caller) => Stream)[] = [
  (caller) => ({ caller, method: "POST", headers: legacyHeaders(caller), body: call({}) }),
  (_session, caller) => {
    const headers = modernHeaders(caller, "tools/call", "echo");
    return { caller, method: "POST", headers, body: call(modernMeta) };
  },
  (caller) => ({
    caller,
    method: "GET",
    headers: { ...legacyHeaders(caller), accept: "text/event-stream" },
    body: undefined,
  }),
  (_session, caller) => {
    const method = "subscriptions/listen";
    const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
    return {
      caller,
      method: "POST",
      headers: modernHeaders(caller, method),
      body: { jsonrpc: "2.0", id: 1, method, params },
    };
  },
];

/** Opens a stream, waits for its first bytes, and hangs up. */
function dropStream({ caller, method, headers, body }: Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port: gateway.port,
      path: `/${caller.server}/mcp`,
      method,
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
        string,
        string
      >,
      agent: false,
    });
    outgoing.on("response", (response) => {
      response.on("error", () => undefined);
      if (response.headers["content-type"] !== "text/event-stream") {
        response.on("data", (text: Buffer) => {
          reject(
            new Error(`no stream: ${method} ${JSON.stringify(body)} ${String(response.statusCode)} ${text.toString()}`),
          );
        });
        return;
      }
      response.once("data", () => {
        response.once("close", resolve);
        outgoing.destroy();
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/**
 * Records of the store, but for the two streams in which replicas write to each other, which stay for a minute, and
 * what was put in force, which is kept for the next start.
 */
async function keys(): Promise<number> {
  const others = ["{courier}:*", "*bundle*"].map((pattern) => ` - #redis.call('KEYS', 'sallyport:${pattern}')`);
  const count = `return #redis.call('KEYS', '*')${others.join("")}`;
  return Number((await redis.command(`EVAL "${count}" 0`)).slice(1));
}

/** Waits until all that expires has expired, and the process holds no more timers and sockets than it did. */
async function settled(before?: {
  readonly keys: number;
  readonly figures: Figures;
}): Promise<{ keys: number; figures: Figures }> {
  let now = { keys: await keys(), figures: await gateway.measure() };
  const isBack = (): boolean =>
    now.keys <= (before?.keys ?? 0) &&
    now.figures.timers <= (before?.figures.timers ?? Infinity) &&
    now.figures.sockets <= (before?.figures.sockets ?? Infinity);
  const deadline = Date.now() + 25_000;
  while (!isBack() && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    now = { keys: await keys(), figures: await gateway.measure() };
  }
  return now;
}

/** Nobody says goodbye: each opens a session, some use it, and each opens a stream of some kind and hangs up. */
async function abandon(callers: Callers, count: number): Promise<void> {
  await inTurns(count, 24, async (at) => {
    const session = await openSession(callers("old", at));
    if (at % 10 === 0) await legacyCall(session, "tools/call", { name: "echo", arguments: {} });
    await dropStream(kinds[at % kinds.length]!(session, callers("new", at)));
  });
}

it("5,000 abandoned sessions and 5,000 dropped streams leave nothing behind once they have expired", async () => {
  const callers = await everybody();
  await abandon(callers, 300);
  const before = await settled();
  expect(before.keys, "everything of the warm-up has expired").toBe(0);
  await abandon(callers, abandoned);
  expect(await keys()).toBeGreaterThan(0);
  const after = await settled(before);
  expect(after.keys).toBe(0);
  expect(after.figures.timers).toBeLessThanOrEqual(before.figures.timers);
  expect(after.figures.sockets).toBeLessThanOrEqual(before.figures.sockets);
  expect(after.figures.bytes - before.figures.bytes).toBeLessThan(bytesGrownMax);
  await until(() => upstreams.old.sessions.size <= 1);
}, 600_000);
