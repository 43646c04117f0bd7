import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import type { Loose, Received } from "./http-client.ts";
import { legacyHeaders, modernHeaders, modernMeta, openSession, post } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

type InSession = Caller & { readonly session: string };

let issuer: IssuerUnderTest;
let redis: RedisUnderTest;
const upstreams = new Map<string, ScriptedUpstream>();
/** Two replicas of one deployment: server `legacy` and server `modern`, by the era of what is behind them. */
let here: GatewayUnderTest;
let there: GatewayUnderTest;
let next = 0;

/** Every call hangs until it is cancelled, or is told to finish; with a progress token it says once that it began. */
const pending = new Map<string, () => void>();
const hang: Parameters<ScriptedUpstream["script"]>[0] = ({ rpc }, wire) => {
  if (rpc["method"] !== "tools/call") return false;
  const { arguments: args, _meta } = rpc["params"] as { arguments: Loose; _meta?: Loose };
  const answer = { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", content: [], late: true } };
  if (_meta?.["progressToken"] === undefined) {
    pending.set(String(args["call"]), () => {
      wire.json(200, answer);
    });
    return true;
  }
  wire.eventStream();
  const params = { progressToken: _meta["progressToken"], progress: 1 };
  wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params }));
  pending.set(String(args["call"]), () => {
    wire.chunk(event(answer));
    wire.endChunks();
  });
  return true;
};

beforeAll(async () => {
  issuer = await startIssuer();
  redis = await startRedis();
  for (const era of ["legacy", "modern"] as const) {
    const upstream = await startScriptedUpstream({ era });
    upstream.script(hang);
    upstreams.set(era, upstream);
  }
  const publicPort = await freePort();
  const options = {
    issuer,
    redisUrl: redis.url,
    publicPort,
    upstreams: {
      old: upstreams.get("legacy")!.url,
      new: upstreams.get("modern")!.url,
      stoppable: { url: upstreams.get("legacy")!.url, disconnect: "cancel" },
    },
    servers: { legacy: { old: "" }, modern: { new: "" }, stoppable: { stoppable: "" } },
  };
  [here, there] = [await startGatewayUnderTest(options), await startGatewayUnderTest(options)];
});

afterAll(async () => {
  await here.remove();
  await there.remove();
  for (const upstream of upstreams.values()) await upstream.close();
  await issuer.close();
  await redis.stop();
});

async function client(server: string, sub = "alice", revision?: string): Promise<InSession> {
  return openSession({ gateway: here, server, token: await issuer.mint(here.resource(server), { sub }) }, revision);
}

interface Called {
  readonly name: string;
  readonly answer: Promise<Received>;
  /** The id under which the upstream knows the call. */
  readonly upstreamId: unknown;
}

/** Starts a call that hangs, and waits until the upstream has it. */
async function begin(caller: InSession, id: unknown, more: { accept?: string; meta?: Loose } = {}): Promise<Called> {
  const name = `call-${String((next += 1))}`;
  const headers = { ...legacyHeaders(caller), ...(more.accept === undefined ? {} : { accept: more.accept }) };
  const params = { name: "echo", arguments: { call: name }, ...(more.meta === undefined ? {} : { _meta: more.meta }) };
  const answer = post(caller, headers, { jsonrpc: "2.0", id, method: "tools/call", params });
  answer.catch(() => undefined);
  return { name, answer, upstreamId: await upstreamIdOf(name) };
}

async function upstreamIdOf(name: string): Promise<unknown> {
  await until(() => pending.has(name));
  return [...upstreams.values()]
    .flatMap(({ received }) => received)
    .find(({ rpc }) => JSON.stringify(rpc["params"] ?? {}).includes(`"${name}"`))!.rpc["id"];
}

function cancel(caller: Caller, requestId: unknown, gateway = here): Promise<Received> {
  const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason: "changed my mind" } };
  return post({ ...caller, gateway }, legacyHeaders(caller), body);
}

/** The call still runs: it is answered as if nothing had been said. */
async function expectUntouched({ name, answer, upstreamId }: Called): Promise<void> {
  pending.get(name)!();
  expect((await answer).text).toContain('"late":true');
  expect(upstreams.get("legacy")!.cancelled).not.toContain(upstreamId);
}

async function expectToldUpstream(era: string, { name, upstreamId }: Called): Promise<void> {
  const upstream = upstreams.get(era)!;
  if (era === "legacy") await until(() => upstream.cancelled.includes(upstreamId));
  else await until(() => upstream.abandoned.some(({ body }) => body.includes(`"${name}"`)));
}

const cancelled = { error: { code: -32000, data: { refusal: "CALL_CANCELLED" } } };

describe.each(["legacy", "modern"])("a call to a %s upstream that its legacy client cancels", (era) => {
  it.each([[0], [7], ["7"], [""], [-1]])("under id %j is ended with an error, and the upstream is told", async (id) => {
    const caller = await client(era);
    const call = await begin(caller, id, { accept: "application/json" });
    expect((await cancel(caller, id)).status).toBe(202);
    const answer = await call.answer;
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ id, ...cancelled });
    await expectToldUpstream(era, call);
    expect(call.upstreamId).not.toBe(id);
  });

  it("on an event stream ends the stream, with nothing after", async () => {
    const caller = await client(era);
    const call = await begin(caller, 1, { meta: { progressToken: 5 } });
    await cancel(caller, 1);
    const answer = await call.answer;
    const messages = answer.text.split("\n\n").filter((block) => block.includes("data:"));
    expect(answer.headers["content-type"]).toBe("text/event-stream");
    for (const message of messages) expect(message).toContain("notifications/progress");
    await expectToldUpstream(era, call);
  });

  it("through another replica is cancelled where it runs", async () => {
    const caller = await client(era);
    const call = await begin(caller, "far", { accept: "application/json" });
    expect((await cancel(caller, "far", there)).status).toBe(202);
    expect((await call.answer).json).toMatchObject({ id: "far", ...cancelled });
    await expectToldUpstream(era, call);
  });

  it("leaves an outcome that says so, once", async () => {
    const caller = await client(era, "evidenced");
    const call = await begin(caller, 1, { accept: "application/json" });
    await cancel(caller, 1);
    await call.answer;
    const mine = (): unknown[] =>
      here
        .audit()
        .filter(
          ({ principal, type }) => principal?.subject === "evidenced" && type !== "attempted" && type !== "session",
        )
        .map(({ type, refusal }) => [type, refusal?.code]);
    await until(() => mine().length > 1);
    // The call, and the notification.
    expect(mine()).toEqual(
      expect.arrayContaining([
        ["unknown", "CALL_CANCELLED"],
        ["returned", undefined],
      ]),
    );
    expect(mine()).toHaveLength(2);
  });
});

describe("a cancellation", () => {
  it.each([
    ["of a type that the id has not: a text", 1, "1"],
    ["of a type that the id has not: a number", "1", 1],
    ["of an id that no call has", 1, 2],
    ["without an id", 1, undefined],
    ["of null", 1, null],
    ["of an object", 1, { id: 1 }],
    ["of a fraction", 1, 1.5],
  ])("%s is accepted and changes nothing", async (_law, id, requestId) => {
    const caller = await client("legacy");
    const call = await begin(caller, id);
    for (const gateway of [here, there]) expect((await cancel(caller, requestId, gateway)).status).toBe(202);
    await expectUntouched(call);
  });

  it("in another session of the same principal, or of another, changes nothing, on either replica", async () => {
    const call = await begin(await client("legacy"), 1);
    for (const other of [await client("legacy"), await client("legacy", "mallory")])
      for (const gateway of [here, there]) expect((await cancel(other, 1, gateway)).status).toBe(202);
    await expectUntouched(call);
  });

  it("in a foreign session is refused like an unknown one, and changes nothing", async () => {
    const caller = await client("legacy");
    const call = await begin(caller, 1);
    const mallory = await client("legacy", "mallory");
    const refused = await cancel({ ...mallory, session: caller.session }, 1);
    expect(refused.status).toBe(404);
    await expectUntouched(call);
  });

  it("of an id that two calls have is ambiguous and changes nothing; once one is left it is cancelled", async () => {
    const caller = await client("legacy");
    const [one, two] = [await begin(caller, 1), await begin(caller, 1, { accept: "application/json" })];
    expect((await cancel(caller, 1)).status).toBe(202);
    await expectUntouched(one);
    await cancel(caller, 1);
    expect((await two.answer).json).toMatchObject(cancelled);
  });

  it("of a call that has ended, or twice, is accepted and changes nothing", async () => {
    const caller = await client("legacy");
    const call = await begin(caller, 1);
    await expectUntouched(call);
    expect((await cancel(caller, 1)).status).toBe(202);
    const again = await begin(caller, 2, { accept: "application/json" });
    await Promise.all([cancel(caller, 2), cancel(caller, 2)]);
    expect((await again.answer).json).toMatchObject(cancelled);
    const told = (): number => upstreams.get("legacy")!.cancelled.filter((id) => id === again.upstreamId).length;
    // The client is answered at once; the upstream is told beside that.
    await until(() => told() > 0);
    expect(told()).toBe(1);
  });

  it("of one call leaves the others of its session alone", async () => {
    const caller = await client("legacy");
    const [one, two] = [await begin(caller, 1, { accept: "application/json" }), await begin(caller, 2)];
    await cancel(caller, 1);
    expect((await one.answer).json).toMatchObject(cancelled);
    await expectUntouched(two);
  });

  it("of an element of a batch is that element's answer alone", async () => {
    const caller = await client("legacy", "alice", "2025-03-26");
    const name = `call-${String((next += 1))}`;
    const other = `call-${String((next += 1))}`;
    const element = (id: number, call: string): Loose => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "echo", arguments: { call } },
    });
    const answer = post(caller, legacyHeaders(caller), [element(1, name), element(2, other)]);
    await Promise.all([upstreamIdOf(name), upstreamIdOf(other)]);
    await cancel(caller, 1);
    await until(() => upstreams.get("legacy")!.cancelled.length > 0);
    pending.get(other)!();
    const answers = JSON.parse((await answer).text) as Loose[];
    expect(answers[0]).toMatchObject({ id: 1, ...cancelled });
    expect(answers[1]).toMatchObject({ id: 2, result: { late: true } });
  });

  it("by a modern client, who cancels by closing, is accepted and changes nothing", async () => {
    const caller = { gateway: here, server: "modern", token: await issuer.mint(here.resource("modern")) };
    const name = `call-${String((next += 1))}`;
    const params = { name: "echo", arguments: { call: name }, _meta: modernMeta };
    const answer = post(caller, modernHeaders(caller, "tools/call", "echo"), {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params,
    });
    await until(() => pending.has(name));
    const said = await post(caller, modernHeaders(caller, "notifications/cancelled"), {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: 1, _meta: modernMeta },
    });
    expect([said.status, said.text]).toEqual([202, ""]);
    pending.get(name)!();
    expect((await answer).text).toContain('"late":true');
  });
});

describe("a legacy client that loses its connection", () => {
  it.each([
    ["legacy", false],
    ["stoppable", true],
  ])("in front of an upstream of server %s cancels its call: %s", async (server, cancels) => {
    const caller = await client(server);
    const name = `call-${String((next += 1))}`;
    const leave = new AbortController();
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: { call: name } } };
    const lost = send({
      port: here.port,
      path: `/${server}/mcp`,
      headers: legacyHeaders(caller),
      body: JSON.stringify(body),
      signal: leave.signal,
    });
    lost.catch(() => undefined);
    const upstreamId = await upstreamIdOf(name);
    leave.abort();
    const { cancelled: told } = upstreams.get("legacy")!;
    if (cancels) {
      await until(() => told.includes(upstreamId));
      return;
    }
    // A later call, with its own outcome, is proof that the gateway has noticed.
    const later = await begin(caller, 2, { accept: "application/json" });
    await cancel(caller, 2);
    await later.answer;
    await until(() => told.includes(later.upstreamId));
    expect(told).not.toContain(upstreamId);
    pending.get(name)!();
  });
});

it("a client that cancels while its answer is on the way gets one or the other, never both", async () => {
  const caller = await client("legacy");
  for (let round = 0; round < 20; round += 1) {
    const call = await begin(caller, round, { meta: { progressToken: 1 } });
    const cancelling = cancel(caller, round);
    pending.get(call.name)!();
    await cancelling;
    const answers = (await call.answer).text.split("\n\n").filter((block) => /"(?:result|error)":/u.test(block));
    expect(answers.length).toBeLessThanOrEqual(1);
  }
});

it("the initialization of a session cannot be cancelled: nothing names it", async () => {
  const caller = await client("legacy");
  const opening = request({
    host: "127.0.0.1",
    port: here.port,
    path: "/legacy/mcp",
    method: "POST",
    headers: { ...legacyHeaders({ token: caller.token }), "mcp-session-id": "" } as Record<string, string>,
  });
  const answered = new Promise<number>((resolve) => {
    opening.on("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
  });
  opening.write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":');
  expect((await cancel(caller, 1)).status).toBe(202);
  opening.end('{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}');
  expect(await answered).toBe(200);
});
