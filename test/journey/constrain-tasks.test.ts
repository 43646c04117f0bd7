import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { shownAs, startTaskUpstream } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { legacyCall, modernHeaders, modernMeta, openSession, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const secret = "123-45-6789";
const anyone = { anyone: true };
const what = { upstream: "up", tool: "slow" };
const rules: Loose[] = [
  { id: "tools", effect: "allow", who: anyone, what: { upstream: "up" } },
  { id: "no-ssn", effect: "constrain", who: anyone, what, removeFields: ["/ssn"], presets: { region: "eu" } },
  {
    id: "few",
    effect: "constrain",
    who: anyone,
    what,
    limits: { quota: "1/day", per: "principal" },
    resultBytesMax: 2_000,
  },
  { id: "eu", effect: "deny", who: anyone, what, when: '!has(args.region) || args.region != "eu"' },
];

let issuer: IssuerUnderTest;
let upstream: TaskUpstream;
let gateway: GatewayUnderTest;
let alice: Caller;

beforeAll(async () => {
  issuer = await startIssuer();
});

afterAll(() => issuer.close());

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

async function open(era: "legacy" | "modern"): Promise<void> {
  upstream = await startTaskUpstream(era);
  gateway = await startGatewayUnderTest({ issuer, upstreams: { up: upstream.url }, servers: { s: { up: "" } }, rules });
  const token = await issuer.mint(gateway.resource("s"), { sub: "alice" });
  alice = { gateway, server: "s", token };
}

const resultOf = ({ json }: Received): Loose => (json["result"] ?? {}) as Loose;

describe("a legacy task of a tool that policy constrains", () => {
  let taskId: string;

  beforeEach(async () => {
    await open("legacy");
    alice = await openSession(alice);
    const promised = await legacyCall(alice, "tools/call", { name: "slow", arguments: {}, task: {} });
    taskId = String((resultOf(promised)["task"] as Loose)["taskId"]);
    const task = upstream.last();
    task.status = "completed";
    task.message = `found ${secret}`;
    task.result = { structuredContent: { ssn: secret, name: "Ada" }, content: [{ type: "text", text: secret }] };
  });

  it("is promised without words of its upstream's", async () => {
    const state = { ...shownAs("legacy", { taskId: "t", tool: "slow", status: "working" }), statusMessage: secret };
    upstream.answer("tools/call", ({ rpc }, wire) => {
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { task: { ...state, more: secret }, more: secret } });
    });
    const bob = await openSession({
      gateway,
      server: "s",
      token: await issuer.mint(gateway.resource("s"), { sub: "bob" }),
    });
    const promised = await legacyCall(bob, "tools/call", { name: "slow", arguments: {}, task: {} });
    expect(resultOf(promised)["task"]).toMatchObject({ status: "working" });
    expect(promised.text).not.toContain(secret);
  });

  it("was begun with the presets", () => {
    expect(upstream.sent("tools/call")[0]!.rpc["params"]).toMatchObject({ arguments: { region: "eu" } });
  });

  it("says nothing of what is removed, in its state, its list and its result", async () => {
    const state = await legacyCall(alice, "tasks/get", { taskId });
    expect(resultOf(state)).toMatchObject({ taskId, status: "completed" });
    const listed = await legacyCall(alice, "tasks/list");
    expect(resultOf(listed)["tasks"]).toHaveLength(1);
    const result = await legacyCall(alice, "tasks/result", { taskId });
    expect(resultOf(result)).toMatchObject({ structuredContent: { name: "Ada" } });
    for (const { text } of [state, listed, result]) expect(text).not.toContain(secret);
  });

  it("is asked about and cancelled whatever is used up: it is part of the use that made it", async () => {
    const again = await legacyCall(alice, "tools/call", { name: "slow", arguments: {} });
    expect(refusalIn(again).code).toBe("QUOTA_EXHAUSTED");
    upstream.last().status = "working";
    for (let n = 0; n < 3; n += 1)
      expect(resultOf(await legacyCall(alice, "tasks/get", { taskId }))["taskId"]).toBe(taskId);
    expect(resultOf(await legacyCall(alice, "tasks/cancel", { taskId }))["status"]).toBe("cancelled");
  });

  it("has its result withheld where it is too large", async () => {
    upstream.last().result = { structuredContent: { name: "A".repeat(2_000) }, content: [] };
    expect(refusalIn(await legacyCall(alice, "tasks/result", { taskId })).code).toBe("RESULT_TOO_LARGE");
  });

  it("has no words of an error", async () => {
    upstream.last().error = { code: -32050, message: `no ${secret}` };
    const failed = await legacyCall(alice, "tasks/result", { taskId });
    expect(failed.json["error"]).toBeDefined();
    expect(failed.text).not.toContain(secret);
  });
});

describe("a modern task of a tool that policy constrains", () => {
  const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const ask = (method: string, params: Loose, name: string): Promise<Received> => {
    const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
    return post(alice, modernHeaders(alice, method, name), {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta },
    });
  };

  it("says nothing of what is removed, in its promise, its state, its result and its error", async () => {
    await open("modern");
    upstream.answer("tools/call", ({ rpc }, wire) => {
      upstream.tasks.set("t", { taskId: "t", tool: "slow", status: "working" });
      const state = { ...shownAs("modern", upstream.last()), statusMessage: secret, more: secret, resultType: "task" };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: state });
    });
    const promised = await ask("tools/call", { name: "slow", arguments: {} }, "slow");
    const taskId = String(resultOf(promised)["taskId"]);
    const task = upstream.last();
    Object.assign(task, { status: "completed", message: secret });
    task.result = { structuredContent: { ssn: secret, name: "Ada" }, content: [{ type: "text", text: secret }] };
    const done = await ask("tasks/get", { taskId }, taskId);
    expect(resultOf(done)).toMatchObject({
      taskId,
      status: "completed",
      result: { structuredContent: { name: "Ada" } },
    });
    Object.assign(task, {
      status: "failed",
      result: undefined,
      error: { code: -32050, message: secret, data: secret },
    });
    const failed = await ask("tasks/get", { taskId }, taskId);
    expect(resultOf(failed)).toMatchObject({ status: "failed", error: { code: -32050 } });
    for (const { text } of [promised, done, failed]) expect(text).not.toContain(secret);
  });
});
