import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/event.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { startTaskUpstream, text } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { legacyCall, openSession, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const related = "io.modelcontextprotocol/related-task";
let issuer: IssuerUnderTest;
let upstream: TaskUpstream;
let other: TaskUpstream;
let gateway: GatewayUnderTest;
let alice: Caller;
let bob: Caller;

const rules = [
  { id: "tools", effect: "allow", who: { anyone: true }, what: { upstream: "up", tool: "*" } },
  { id: "others", effect: "allow", who: { anyone: true }, what: { upstream: "other", tool: "*" } },
];

beforeAll(async () => {
  issuer = await startIssuer();
});

beforeEach(async () => {
  upstream = await startTaskUpstream("legacy");
  other = await startTaskUpstream("legacy", {
    name: "foreign",
    capabilities: { tools: {} },
    tools: [{ name: "thing", inputSchema: { type: "object" }, execution: { taskSupport: "optional" } }],
  });
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url, other: other.url },
    servers: { s: { up: "x_", other: "o_" }, t: { up: "" } },
    rules,
  });
  const caller = async (sub: string, server = "s"): Promise<Caller> =>
    openSession({ gateway, server, token: await issuer.mint(gateway.resource(server), { sub }) });
  alice = await caller("alice");
  bob = await caller("bob");
});

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
  await other.close();
});

afterAll(() => issuer.close());

function call(caller: Caller, name: string, more: Loose = {}): Promise<Received> {
  return legacyCall(caller, "tools/call", { name, arguments: { n: 1 }, ...more });
}

const about = (caller: Caller, method: string, taskId: unknown): Promise<Received> =>
  legacyCall(caller, method, { taskId });

function resultOf({ json }: Received): Loose {
  return json["result"] as Loose;
}

async function begin(caller: Caller, name = "x_slow", more: Loose = {}): Promise<string> {
  const answer = await call(caller, name, { task: { ttl: 30_000 }, ...more });
  return String((resultOf(answer)["task"] as Loose)["taskId"]);
}

/** Bytes of an answer but for what is random in it. */
const bare = ({ text: body }: Received): string => body.replaceAll(/"ref":"[^"]+"/g, "");

describe("a call that asks for a task", () => {
  it("becomes one, under an id of the gateway's own", async () => {
    const answer = await call(alice, "x_slow", { task: { ttl: 30_000, more: [1] } });
    const { params } = upstream.sent("tools/call")[0]!.rpc as { params: Loose };
    expect(params).toEqual({ name: "slow", arguments: { n: 1 }, task: { ttl: 30_000, more: [1] } });
    const task = resultOf(answer)["task"] as Loose;
    expect(task).toEqual({
      taskId: task["taskId"],
      status: "working",
      createdAt: "2026-01-01T00:00:00Z",
      lastUpdatedAt: "2026-01-01T00:00:01Z",
      ttl: 60_000,
      pollInterval: 10,
    });
    expect(task["taskId"]).toMatch(/^v1\./);
    expect(answer.text).not.toContain(upstream.last().taskId);
  });

  it("has its state, its result and its end under that id", async () => {
    const taskId = await begin(alice);
    const task = upstream.last();
    expect(resultOf(await about(alice, "tasks/get", taskId))).toMatchObject({ taskId, status: "working" });
    task.status = "completed";
    task.result = { ...text("42"), _meta: { [related]: { taskId: task.taskId }, kept: true } };
    expect(resultOf(await about(alice, "tasks/get", taskId))).toMatchObject({ taskId, status: "completed" });
    const result = resultOf(await about(alice, "tasks/result", taskId));
    expect(result).toEqual({ ...text("42"), _meta: { [related]: { taskId }, kept: true } });
    expect(upstream.sent("tasks/get")[0]!.rpc["params"]).toEqual({ taskId: task.taskId });
    expect(upstream.sent("tasks/result")[0]!.rpc["params"]).toEqual({ taskId: task.taskId });
  });

  it("is cancelled at its upstream, once", async () => {
    const taskId = await begin(alice);
    expect(resultOf(await about(alice, "tasks/cancel", taskId))).toMatchObject({ taskId, status: "cancelled" });
    expect(upstream.last().status).toBe("cancelled");
    const again = await about(alice, "tasks/cancel", taskId);
    expect(again.json["error"]).toMatchObject({ code: -32602, message: "Task has ended" });
  });

  it("that fails gives the error that the call would have given", async () => {
    const taskId = await begin(alice);
    upstream.last().error = { code: -32603, message: "out of\u{200b} order" };
    const answer = await about(alice, "tasks/result", taskId);
    expect(answer.json["error"]).toEqual({ code: -32603, message: "out of order" });
  });

  it.each([
    ["no object", 5],
    ["a ttl that is no whole number", { ttl: "soon" }],
    ["a negative ttl", { ttl: -1 }],
  ])("with %s is refused, and nothing is sent", async (_law, task) => {
    const answer = await call(alice, "x_slow", { task });
    expect(answer.json["error"]).toMatchObject({ code: -32602 });
    expect(upstream.count("tools/call")).toBe(0);
  });

  it("may ask for no longer a life than the gateway remembers it", async () => {
    await call(alice, "x_slow", { task: { ttl: 10 * 86_400_000 } });
    const { params } = upstream.sent("tools/call")[0]!.rpc as { params: Loose };
    expect(params["task"]).toEqual({ ttl: 86_400_000 });
  });

  it.each([
    ["a tool that makes none", "x_plain", { task: {} }, "TASK_UNSUPPORTED"],
    ["a tool of an upstream that declares none", "o_thing", { task: {} }, "TASK_UNSUPPORTED"],
    ["without asking, a tool that only makes them", "x_job", {}, "TASK_REQUIRED"],
  ])("on %s is refused by name", async (_law, name, more, code) => {
    const answer = await call(alice, name, more);
    expect(answer.status).toBe(200);
    expect(answer.json["error"]).toMatchObject({ code: -32601 });
    expect(refusalIn(answer).code).toBe(code);
    expect(upstream.count("tools/call") + other.count("tools/call")).toBe(0);
  });

  it("on a tool that may make one or not goes either way", async () => {
    expect(resultOf(await call(alice, "x_slow"))).toMatchObject({ content: [{ text: '{"n":1}' }] });
    expect(resultOf(await call(alice, "x_job", { task: {} }))).toHaveProperty("task");
  });

  it("gets an upstream's direct answer as it is", async () => {
    upstream.answer("tools/call", ({ rpc }, wire) => {
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: text("at once") });
    });
    expect(resultOf(await call(alice, "x_slow", { task: {} }))).toEqual(text("at once"));
  });

  it.each([
    ["without an id", { taskId: undefined }],
    ["of an unknown status", { status: "dreaming" }],
    ["without its times", { createdAt: undefined }],
    ["without a life", { ttl: undefined }],
    ["under an id that is too long", { taskId: "x".repeat(1_025) }],
  ])("is refused when the upstream promises a task %s", async (_law, wrong) => {
    upstream.answer("tools/call", ({ rpc }, wire) => {
      const task = { taskId: "t", status: "working", createdAt: "a", lastUpdatedAt: "b", ttl: null, ...wrong };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { task } });
    });
    const answer = await call(alice, "x_slow", { task: {} });
    expect(refusalIn(answer)).toMatchObject({ code: "UPSTREAM_ANSWER_INVALID", outcome: "unknown" });
  });

  it("that it did not ask for is no answer to a call", async () => {
    upstream.answer("tools/call", ({ rpc }, wire) => {
      const task = { taskId: "t", status: "working", createdAt: "a", lastUpdatedAt: "b", ttl: null };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { task } });
    });
    expect(refusalIn(await call(alice, "x_slow")).code).toBe("UPSTREAM_ANSWER_INVALID");
  });
});

describe("a refusal of a call that asks for a task", () => {
  it("is an error, for a tool's result would be taken for a task", async () => {
    const answer = await call(alice, "x_slow", { task: {}, arguments: [] });
    expect(answer.json["error"]).toMatchObject({ code: -32602 });
    expect(refusalIn(answer).code).toBe("ARGUMENTS_INVALID");
    const plain = await call(alice, "x_slow", { arguments: [] });
    expect(resultOf(plain)).toMatchObject({ isError: true });
  });
});

describe("the id of a task", () => {
  const methods = ["tasks/get", "tasks/result", "tasks/cancel"];

  it.each(methods)(
    "is answered by %s like one that does not exist when it is not the caller's, here",
    async (method) => {
      const taskId = await begin(alice);
      const elsewhere = await openSession({
        gateway,
        server: "t",
        token: await issuer.mint(gateway.resource("t"), { sub: "alice" }),
      });
      const flipped = taskId.slice(0, -1) + (taskId.endsWith("A") ? "B" : "A");
      const wrong = [
        await about(bob, method, taskId),
        await about(elsewhere, method, taskId),
        await about(alice, method, flipped),
        await about(alice, method, upstream.last().taskId),
        await about(alice, method, "nothing"),
      ];
      for (const answer of wrong) expect(bare(answer)).toBe(bare(wrong[0]!));
      expect(wrong[0]!.json["error"]).toMatchObject({ code: -32602, message: "Unknown task" });
      expect(upstream.count(method)).toBe(0);
      expect((await about(alice, method, taskId)).json["error"]).toBeUndefined();
    },
  );

  it("is unknown once the upstream has forgotten it, and in no list then", async () => {
    const taskId = await begin(alice);
    upstream.tasks.clear();
    const gone = await about(alice, "tasks/get", taskId);
    expect(bare(gone)).toBe(bare(await about(alice, "tasks/get", "nothing")));
    expect(resultOf(await legacyCall(alice, "tasks/list"))).toEqual({ tasks: [] });
  });

  it("works in another session of its principal", async () => {
    const taskId = await begin(alice);
    const again = await openSession({ ...alice, session: undefined });
    expect(resultOf(await about(again, "tasks/get", taskId))).toMatchObject({ taskId });
  });

  it("must be there", async () => {
    expect((await legacyCall(alice, "tasks/get")).json["error"]).toMatchObject({ code: -32602 });
  });

  it("is never that of a task the upstream answers about instead", async () => {
    const first = await begin(alice);
    const second = upstream.last().taskId;
    await begin(alice);
    upstream.answer("tasks/get", ({ rpc }, wire) => {
      const task = { taskId: `${second}-other`, status: "working", createdAt: "a", lastUpdatedAt: "b", ttl: 5 };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: task });
    });
    expect(refusalIn(await about(alice, "tasks/get", first)).code).toBe("UPSTREAM_ANSWER_INVALID");
  });
});

describe("a list of tasks", () => {
  it("holds the caller's own of this server, as last heard of, and asks no upstream", async () => {
    const [one, two] = [await begin(alice), await begin(alice, "x_job")];
    await begin(bob);
    upstream.tasks.get("task-1")!.status = "completed";
    await about(alice, "tasks/get", one);
    const { tasks } = resultOf(await legacyCall(alice, "tasks/list")) as { tasks: Loose[] };
    expect(tasks).toMatchObject([
      { taskId: one, status: "completed" },
      { taskId: two, status: "working" },
    ]);
    expect(upstream.count("tasks/list")).toBe(0);
  });

  it("has one page", async () => {
    const answer = await legacyCall(alice, "tasks/list", { cursor: "2" });
    expect(refusalIn(answer).code).toBe("CURSOR_INVALID");
  });

  it("is bounded: a principal with 100 tasks gets no other, while another principal does", async () => {
    for (let count = 0; count < 10; count += 1) await Promise.all(Array.from({ length: 10 }, async () => begin(alice)));
    const before = upstream.count("tools/call");
    const answer = await call(alice, "x_slow", { task: {} });
    expect(refusalIn(answer).code).toBe("TASK_LIMIT_REACHED");
    expect(upstream.count("tools/call")).toBe(before);
    expect(await begin(bob)).toMatch(/^v1\./);
  });
});

describe("what comes of a task", () => {
  it("is cleaned like the tool's own answer", async () => {
    const taskId = await begin(alice);
    const task = upstream.last();
    task.message = "half\u{200b} done";
    task.result = { content: [{ type: "text", text: "a\u{e0041}b" }] };
    expect(resultOf(await about(alice, "tasks/get", taskId))).toMatchObject({ statusMessage: "half done" });
    expect(resultOf(await about(alice, "tasks/result", taskId))).toMatchObject({ content: [{ text: "ab" }] });
    const { tasks } = resultOf(await legacyCall(alice, "tasks/list")) as { tasks: Loose[] };
    expect(tasks).toMatchObject([{ statusMessage: "half done" }]);
  });

  it.each([
    ["fits", { rows: 3 }, undefined],
    ["does not fit", { rows: "3" }, "RESULT_INVALID"],
    ["is missing", undefined, "RESULT_INVALID"],
  ])("is held to the tool's output schema: what %s", async (_law, structuredContent, code) => {
    const taskId = await begin(alice, "x_count");
    upstream.last().result = { content: [], ...(structuredContent === undefined ? {} : { structuredContent }) };
    const answer = await about(alice, "tasks/result", taskId);
    if (code === undefined) expect(resultOf(answer)).toMatchObject({ structuredContent });
    else {
      expect(refusalIn(answer).code).toBe(code);
      expect(answer.json["error"]).toMatchObject({ code: -32603 });
    }
  });

  it("is no success when it has no tool result's shape", async () => {
    const taskId = await begin(alice);
    upstream.last().result = {};
    expect(refusalIn(await about(alice, "tasks/result", taskId)).code).toBe("UPSTREAM_ANSWER_INVALID");
  });

  it("leaves evidence of who asked for which tool, without what it brought", async () => {
    const taskId = await begin(alice, "x_slow", { arguments: { word: "canary-argument" } });
    upstream.last().result = text("canary-result");
    await about(alice, "tasks/result", taskId);
    const ofResult = (): AuditEvent[] => gateway.audit().filter(({ method }) => method === "tasks/result");
    await until(() => ofResult().length === 2);
    const events = ofResult();
    expect(events.map(({ type }) => type)).toEqual(["attempted", "returned"]);
    expect(events[1]).toMatchObject({
      exposedName: "x_slow",
      item: { upstream: "up", kind: "tool", name: "slow" },
      principal: { subject: "alice" },
      decision: { effect: "allow", rule: "tools" },
    });
    const made = gateway.audit().find(({ method, type }) => method === "tools/call" && type === "returned");
    expect(events[1]?.argumentsDigest).toBe(made?.argumentsDigest);
    expect(gateway.auditText()).not.toContain("canary");
  });
});
