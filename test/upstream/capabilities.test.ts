import { describe, expect, it } from "vitest";
import { alice, bob, call, memoryRecords, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { Loose, ScriptedUpstream } from "./scripted-upstream.ts";

const legacy = { options: { era: "legacy" as const } };
const modern = { options: { era: "modern" as const } };
const elicitation = { form: {}, url: {} };
const noSession = { ...alice, clientSession: undefined };

function declaredTo(upstream: ScriptedUpstream): readonly unknown[] {
  return upstream.received
    .filter(({ rpc }) => rpc["method"] === "initialize")
    .map(({ rpc }) => (rpc["params"] as Loose)["capabilities"]);
}

describe("what a legacy session declares", () => {
  const all = {
    elicitation,
    sampling: { tools: {}, context: {} },
    roots: { listChanged: true },
    tasks: { requests: {} },
    extensions: { "io.modelcontextprotocol/ui": {} },
    experimental: { x: {} },
  };
  const { sampling, roots, extensions } = all;
  it.each([
    { about: "a client session", account: alice, given: all, declared: { elicitation, roots, sampling, extensions } },
    { about: "a client session of a client that can nothing", account: alice, given: {}, declared: {} },
    { about: "a client session of which nothing is said", account: alice, given: undefined, declared: {} },
    { about: "malformed capabilities", account: alice, given: { elicitation: true, roots: null }, declared: {} },
    { about: "no client session, whatever is said", account: noSession, given: all, declared: {} },
  ])("for $about is $declared", async ({ account, given, declared }) => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    expect(summary(await upstreams.request(call({ account, clientCapabilities: given })))).toBe("result");
    expect(declaredTo(upstream)).toEqual([declared]);
  });

  it("for the gateway's own identify is nothing, and a call that says nothing uses whatever session there is", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    await upstreams.request(call({ clientCapabilities: { elicitation } }));
    await upstreams.identify("up", alice, new AbortController().signal);
    await upstreams.request(call());
    expect(declaredTo(upstream)).toEqual([{ elicitation }]);
    await upstreams.identify("up", bob, new AbortController().signal);
    expect(declaredTo(upstream)).toEqual([{ elicitation }, {}]);
  });
});

describe("a client session whose capabilities change, as after a change of policy", () => {
  it("gets a new upstream session that says so; the same ones in another order do not", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const one = { elicitation: { form: {}, url: {} }, roots: {} };
    const same = { roots: {}, elicitation: { url: {}, form: {} } };
    const less = { roots: {} };
    for (const clientCapabilities of [one, same, one, less, less]) {
      expect(summary(await upstreams.request(call({ clientCapabilities })))).toBe("result");
    }
    expect(declaredTo(upstream)).toEqual([one, less]);
    const calls = upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call");
    expect(calls.map((request) => request.header("mcp-session-id"))).toEqual([
      ...["session-1", "session-1", "session-1"],
      ...["session-2", "session-2"],
    ]);
  });

  it("leaves an exchange on the old session alone; the session ends when it has long been idle", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams, clock } = roomFor(upstream.url, { ...legacy, limits: { upstreamSessionIdleMs: 1_000 } });
    let finish: () => void = () => undefined;
    upstream.script(({ rpc }, wire) => {
      if ((rpc["params"] as Loose | undefined)?.["name"] !== "slow") return false;
      finish = () => {
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: {} });
      };
      return true;
    });
    const slow = upstreams.request(call({ params: { name: "slow" }, clientCapabilities: { elicitation } }));
    await until(() => upstream.count("tools/call") === 1);
    await upstreams.request(call({ clientCapabilities: {} }));
    clock.now += 5_000;
    await upstreams.request(call({ clientCapabilities: {} }));
    // The sweep runs each second: while the call is in progress it takes nothing, however long it lasts.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect([...upstream.sessions]).toEqual(["session-1", "session-2"]);
    finish();
    expect(summary(await slow)).toBe("result");
    clock.now += 1_001;
    await upstreams.request(call({ clientCapabilities: {} }));
    await until(() => !upstream.sessions.has("session-1"));
    expect([...upstream.sessions]).toEqual(["session-2"]);
  });

  it("ends both of its upstream sessions when it ends", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    await upstreams.request(call({ clientCapabilities: { elicitation } }));
    await upstreams.request(call({ clientCapabilities: {} }));
    await upstreams.request(call({ account: bob }));
    expect(upstream.sessions.size).toBe(3);
    await upstreams.endSessions(alice);
    expect([...upstream.sessions]).toEqual(["session-3"]);
  });

  it("bounds how many old sessions are kept: the oldest goes first", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { ...legacy, limits: { upstreamSessionsMax: 2 } });
    for (let n = 0; n < 4; n += 1) {
      await upstreams.request(call({ clientCapabilities: n % 2 === 0 ? { elicitation } : {} }));
    }
    await until(() => upstream.sessions.size === 3);
    expect([...upstream.sessions]).toEqual(["session-2", "session-3", "session-4"]);
  });

  it.each([
    { second: { elicitation }, opened: 1, about: "adopts the session with the same" },
    { second: {}, opened: 2, about: "opens its own with others" },
    { second: undefined, opened: 1, about: "adopts whatever session there is when it says nothing" },
  ])("on another replica $about", async ({ second, opened }) => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    const first = roomFor(upstream.url, { ...legacy, records });
    await first.upstreams.request(call({ clientCapabilities: { elicitation } }));
    const other = roomFor(upstream.url, { ...legacy, records });
    await other.upstreams.request(call({ clientCapabilities: second }));
    expect(upstream.count("initialize")).toBe(opened);
    // The first replica, once it has the same policy, goes on with the other's session.
    await first.upstreams.request(call({ clientCapabilities: second }));
    expect(upstream.count("initialize")).toBe(opened);
  });

  it("finds a record from before capabilities were noted to have declared none", async () => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call({ clientCapabilities: {} }));
    for (const [key, text] of records.entries) {
      const { declared, ...before } = JSON.parse(text) as Loose;
      expect(declared).toEqual({});
      records.entries.set(key, JSON.stringify(before));
    }
    await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call({ clientCapabilities: {} }));
    expect(upstream.count("initialize")).toBe(1);
    await roomFor(upstream.url, { ...legacy, records }).upstreams.request(
      call({ clientCapabilities: { elicitation } }),
    );
    expect(upstream.count("initialize")).toBe(2);
  });

  it("is opened once by 20 parallel calls that want the same", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    await upstreams.request(call({ clientCapabilities: {} }));
    const changed = Array.from({ length: 20 }, () => upstreams.request(call({ clientCapabilities: { elicitation } })));
    expect((await Promise.all(changed)).map(summary)).toEqual(changed.map(() => "result"));
    expect(upstream.count("initialize")).toBe(2);
  });
});

describe("a modern upstream", () => {
  it("is told the client's capabilities as they are, with each request, session or not", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    const clientCapabilities = {
      elicitation,
      extensions: { "io.modelcontextprotocol/tasks": {} },
      experimental: { n: 1 },
    };
    await upstreams.request(call({ clientCapabilities, account: noSession }));
    await upstreams.request(call({ clientCapabilities }));
    await upstreams.request(call());
    const metas = upstream.received.map(({ rpc }) => (rpc["params"] as Loose)["_meta"] as Loose);
    expect(metas.map((meta) => meta["io.modelcontextprotocol/clientCapabilities"])).toEqual([
      clientCapabilities,
      clientCapabilities,
      {},
    ]);
  });

  it.each([400, 200])("that misses one says which: code and data stay, under %s", async (status) => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    const error = {
      code: -32021,
      message: "no",
      data: { requiredCapabilities: { elicitation: { url: {} } }, more: 1 },
    };
    upstream.script(({ rpc }, wire) => {
      wire.json(status, { jsonrpc: "2.0", id: rpc["id"], error });
      return true;
    });
    expect(await upstreams.request(call())).toEqual({
      kind: "error",
      error,
      hop: { era: "modern", revision: "2026-07-28" },
    });
    expect(upstream.received).toHaveLength(1);
  });

  it.each(["input_required", "task", "complete", "of a later day", undefined])(
    "says what kind of result it is, which passes as it is: %s",
    async (resultType) => {
      const upstream = await scripted();
      const { upstreams } = roomFor(upstream.url, modern);
      const result = {
        ...(resultType === undefined ? {} : { resultType }),
        inputRequests: { a: {} },
        requestState: "s",
      };
      upstream.script(({ rpc }, wire) => {
        wire.eventStream();
        wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result }));
        wire.endChunks();
        return true;
      });
      expect(await upstreams.request(call())).toMatchObject({ kind: "result", result });
    },
  );
});
