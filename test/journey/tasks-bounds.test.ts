import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { startGatewayUnderTest, startIssuer, until } from "./gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "./gateway-under-test.ts";
import type { Loose, Received } from "./http-client.ts";
import { shownAs, startTaskUpstream } from "./task-upstream.ts";
import type { TaskUpstream } from "./task-upstream.ts";
import { legacyCall, modernHeaders, modernMeta, openSession, post, refusalIn } from "./wire-client.ts";
import type { Caller } from "./wire-client.ts";

let issuer: IssuerUnderTest;
let upstream: TaskUpstream;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  issuer = await startIssuer();
});

afterEach(async () => {
  await gateway.remove();
  await upstream.close();
});

afterAll(() => issuer.close());

async function start(era: "legacy" | "modern", config: Loose = {}, treated: Loose = {}): Promise<Caller> {
  upstream = await startTaskUpstream(era);
  gateway = await startGatewayUnderTest({
    issuer,
    upstreams: { up: { url: upstream.url, ...treated } },
    servers: { s: { up: "" } },
    config,
  });
  return callerOf("alice");
}

async function callerOf(sub: string): Promise<Caller> {
  return { gateway, server: "s", token: await issuer.mint(gateway.resource("s"), { sub }) };
}

function modern(caller: Caller, method: string, params: Loose): Promise<Received> {
  const extensions = { "io.modelcontextprotocol/tasks": {} };
  const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": { extensions } };
  const message = { jsonrpc: "2.0", id: 7, method, params: { ...params, _meta } };
  return post(caller, modernHeaders(caller, method, String(params["taskId"] ?? params["name"])), message);
}

const call = { name: "slow", arguments: {} };
const resultOf = ({ json }: Received): Loose => (json["result"] ?? {}) as Loose;

describe.each(["statusMessage", "createdAt", "own"])("a task of which its upstream says too much in %s", (member) => {
  const tooMuch = { [member]: "\u0001".repeat(300_000) };

  it("is begun and followed all the same by a modern client", async () => {
    const caller = await start("modern");
    upstream.answer("tools/call", ({ rpc }, wire) => {
      upstream.tasks.set("t", { taskId: "t", tool: "slow", status: "working" });
      const result = { ...shownAs("modern", upstream.last()), ...tooMuch, resultType: "task" };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
    });
    const taskId = resultOf(await modern(caller, "tools/call", call))["taskId"];
    expect(taskId).toMatch(/^v1\./);
    upstream.answer("tasks/get", ({ rpc }, wire) => {
      const result = { ...shownAs("modern", upstream.last()), ...tooMuch, resultType: "complete" };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
    });
    expect(resultOf(await modern(caller, "tasks/get", { taskId: taskId }))).toMatchObject({ taskId });
  });

  it("is listed to a legacy client by what it relies on", async () => {
    const caller = await openSession(await start("legacy"));
    upstream.answer("tools/call", ({ rpc }, wire) => {
      upstream.tasks.set("t", { taskId: "t", tool: "slow", status: "working" });
      const result = { task: { ...shownAs("legacy", upstream.last()), ...tooMuch } };
      wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
    });
    const promise = resultOf(await legacyCall(caller, "tools/call", { ...call, task: {} }))["task"] as Loose;
    const [listed] = resultOf(await legacyCall(caller, "tasks/list"))["tasks"] as Loose[];
    expect(listed).toMatchObject({ taskId: promise["taskId"], status: "working", ttl: 60_000, pollInterval: 10 });
    expect(JSON.stringify(listed).length).toBeLessThan(limits.taskStateBytesMax + 2_000);
  });
});

describe("a request about a task", () => {
  it("is held to the deadlines of the task's own tool", async () => {
    const caller = await start("modern", {}, { deadlines: [{ tool: "slow", callMs: 300 }] });
    const [slow, other] = await Promise.all(
      ["slow", "count"].map(async (name) =>
        String(resultOf(await modern(caller, "tools/call", { name, arguments: {} }))["taskId"]),
      ),
    );
    const held: (() => void)[] = [];
    upstream.answer("tasks/get", ({ rpc }, wire) => {
      held.push(() => {
        const result = { ...shownAs("modern", upstream.last()), resultType: "complete" };
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
      });
    });
    const unhurried = modern(caller, "tasks/get", { taskId: other! });
    await until(() => held.length === 1);
    expect(refusalIn(await modern(caller, "tasks/get", { taskId: slow! })).code).toBe("UPSTREAM_TIMED_OUT");
    for (const release of held) release();
    expect(refusalIn(await unhurried).code).not.toBe("UPSTREAM_TIMED_OUT");
  });
});

describe("requests that look at a task or cancel it", () => {
  const most = 3;
  const bounded = { limits: { recoveryInFlightPerPrincipalMax: most } };

  /** Starts so many requests of a method that hang at the upstream. */
  async function hang(method: string, send: () => Promise<Received>, count: number): Promise<() => Promise<void>> {
    const held: (() => void)[] = [];
    upstream.answer(method, ({ rpc }, wire) => {
      held.push(() => {
        const result = { ...shownAs("modern", upstream.last()), resultType: "complete", content: [] };
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result });
      });
    });
    const sent = Array.from({ length: count }, send);
    await until(() => held.length === count);
    return async () => {
      upstream.answer(method, undefined);
      for (const release of held) release();
      await Promise.all(sent);
    };
  }

  it.each(["tasks/get", "tasks/cancel"])(
    "%s of one principal are bounded, and those of another are not",
    async (method) => {
      const caller = await start("modern", bounded);
      const bob = await callerOf("bob");
      const [own, other] = await Promise.all(
        [caller, bob].map(async (who) => String(resultOf(await modern(who, "tools/call", call))["taskId"])),
      );
      const release = await hang(method, () => modern(caller, method, { taskId: own! }), most);
      const before = upstream.count("tasks/get");
      const refused = await modern(caller, "tasks/get", { taskId: own! });
      expect(refusalIn(refused).code).toBe("CONCURRENCY_LIMITED");
      expect(upstream.count("tasks/get")).toBe(before);
      upstream.answer(method, undefined);
      expect(refusalIn(await modern(bob, "tasks/get", { taskId: other! })).code).toBe("");
      expect(refusalIn(await modern(caller, "tools/call", call)).code).toBe("");
      await release();
      expect(refusalIn(await modern(caller, "tasks/get", { taskId: own! })).code).toBe("");
    },
  );

  it.each(["legacy", "modern"] as const)(
    "have room while the principal's calls take every slot and every connection to a %s upstream",
    async (era) => {
      const caller = era === "modern" ? await start(era) : await openSession(await start(era));
      const send = era === "modern" ? modern : legacyCall;
      const wanted = era === "modern" ? call : { ...call, task: {} };
      const begun = resultOf(await send(caller, "tools/call", wanted));
      const taskId = String(begun["taskId"] ?? (begun["task"] as Loose)["taskId"]);
      const held: (() => void)[] = [];
      upstream.answer("tools/call", ({ rpc }, wire) => {
        held.push(() => {
          wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: { resultType: "complete", content: [] } });
        });
      });
      const plain = { name: "plain", arguments: {} };
      const sent = Array.from({ length: limits.callsInFlightPerPrincipalMax }, () => send(caller, "tools/call", plain));
      await until(() => held.length === limits.upstreamConnectionsMax);
      const attempted = (): number => gateway.audit().filter(({ type }) => type === "attempted").length;
      await until(() => attempted() === 1 + limits.callsInFlightPerPrincipalMax);
      expect(refusalIn(await send(caller, "tools/call", plain)).code).toBe("CONCURRENCY_LIMITED");
      expect(resultOf(await send(caller, "tasks/get", { taskId }))).toMatchObject({ status: "working" });
      expect(refusalIn(await send(caller, "tasks/cancel", { taskId })).code).toBe("");
      expect(upstream.last().status).toBe("cancelled");
      while (held.length > 0) held.shift()!();
      await until(() => {
        while (held.length > 0) held.shift()!();
        return upstream.count("tools/call") === 1 + limits.callsInFlightPerPrincipalMax;
      });
      while (held.length > 0) held.shift()!();
      await Promise.all(sent);
    },
  );

  it("count tasks/list, and not tasks/result, which waits like a call", async () => {
    const caller = await openSession(await start("legacy", { limits: { recoveryInFlightPerPrincipalMax: 1 } }));
    const promise = resultOf(await legacyCall(caller, "tools/call", { ...call, task: {} }))["task"] as Loose;
    const taskId = promise["taskId"] as string;
    const release = await hang("tasks/get", () => legacyCall(caller, "tasks/get", { taskId }), 1);
    expect(refusalIn(await legacyCall(caller, "tasks/list")).code).toBe("CONCURRENCY_LIMITED");
    expect(refusalIn(await legacyCall(caller, "tasks/result", { taskId })).code).toBe("");
    await release();
    expect(resultOf(await legacyCall(caller, "tasks/list"))["tasks"]).toHaveLength(1);
  });
});
