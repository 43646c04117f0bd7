import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { startTaskUpstream, text } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { modernHeaders, modernMeta, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const extension = "io.modelcontextprotocol/tasks";
const capabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
const understands: Loose = { extensions: { [extension]: {} } };
const form = {
  method: "elicitation/create",
  params: { mode: "form", message: "Na\u{200b}me?", requestedSchema: { type: "object", properties: {} } },
};

let issuer: IssuerUnderTest;
let upstream: TaskUpstream;
let gateway: GatewayUnderTest;
let alice: Caller;
let bob: Caller;

beforeAll(async () => {
  issuer = await startIssuer();
});

beforeEach(async () => {
  upstream = await startTaskUpstream("modern");
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: upstream.url },
    servers: { s: { up: "x_" } },
    rules: [
      { id: "all", effect: "allow", who: { anyone: true }, what: { upstream: "up", tool: "*" } },
      { id: "forms", effect: "allow", who: { anyone: true }, what: { upstream: "up", clientFeature: "elicitation" } },
    ],
  });
  const caller = async (sub: string): Promise<Caller> => ({
    gateway,
    server: "s",
    token: await issuer.mint(gateway.resource("s"), { sub }),
  });
  alice = await caller("alice");
  bob = await caller("bob");
});

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

afterAll(() => issuer.close());

interface Asked {
  readonly capabilities?: Loose;
  /** `Mcp-Name`; absent: as the specification has it. */
  readonly name?: string;
}

function ask(caller: Caller, method: string, params: Loose, asked: Asked = {}): Promise<Received> {
  const name = asked.name ?? String(params["taskId"] ?? params["name"]);
  const _meta = { ...modernMeta, [capabilitiesKey]: asked.capabilities ?? understands };
  const message = { jsonrpc: "2.0", id: 7, method, params: { ...params, _meta } };
  return post(caller, modernHeaders(caller, method, name), message);
}

function resultOf({ json }: Received): Loose {
  return json["result"] as Loose;
}

async function begin(caller: Caller, name = "x_slow", capabilities = understands): Promise<string> {
  return String(resultOf(await ask(caller, "tools/call", { name, arguments: { n: 1 } }, { capabilities }))["taskId"]);
}

const bare = ({ text: body }: Received): string => body.replaceAll(/"ref":"[^"]+"/g, "");

/** What the upstream was told that the client can do. */
function declaredIn(method: string): unknown {
  const { params } = upstream.sent(method).at(-1)!.rpc as { params: { _meta: Loose } };
  return params._meta[capabilitiesKey];
}

describe("a call of a client that understands tasks", () => {
  it("may become one, under an id of the gateway's own", async () => {
    const answer = await ask(alice, "tools/call", { name: "x_slow", arguments: { n: 1 } });
    const result = resultOf(answer);
    expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: 60_000, pollIntervalMs: 10 });
    expect(result["taskId"]).toMatch(/^v1\./);
    expect(answer.text).not.toContain(upstream.last().taskId);
    expect(declaredIn("tools/call")).toEqual(understands);
  });

  it("is told of in no way when the client does not", async () => {
    const answer = await ask(alice, "tools/call", { name: "x_slow", arguments: { n: 1 } }, { capabilities: {} });
    expect(resultOf(answer)).toMatchObject({ resultType: "complete", content: [{ text: '{"n":1}' }] });
    expect(declaredIn("tools/call")).toEqual({});
  });

  it("is refused when the upstream makes a task of it all the same", async () => {
    upstream.answer("tools/call", ({ rpc }, wire) => {
      const task = { taskId: "t", status: "working", createdAt: "a", lastUpdatedAt: "b", ttlMs: null };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { ...task, resultType: "task" } });
    });
    const answer = await ask(alice, "tools/call", { name: "x_slow", arguments: {} }, { capabilities: {} });
    expect(refusalIn(answer).code).toBe("UPSTREAM_ANSWER_INVALID");
  });

  it("gets its result where the principal has all the tasks there may be", async () => {
    for (let count = 0; count < 10; count += 1) await Promise.all(Array.from({ length: 10 }, () => begin(alice)));
    const answer = await ask(alice, "tools/call", { name: "x_slow", arguments: { n: 1 } });
    expect(resultOf(answer)).toMatchObject({ resultType: "complete", content: [{ text: '{"n":1}' }] });
  });
});

describe("a task", () => {
  it.each([
    ["working", {}, {}],
    ["completed", { result: text("4\u{200b}2") }, { result: text("42") }],
    ["failed", { error: { code: -32603, message: "bro\u{200b}ken" } }, { error: { code: -32603, message: "broken" } }],
    ["cancelled", {}, {}],
  ])("that is %s says so, with what belongs to it, cleaned", async (status, more, shown) => {
    const taskId = await begin(alice);
    Object.assign(upstream.last(), { status, ...more });
    const answer = resultOf(await ask(alice, "tasks/get", { taskId }));
    expect(answer).toEqual({
      resultType: "complete",
      taskId,
      status,
      createdAt: "2026-01-01T00:00:00Z",
      lastUpdatedAt: "2026-01-01T00:00:01Z",
      ttlMs: 60_000,
      pollIntervalMs: 10,
      ...shown,
      _meta: answer["_meta"],
    });
    const sent = upstream.sent("tasks/get")[0]!;
    expect(sent.rpc["params"]).toMatchObject({ taskId: upstream.last().taskId });
    expect(sent.header("mcp-name")).toBe(upstream.last().taskId);
    expect(declaredIn("tasks/get")).toEqual(understands);
  });

  it.each(["tasks/get", "tasks/cancel"])(
    "carries nothing to the upstream with %s that nobody judged",
    async (method) => {
      const taskId = await begin(alice);
      const before = upstream.sent(method).length;
      await ask(alice, method, { taskId, requestState: "raw", inputResponses: {}, arguments: {}, name: "x" });
      const params = upstream.sent(method)[before]!.rpc["params"] as object;
      expect(Object.keys(params).sort()).toEqual(["_meta", "taskId"]);
    },
  );

  it("brings nothing that belongs to another status", async () => {
    const taskId = await begin(alice);
    Object.assign(upstream.last(), { status: "working", result: text("early"), error: { code: 1, message: "odd" } });
    const answer = resultOf(await ask(alice, "tasks/get", { taskId }));
    expect(Object.keys(answer)).not.toContain("result");
    expect(Object.keys(answer)).not.toContain("error");
  });

  it.each([
    ["completed without a result", { status: "completed" }, "UPSTREAM_ANSWER_INVALID"],
    ["completed with what is no tool's result", { status: "completed", result: {} }, "UPSTREAM_ANSWER_INVALID"],
    ["failed without an error", { status: "failed" }, "UPSTREAM_ANSWER_INVALID"],
    ["waiting for input that it does not name", { status: "input_required" }, "UPSTREAM_ANSWER_INVALID"],
    ["of a status nobody knows", { status: "dreaming" }, "UPSTREAM_ANSWER_INVALID"],
  ])("that is %s is no task", async (_law, state, code) => {
    const taskId = await begin(alice);
    Object.assign(upstream.last(), state);
    expect(refusalIn(await ask(alice, "tasks/get", { taskId })).code).toBe(code);
  });

  it.each([
    [{ rows: 3 }, undefined],
    [{ rows: "3" }, "RESULT_INVALID"],
  ])("has its result %j held to the tool's output schema", async (structuredContent, code) => {
    const taskId = await begin(alice, "x_count");
    Object.assign(upstream.last(), { status: "completed", result: { content: [], structuredContent } });
    const answer = await ask(alice, "tasks/get", { taskId });
    if (code === undefined) expect(resultOf(answer)).toMatchObject({ result: { structuredContent } });
    else expect(refusalIn(answer).code).toBe(code);
  });

  it("is cancelled at its upstream", async () => {
    const taskId = await begin(alice);
    const answer = resultOf(await ask(alice, "tasks/cancel", { taskId }));
    expect(answer).toEqual({ resultType: "complete", _meta: answer["_meta"] });
    expect(upstream.last().status).toBe("cancelled");
  });
});

describe("a task that needs input", () => {
  const forms: Loose = { elicitation: { form: {} }, ...understands };

  it("shows what is asked, cleaned, to a client that can answer, and gets the answer", async () => {
    const taskId = await begin(alice, "x_slow", forms);
    Object.assign(upstream.last(), { status: "input_required", inputRequests: { who: form } });
    const shown = resultOf(await ask(alice, "tasks/get", { taskId }, { capabilities: forms }));
    expect(shown).toMatchObject({ inputRequests: { who: { params: { message: "Name?" } } } });
    const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
    const given = await ask(alice, "tasks/update", { taskId, inputResponses }, { capabilities: forms });
    expect(resultOf(given)).toMatchObject({ resultType: "complete" });
    expect(upstream.last().answers).toEqual(inputResponses);
  });

  it.each([
    ["that did not declare that it can answer", understands, form, "UPSTREAM_INPUT_REQUIRED"],
    [
      "whom policy does not let it ask",
      { elicitation: { form: {}, url: {} }, ...understands },
      {
        method: "elicitation/create",
        params: { mode: "url", message: "Open", url: "https://a.test/", elicitationId: "e" },
      },
      "CLIENT_FEATURE_DENIED",
    ],
  ])("asks nothing of a client %s", async (_law, capabilities, request, code) => {
    const taskId = await begin(alice, "x_slow", capabilities);
    Object.assign(upstream.last(), { status: "input_required", inputRequests: { who: request } });
    const answer = await ask(alice, "tasks/get", { taskId }, { capabilities });
    expect(refusalIn(answer).code).toBe(code);
    expect(answer.text).not.toContain("inputRequests");
  });

  it.each([
    ["nothing", undefined],
    ["what is no answer", { who: "Ada" }],
    ["a list", []],
  ])("is not given %s", async (_law, inputResponses) => {
    const taskId = await begin(alice);
    const answer = await ask(alice, "tasks/update", { taskId, inputResponses });
    expect(answer.json["error"]).toMatchObject({ code: -32602 });
    expect(upstream.count("tasks/update")).toBe(0);
  });
});

describe("a request about a task", () => {
  const methods = ["tasks/get", "tasks/update", "tasks/cancel"];
  const more = { inputResponses: {} };

  it.each(methods)("%s of somebody else is answered like one about nothing", async (method) => {
    const taskId = await begin(alice);
    const answers = [
      await ask(bob, method, { taskId, ...more }),
      await ask(alice, method, { taskId: "nothing", ...more }),
      await ask(alice, method, { taskId: upstream.last().taskId, ...more }),
    ];
    for (const answer of answers) {
      expect(bare(answer)).toBe(bare(answers[0]!));
      expect(answer.status).toBe(200);
      expect(answer.json["error"]).toMatchObject({ code: -32602, message: "Unknown task" });
    }
    expect(upstream.count(method)).toBe(0);
  });

  it.each(methods)("%s names the capability that a client lacks", async (method) => {
    const taskId = await begin(alice);
    const answer = await ask(alice, method, { taskId, ...more }, { capabilities: {} });
    expect(answer.status).toBe(400);
    expect(answer.json["error"]).toMatchObject({ code: -32021, data: { requiredCapabilities: understands } });
    expect(upstream.count(method)).toBe(0);
  });

  it.each(methods)("%s needs an Mcp-Name that says which", async (method) => {
    const taskId = await begin(alice);
    const answer = await ask(alice, method, { taskId, ...more }, { name: "another" });
    expect(answer.status).toBe(400);
    expect(answer.json["error"]).toMatchObject({ code: -32020 });
  });

  it.each(["tasks/list", "tasks/result"])("%s does not exist in this revision", async (method) => {
    const answer = await ask(alice, method, {});
    expect(answer.status).toBe(404);
    expect(answer.json["error"]).toMatchObject({ code: -32601 });
  });
});
