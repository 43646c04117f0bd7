import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startGatewayUnderTest, startIssuer } from "./gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { startTaskUpstream, text } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { legacyCall, modernHeaders, modernMeta, openSession, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

const extension = "io.modelcontextprotocol/tasks";
const legacyTasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

let issuer: IssuerUnderTest;
const upstreams: TaskUpstream[] = [];
const gateways: GatewayUnderTest[] = [];

beforeAll(async () => {
  issuer = await startIssuer();
});

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.remove();
  for (const upstream of upstreams.splice(0)) await upstream.close();
});

afterAll(() => issuer.close());

async function up(...of: Parameters<typeof startTaskUpstream>): Promise<TaskUpstream> {
  const upstream = await startTaskUpstream(...of);
  upstreams.push(upstream);
  return upstream;
}

async function start(options: Omit<Parameters<typeof startGatewayUnderTest>[0], "issuer">): Promise<GatewayUnderTest> {
  const gateway = await startGatewayUnderTest({ issuer, ...options });
  gateways.push(gateway);
  return gateway;
}

async function caller(gateway: GatewayUnderTest, server = "s"): Promise<Caller> {
  return { gateway, server, token: await issuer.mint(gateway.resource(server), { sub: "alice" }) };
}

const resultOf = ({ json }: Received): Loose => json["result"] as Loose;

function modern(who: Caller, method: string, params: Loose, capabilities: Loose = {}): Promise<Received> {
  const name = params["taskId"] ?? params["name"];
  const headers = modernHeaders(who, method, typeof name === "string" ? name : undefined);
  const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
  return post(who, headers, { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
}

async function initialize(who: Caller, protocolVersion: string): Promise<Loose> {
  const clientInfo = { name: "test", version: "1" };
  return resultOf(await legacyCall(who, "initialize", { protocolVersion, capabilities: {}, clientInfo }));
}

describe("what a server says of tasks", () => {
  const cases: readonly [law: string, upstream: Parameters<typeof startTaskUpstream>, expected: Loose][] = [
    [
      "a legacy upstream with tools that run as tasks",
      ["legacy"],
      { "2025-11-25": legacyTasks, "2025-06-18": undefined, "2026-07-28": undefined },
    ],
    [
      "one that cannot cancel them",
      ["legacy", { capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } } }],
      { "2025-11-25": { list: {}, requests: { tools: { call: {} } } }, "2026-07-28": undefined },
    ],
    ["one that declares none", ["legacy", { capabilities: { tools: {} } }], { "2025-11-25": undefined }],
    [
      "one whose tools are none",
      ["legacy", { tools: [{ name: "plain", inputSchema: { type: "object" } }] }],
      { "2025-11-25": undefined },
    ],
    ["a modern upstream that makes them", ["modern"], { "2025-11-25": undefined, "2026-07-28": {} }],
    [
      "a modern one that does not",
      ["modern", { capabilities: { tools: {} } }],
      { "2025-11-25": undefined, "2026-07-28": undefined },
    ],
  ];
  it.each(cases)("in front of %s is what it can carry", async (_law, of, expected) => {
    const upstream = await up(...of);
    const gateway = await start({ upstreams: { up: upstream.url }, servers: { s: { up: "" } } });
    const who = await caller(gateway);
    for (const [revision, tasks] of Object.entries(expected)) {
      if (revision === "2026-07-28") {
        const { capabilities } = resultOf(await modern(who, "server/discover", {})) as { capabilities: Loose };
        expect((capabilities["extensions"] as Loose | undefined)?.[extension]).toEqual(tasks);
        expect(capabilities["tasks"]).toBeUndefined();
      } else {
        const { capabilities } = (await initialize(who, revision)) as { capabilities: Loose };
        expect([revision, capabilities["tasks"]]).toEqual([revision, tasks]);
        expect(capabilities["extensions"]).toBeUndefined();
      }
    }
  });

  it("is said of a tool only where its upstream makes tasks", async () => {
    const [makes, none] = [await up("legacy"), await up("legacy", { capabilities: { tools: {} } })];
    const gateway = await start({ upstreams: { a: makes.url, b: none.url }, servers: { s: { a: "a_", b: "b_" } } });
    const who = await openSession(await caller(gateway));
    const { tools } = resultOf(await legacyCall(who, "tools/list")) as { tools: Loose[] };
    const said = tools.flatMap(({ name, execution }) => (execution === undefined ? [] : [[name, execution]]));
    expect(said).toEqual([
      ["a_slow", { taskSupport: "optional" }],
      ["a_job", { taskSupport: "required" }],
      ["a_count", { taskSupport: "optional" }],
    ]);
  });
});

describe("between clients and servers of other forms", () => {
  it.each(["2025-06-18", "2025-03-26"])("a client of %s knows none, whatever it asks", async (revision) => {
    const upstream = await up("legacy");
    const gateway = await start({ upstreams: { up: upstream.url }, servers: { s: { up: "" } } });
    const who = await openSession(await caller(gateway), revision);
    const call = (name: string): Promise<Received> => legacyCall(who, "tools/call", { name, arguments: {}, task: {} });
    expect(resultOf(await call("slow"))).toMatchObject({ content: [{ text: "{}" }] });
    expect(refusalIn(await call("job")).code).toBe("TASK_REQUIRED");
    expect((await legacyCall(who, "tasks/list")).json["error"]).toMatchObject({ code: -32601 });
  });

  it("a legacy client asks a modern server for none", async () => {
    const upstream = await up("modern");
    const gateway = await start({ upstreams: { up: upstream.url }, servers: { s: { up: "" } } });
    const who = await openSession(await caller(gateway));
    const answer = await legacyCall(who, "tools/call", { name: "slow", arguments: {}, task: {} });
    expect(resultOf(answer)).toMatchObject({ content: [{ text: "{}" }] });
    expect(upstream.sent("tools/call")[0]!.rpc["params"]).not.toHaveProperty("task");
  });

  it("a modern client gets none of a legacy server, and is refused what only runs as one", async () => {
    const upstream = await up("legacy");
    const gateway = await start({ upstreams: { up: upstream.url }, servers: { s: { up: "" } } });
    const who = await caller(gateway);
    const declared = { extensions: { [extension]: {} } };
    const call = (name: string): Promise<Received> => modern(who, "tools/call", { name, arguments: {} }, declared);
    expect(resultOf(await call("slow"))).toMatchObject({ resultType: "complete", content: [{ text: "{}" }] });
    const refused = await call("job");
    expect(refusalIn(refused).code).toBe("TASK_REQUIRED");
    expect(refused.json["error"]).toMatchObject({ code: -32601 });
  });

  it("an id of one form is unknown in the other", async () => {
    const [one, two] = [await up("legacy"), await up("modern")];
    const gateway = await start({ upstreams: { a: one.url, b: two.url }, servers: { s: { a: "a_", b: "b_" } } });
    const who = await caller(gateway);
    const session = await openSession(who);
    const made = await legacyCall(session, "tools/call", { name: "a_slow", arguments: {}, task: {} });
    const { taskId } = resultOf(made)["task"] as Loose;
    const declared = { extensions: { [extension]: {} } };
    const asked = await modern(who, "tasks/get", { taskId }, declared);
    expect(asked.json["error"]).toMatchObject({ code: -32602, message: "Unknown task" });
    const other = resultOf(await modern(who, "tools/call", { name: "b_slow", arguments: {} }, declared));
    const back = await legacyCall(session, "tasks/get", { taskId: other["taskId"] });
    expect(back.json["error"]).toMatchObject({ code: -32602, message: "Unknown task" });
    expect(one.count("tasks/get") + two.count("tasks/get")).toBe(0);
  });
});

describe("tasks and the policy in force", () => {
  let redis: RedisUnderTest;
  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(() => redis.stop());

  const allow = { id: "all", effect: "allow", who: { anyone: true }, what: { upstream: "up", tool: "*" } };
  const deny = (more: Loose): Loose => ({ id: "d", effect: "deny", who: { anyone: true }, ...more });
  const slow = { upstream: "up", tool: "slow" };
  const cases: readonly [law: string, rules: readonly Loose[], code: string][] = [
    ["the same", [allow], ""],
    ["a deny of the tool, like a task that is none", [allow, deny({ what: slow })], "TASK_UNKNOWN"],
    ["no allow, like a task that is none", [], "TASK_UNKNOWN"],
    ["a deny of other arguments", [allow, deny({ what: slow, when: "has(args.n) && args.n == 2" })], ""],
    [
      "a deny of the call's arguments",
      [allow, deny({ what: slow, when: "has(args.n) && args.n == 1" })],
      "POLICY_DENIED",
    ],
    ["an allow of the call's arguments", [{ ...allow, when: "has(args.n) && args.n == 1" }], ""],
    ["an allow that lacks a scope", [{ ...allow, stepUp: { scopes: { all: ["more"] } } }], "SCOPE_INSUFFICIENT"],
  ];
  it.each(cases)("another replica, under %s, decides them as the call", async (_law, rules, code) => {
    const upstream = await up("legacy");
    const shared = { redisUrl: redis.url, publicPort: await freePort() };
    const deployment = { upstreams: { up: upstream.url }, servers: { s: { up: "" } }, ...shared };
    const [first, second] = [await start({ ...deployment, rules: [allow] }), await start({ ...deployment, rules })];
    const before = await openSession(await caller(first));
    const made = await legacyCall(before, "tools/call", { name: "slow", arguments: { n: 1 }, task: {} });
    const { taskId } = resultOf(made)["task"] as Loose;
    upstream.last().result = text("done");
    const after = { ...before, gateway: second };
    for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
      const answer = await legacyCall(after, method, { taskId });
      expect([method, refusalIn(answer).code]).toEqual([method, code]);
      expect(upstream.count(method)).toBe(code === "" ? 1 : 0);
    }
    const { tasks } = resultOf(await legacyCall(after, "tasks/list")) as { tasks: Loose[] };
    const listed = code === "" || code === "SCOPE_INSUFFICIENT";
    expect(tasks.map((task) => task["taskId"])).toEqual(listed ? [taskId] : []);
  });

  it("arguments that were too long to keep are arguments that nobody knows", async () => {
    const upstream = await up("legacy");
    const rules = [{ ...allow, when: "has(args.n) && args.n == 1" }];
    const gateway = await start({ upstreams: { up: upstream.url }, servers: { s: { up: "" } }, rules });
    const who = await openSession(await caller(gateway));
    const codes: string[] = [];
    // With `{"n":1,"long":""}` around it, the first makes 65,536 bytes.
    for (const chars of [65_519, 65_520]) {
      const args = { n: 1, long: "x".repeat(chars) };
      const made = await legacyCall(who, "tools/call", { name: "slow", arguments: args, task: {} });
      const { taskId } = resultOf(made)["task"] as Loose;
      codes.push(refusalIn(await legacyCall(who, "tasks/get", { taskId })).code);
    }
    expect(codes).toEqual(["", "POLICY_DENIED"]);
  });

  it("the store learns neither arguments nor what upstreams say", async () => {
    const upstream = await up("legacy");
    const options = { upstreams: { up: upstream.url }, servers: { s: { up: "" } }, redisUrl: redis.url };
    const gateway = await start(options);
    const who = await openSession(await caller(gateway));
    const args = { word: "canary-argument" };
    const made = await legacyCall(who, "tools/call", { name: "slow", arguments: args, task: {} });
    const { taskId } = resultOf(made)["task"] as Loose;
    Object.assign(upstream.last(), { message: "canary-status", result: text("canary-result"), status: "completed" });
    await legacyCall(who, "tasks/get", { taskId });
    await legacyCall(who, "tasks/result", { taskId });
    expect(resultOf(await legacyCall(who, "tasks/list"))).toMatchObject({
      tasks: [{ statusMessage: "canary-status" }],
    });
    const values = await redis.command(
      `EVAL "local all = '' for _, key in ipairs(redis.call('KEYS', '*')) do if redis.call('TYPE', key).ok == 'string' then all = all .. key .. redis.call('GET', key) end end return {ok = all}" 0`,
    );
    expect(values).toContain("sallyport:default:task:s:");
    expect(values).not.toContain("canary");
    expect(values).not.toContain(upstream.last().taskId);
  });
});
