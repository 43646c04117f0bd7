import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startIssuer, until } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { send } from "../journey/http-client.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import { legacyHeaders, modernCall, modernHeaders, modernMeta, openSession, post } from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { eras, hops, startPairings } from "./pairings.ts";
import type { Era, Hop, Pairings } from "./pairings.ts";

let issuer: IssuerUnderTest;
let pairings: Pairings;
/** Per upstream request that is held: what ends it. */
const held = new Map<unknown, () => void>();

const uses: Readonly<Record<string, Loose>> = {
  "tools/call": { name: "echo", arguments: {} },
  "prompts/get": { name: "ask", arguments: {} },
  "resources/read": { uri: "x://a" },
  "completion/complete": { ref: { type: "ref/prompt", name: "ask" }, argument: { name: "topic", value: "t" } },
};

const results: Readonly<Record<string, Loose>> = {
  "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
  "prompts/list": { prompts: [{ name: "ask", arguments: [{ name: "topic" }] }] },
  "resources/list": { resources: [{ uri: "x://a", name: "a" }] },
  "tools/call": { content: [] },
  "prompts/get": { messages: [] },
  "resources/read": { contents: [] },
  "completion/complete": { completion: { values: [] } },
};

beforeAll(async () => {
  issuer = await startIssuer();
  pairings = await startPairings((method) => results[method], {
    issuer,
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    // Room for all that are held at once.
    upstream: { connectionsMax: 250 },
    onRequest: ({ rpc }, wire, era) => {
      const result = results[String(rpc["method"])];
      if (uses[String(rpc["method"])] === undefined || result === undefined) return false;
      const form = era === "modern" ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
      held.set(rpc["id"], () => {
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { ...result, ...form } });
      });
      return true;
    },
  });
});

afterAll(async () => {
  await pairings.close();
  await issuer.close();
});

async function callerOf(sub: string, server: Era): Promise<Caller> {
  return { gateway: pairings.gateway, server, token: await issuer.mint(pairings.gateway.resource(server), { sub }) };
}

interface Running {
  readonly caller: Caller;
  readonly upstreamId: unknown;
  readonly answer: Promise<Received | "gone">;
  leave(): void;
}

/** A use of an item that the upstream holds, by a client whose id for it is always 7. */
async function run({ client, server }: Hop, method: string, sub: string): Promise<Running> {
  const own = await callerOf(sub, server);
  const caller = client === "legacy" ? await openSession(own) : own;
  const params = uses[method] ?? {};
  const gone = new AbortController();
  const before = new Set(held.keys());
  const answer = send({
    port: pairings.gateway.port,
    path: `/${server}/mcp`,
    headers: client === "legacy" ? legacyHeaders(caller) : modernHeaders(caller, method, nameIn(params)),
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 7,
      method,
      params: client === "legacy" ? params : { ...params, _meta: modernMeta },
    }),
    signal: gone.signal,
  }).catch((): "gone" => "gone");
  await until(() => held.size > before.size);
  const upstreamId = [...held.keys()].find((id) => !before.has(id));
  return {
    caller,
    upstreamId,
    answer,
    leave: () => {
      gone.abort();
    },
  };
}

/** What `Mcp-Name` repeats of the parameters, where there is anything to repeat. */
function nameIn(params: Loose): string | undefined {
  const name = params["name"] ?? params["uri"];
  return typeof name === "string" ? name : undefined;
}

async function cancel(caller: Caller, requestId: unknown): Promise<Received> {
  const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason: "enough" } };
  return post(caller, legacyHeaders(caller), body);
}

/** That the upstream heard of the end of this request, and of no other. */
async function heardBy(server: Era, id: unknown, heardBefore: number): Promise<void> {
  const upstream = pairings.upstream(server);
  const heard = (): unknown[] =>
    server === "legacy" ? [...upstream.cancelled] : upstream.abandoned.map(({ rpc }) => rpc["id"]);
  await until(() => heard().includes(id));
  expect(heard().slice(heardBefore)).toEqual([id]);
}

const heardCount = (server: Era): number =>
  server === "legacy" ? pairings.upstream("legacy").cancelled.length : pairings.upstream("modern").abandoned.length;

function release(id: unknown): void {
  held.get(id)?.();
  held.delete(id);
}

const pairs = hops.flatMap((hop) => Object.keys(uses).map((method) => ({ ...hop, method })));

describe.each(pairs)("$method by a $client client to a $server server", ({ client, server, method }) => {
  it("that is cancelled ends upstream, under the upstream's own id, and nowhere else", async () => {
    const before = heardCount(server);
    const [mine, other] = [
      await run({ client, server }, method, "alice"),
      await run({ client, server }, method, "bob"),
    ];
    if (client === "modern") mine.leave();
    else expect([(await cancel(mine.caller, 7)).status, (await cancel(mine.caller, 7)).text]).toEqual([202, ""]);
    await heardBy(server, mine.upstreamId, before);
    release(other.upstreamId);
    expect(await other.answer).toMatchObject({ status: 200, json: { id: 7 } });
    mine.leave();
    held.delete(mine.upstreamId);
  });
});

describe.each(eras)("a cancellation in front of a %s server", (server) => {
  it("of another client's request, of one that is over, or of none is taken and changes nothing", async () => {
    const before = heardCount(server);
    const running = await run({ client: "legacy", server }, "tools/call", "alice");
    const other = await openSession(await callerOf("bob", server));
    const sameOwner = await openSession(await callerOf("alice", server));
    for (const caller of [other, sameOwner])
      for (const id of [7, running.upstreamId, "7", 7.5, null]) expect((await cancel(caller, id)).status).toBe(202);
    release(running.upstreamId);
    expect(await running.answer).toMatchObject({ status: 200, json: { id: 7 } });
    expect((await cancel(running.caller, 7)).status).toBe(202);
    expect(heardCount(server)).toBe(before);
  });

  it("of one of a hundred requests with the same id ends that one, and ninety-nine finish", async () => {
    const before = heardCount(server);
    const all: Running[] = [];
    for (let at = 0; at < 100; at += 1) all.push(await run({ client: "legacy", server }, "tools/call", `person ${at}`));
    const [chosen] = all.splice(41, 1);
    await cancel(chosen!.caller, 7);
    await heardBy(server, chosen!.upstreamId, before);
    for (const { upstreamId } of all) release(upstreamId);
    const answers = await Promise.all(all.map(({ answer }) => answer));
    expect(
      answers.filter((answer) => answer !== "gone" && answer.status === 200 && "result" in answer.json),
    ).toHaveLength(99);
    chosen!.leave();
  });
});

describe("a slot of the principal's", () => {
  it("is free again once its call is cancelled", async () => {
    const server = "modern";
    const caller = await callerOf("busy", server);
    const running = [];
    for (let at = 0; at < 100; at += 1) running.push(await run({ client: "modern", server }, "tools/call", "busy"));
    const refused = await modernCall(caller, "tools/call", uses["tools/call"]);
    expect(refused.text).toContain("CONCURRENCY_LIMITED");
    running[0]!.leave();
    await until(async () => {
      const next = run({ client: "modern", server }, "prompts/get", "busy");
      const settled = await Promise.race([
        next,
        new Promise<undefined>((resolve) => setTimeout(resolve, 200, undefined)),
      ]);
      settled?.leave();
      return settled !== undefined;
    });
    for (const one of running) one.leave();
  });
});
