import { describe, expect, it } from "vitest";
import { alice, bob, call, memoryRecords, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";

const legacy = { options: { era: "legacy" as const } };

describe("a legacy upstream", () => {
  it.each([{ answers: "json" as const }, { answers: "events" as const }])(
    "gets initialize, initialized and calls, each with the session and the revision it granted ($answers)",
    async ({ answers }) => {
      const upstream = await scripted({ era: "legacy", revision: "2025-06-18", answers });
      const { upstreams } = roomFor(upstream.url, legacy);
      const answered = await upstreams.request(call());
      expect(answered).toMatchObject({ kind: "result", hop: { era: "legacy", revision: "2025-06-18" } });
      await upstreams.request(call());
      expect(upstream.received.map(({ rpc }) => rpc["method"])).toEqual([
        "initialize",
        "notifications/initialized",
        "tools/call",
        "tools/call",
      ]);
      const [initialize, ...rest] = upstream.received;
      expect(initialize?.rpc["params"]).toEqual({
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "sallyport", version: "0.1.0" },
      });
      expect(initialize?.header("mcp-session-id")).toBeUndefined();
      expect(rest.map((request) => [request.header("mcp-session-id"), request.header("mcp-protocol-version")])).toEqual(
        rest.map(() => ["session-1", "2025-06-18"]),
      );
    },
  );

  it("sees no Mcp-Method, Mcp-Name, hop _meta or progress token, and every other key of _meta", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "evil" },
      progressToken: 0,
      "example.com/trace": "t",
    };
    await upstreams.request(call({ params: { name: "echo", _meta }, inputSchema: region }));
    await upstreams.request(call({ params: { name: "echo", _meta: { progressToken: 0 } } }));
    const calls = upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call");
    expect(calls.map(({ rpc }) => rpc["params"])).toEqual([
      { name: "echo", _meta: { "example.com/trace": "t" } },
      { name: "echo" },
    ]);
    const names = upstream.received.flatMap(({ headers }) => headers.map(([name]) => name.toLowerCase()));
    expect(names.filter((name) => /^mcp-(method|name|param)/.test(name))).toEqual([]);
  });

  it.each([
    { revision: "2025-03-26", says: "result" },
    { revision: "2025-11-25", says: "result" },
    { revision: "2024-11-05", says: "failed UPSTREAM_REVISION_UNSUPPORTED" },
    { revision: "2026-07-28", says: "failed UPSTREAM_REVISION_UNSUPPORTED" },
    { revision: "2099-01-01", says: "failed UPSTREAM_REVISION_UNSUPPORTED" },
  ])("that answers initialize with $revision: $says", async ({ revision, says }) => {
    const upstream = await scripted({ era: "legacy", revision });
    const { upstreams } = roomFor(upstream.url, legacy);
    expect(summary(await upstreams.request(call()))).toBe(says);
  });

  it.each([
    { id: "a b", says: "failed UPSTREAM_ANSWER_INVALID" },
    { id: "é", says: "failed UPSTREAM_ANSWER_INVALID" },
    { id: "x".repeat(1_024), says: "result" },
    { id: "x".repeat(1_025), says: "failed UPSTREAM_ANSWER_INVALID" },
  ])("may not grant a session id that no header can carry ($id)", async ({ id, says }) => {
    const upstream = await scripted({ era: "legacy", sessions: false });
    const { upstreams } = roomFor(upstream.url, legacy);
    upstream.script((request, wire) => {
      if (request.rpc["method"] !== "initialize") return false;
      const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };
      wire.json(200, { jsonrpc: "2.0", id: request.rpc["id"], result }, [`Mcp-Session-Id: ${id}`]);
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe(says);
  });

  it("without sessions never sees the header, and one that begins to grant them is followed", async () => {
    const upstream = await scripted({ era: "legacy", sessions: false });
    const { upstreams } = roomFor(upstream.url, legacy);
    for (let i = 0; i < 10; i += 1) expect(summary(await upstreams.request(call()))).toBe("result");
    expect(upstream.received.filter((request) => request.header("mcp-session-id") !== undefined)).toEqual([]);
    upstream.script((request, wire) => {
      const { rpc } = request;
      const session = request.header("mcp-session-id");
      if (rpc["method"] === "initialize") {
        const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} };
        wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result }, ["Mcp-Session-Id: new"]);
      } else if (session === "new" && rpc["id"] === undefined) wire.respond(202, undefined, "");
      else if (session === "new") wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: {} });
      else wire.respond(400, "application/json", '{"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}');
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe("result");
  });

  it("answers with 200 and null to notifications are accepted", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    upstream.script((request, wire) => {
      if (request.rpc["method"] !== "notifications/initialized") return false;
      wire.respond(200, "application/json", "null");
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe("result");
  });

  it("asks the client during a call: ping is answered, anything else is unsupported, with the id's JSON type", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { options: { era: "legacy", connectionsMax: 1 } });
    const heard: unknown[] = [];
    upstream.script((request, wire) => {
      const { rpc } = request;
      if (rpc["method"] === undefined) heard.push(rpc);
      if (rpc["method"] !== "tools/call") return false;
      wire.eventStream();
      wire.chunk(event({ jsonrpc: "2.0", id: 0, method: "ping" }));
      wire.chunk('data: {"jsonrpc":"2.0","id":9007199254740993,"method":"elicitation/create","params":{}}\n\n');
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info" } }));
      const params = { progressToken: rpc["id"], progress: 1 };
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params }));
      void until(() => heard.length === 2).then(() => {
        wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result: {} }));
        wire.endChunks();
      });
      return true;
    });
    const notified: unknown[] = [];
    const answered = await upstreams.request(call({ onProgress: (report) => notified.push(report) }));
    expect(summary(answered)).toBe("result");
    expect(notified).toEqual([{ progress: 1 }]);
    expect(heard).toContainEqual({ jsonrpc: "2.0", id: 0, result: {} });
    const answers = upstream.received.filter(({ rpc }) => rpc["method"] === undefined);
    expect(answers.map(({ body }) => body).find((body) => body.includes("-32601"))).toContain('"id":9007199254740993');
    expect(answers.every((request) => request.header("mcp-session-id") === "session-1")).toBe(true);
  });

  const region = { type: "object", properties: { text: { type: "string", "x-mcp-header": "Region" } } };
});

describe("a legacy upstream that forgets its sessions", () => {
  it.each([{ unknownSession: "404" as const }, { unknownSession: "400" as const }])(
    "under 20 parallel calls gets one initialize, and every call is executed once ($unknownSession)",
    async ({ unknownSession }) => {
      const upstream = await scripted({ era: "legacy", unknownSession });
      const { upstreams } = roomFor(upstream.url, legacy);
      await upstreams.request(call());
      upstream.forgetSessions();
      const answers = await Promise.all(Array.from({ length: 20 }, () => upstreams.request(call())));
      expect(answers.map(summary)).toEqual(Array.from({ length: 20 }, () => "result"));
      expect(upstream.count("initialize")).toBe(2);
      expect(upstream.ledger).toHaveLength(21);
    },
  );

  it("tells a late caller so when the new session is open already: it is used, not replaced", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams, records } = roomFor(upstream.url, legacy);
    records.broken = true;
    await upstreams.request(call());
    upstream.forgetSessions();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    upstream.script(async (request) => {
      const params = request.rpc["params"] as { name?: string } | undefined;
      if (params?.name === "late") await held;
      return false;
    });
    const late = upstreams.request(call({ params: { name: "late" } }));
    await until(() => upstream.count("tools/call") === 2);
    expect(summary(await upstreams.request(call()))).toBe("result");
    release();
    expect(summary(await late)).toBe("result");
    expect(upstream.count("initialize")).toBe(2);
  });

  it("again and again is SESSION_LOST after one hidden attempt", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    upstream.script((request) => {
      if (request.rpc["method"] === "tools/call") upstream.forgetSessions();
      return false;
    });
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_SESSION_LOST");
    expect(upstream.count("initialize")).toBe(2);
    expect(upstream.ledger).toEqual([]);
  });

  it("is told from one that does not know the method: -32601 under 404 is the upstream's error", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const answered = await upstreams.request(call({ method: "prompts/get" }));
    expect(answered).toMatchObject({ kind: "error", error: { code: -32601 } });
    expect(upstream.count("initialize")).toBe(1);
  });

  it.each([-32602, -32603, -32002, 404])(
    "is told from a fault of the call: %i under 404, with the call's own id, is an answer, and nothing is sent again",
    async (code) => {
      const upstream = await scripted({ era: "legacy" });
      const { upstreams } = roomFor(upstream.url, legacy);
      let executed = 0;
      upstream.script(({ rpc }, wire) => {
        if (rpc["method"] !== "tools/call") return false;
        executed += 1;
        wire.json(404, { jsonrpc: "2.0", id: rpc["id"], error: { code, message: "no such document" } });
        return true;
      });
      expect(await upstreams.request(call())).toMatchObject({ kind: "error", error: { code } });
      expect([executed, upstream.count("initialize")]).toEqual([1, 1]);
    },
  );

  it("fails the call when no new session can be opened, and is tried again by the next", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    await upstreams.request(call());
    upstream.forgetSessions();
    upstream.script((request, wire) => {
      if (request.rpc["method"] !== "initialize") return false;
      wire.respond(503, undefined, "");
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_STATUS_UNEXPECTED");
    upstream.script(undefined);
    expect(summary(await upstreams.request(call()))).toBe("result");
  });
});

describe("sessions at a legacy upstream", () => {
  it("are opened once for parallel calls of one account, and never shared by two", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, legacy);
    const withoutSession = { ...alice, clientSession: undefined };
    const accounts = [
      alice,
      bob,
      withoutSession,
      { ...withoutSession, principalKey: bob.principalKey },
      { ...alice, tenant: "other" },
      // Two principals with one client session should never occur; if they did, they would not meet.
      { ...alice, principalKey: bob.principalKey },
    ];
    await Promise.all(accounts.flatMap((account) => [1, 2, 3].map(() => upstreams.request(call({ account })))));
    expect(upstream.count("initialize")).toBe(accounts.length);
    const used = new Map<string, Set<unknown>>();
    for (const [index, account] of accounts.entries()) {
      await upstreams.request(call({ account, params: { name: `n${index}` } }));
      const last = upstream.received.at(-1);
      used.set(`n${index}`, new Set([last?.header("mcp-session-id")]));
    }
    expect(new Set([...used.values()].flatMap((ids) => [...ids])).size).toBe(accounts.length);
  });

  it("are found by another replica through the store, which holds neither client session nor principal", async () => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    const first = roomFor(upstream.url, { ...legacy, records });
    await first.upstreams.request(call());
    const second = roomFor(upstream.url, { ...legacy, records });
    await second.upstreams.request(call());
    expect(upstream.count("initialize")).toBe(1);
    const stored = JSON.stringify([...records.entries]);
    expect(stored).not.toContain("client-session-a");
    expect(stored).not.toContain("alice");
  });

  it("in a record of another principal are not taken", async () => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call());
    const other = { ...alice, principalKey: bob.principalKey };
    await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call({ account: other }));
    expect(upstream.count("initialize")).toBe(2);
  });

  it.each([{ damage: "not json" }, { damage: "{}" }, { damage: '{"v":1,"owner":"x","revision":"2025-11-25"}' }])(
    "in a damaged record are opened anew ($damage)",
    async ({ damage }) => {
      const upstream = await scripted({ era: "legacy" });
      const records = memoryRecords();
      await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call());
      for (const key of records.entries.keys()) records.entries.set(key, damage);
      expect(summary(await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call()))).toBe("result");
      expect(upstream.count("initialize")).toBe(2);
    },
  );

  it("that the upstream forgot do not come back out of the store", async () => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call());
    upstream.forgetSessions();
    const second = roomFor(upstream.url, { ...legacy, records });
    expect(summary(await second.upstreams.request(call()))).toBe("result");
    expect(summary(await roomFor(upstream.url, { ...legacy, records }).upstreams.request(call()))).toBe("result");
    expect(upstream.count("initialize")).toBe(2);
  });

  it("live in memory while the store is down", async () => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    records.broken = true;
    const { upstreams, log } = roomFor(upstream.url, { ...legacy, records });
    await upstreams.request(call());
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(upstream.count("initialize")).toBe(1);
    expect(log.map(({ event: name }) => name)).toContain("upstream-session-record-unavailable");
  });

  it("end with DELETE when the client session ends, also when another replica opened them", async () => {
    const upstream = await scripted({ era: "legacy" });
    const records = memoryRecords();
    const first = roomFor(upstream.url, { ...legacy, records });
    await first.upstreams.request(call());
    await first.upstreams.request(call({ account: bob }));
    await roomFor(upstream.url, { ...legacy, records }).upstreams.endSessions(alice);
    expect([...upstream.sessions]).toEqual(["session-2"]);
    expect(records.entries.size).toBe(1);
    await first.upstreams.endSessions(bob);
    expect(upstream.sessions.size).toBe(0);
    await first.upstreams.endSessions({ ...alice, clientSession: "never seen" });
  });

  it("beyond the bound give way, the least recently used first, with DELETE", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { ...legacy, limits: { upstreamSessionsMax: 2 } });
    const carol = { ...alice, principalKey: "carol", clientSession: undefined };
    for (const account of [alice, bob, alice, carol]) await upstreams.request(call({ account }));
    await until(() => upstream.sessions.size === 2);
    expect([...upstream.sessions]).toEqual(["session-1", "session-3"]);
  });
});

describe("what a legacy upstream is, as identify tells", () => {
  it("is read from initialize and opens one session only", async () => {
    const upstream = await scripted({ era: "legacy", capabilities: { tools: { listChanged: true }, x: 1 } });
    const { upstreams } = roomFor(upstream.url, legacy);
    const { signal } = new AbortController();
    expect(await upstreams.identify("up", alice, signal)).toEqual({
      ok: true,
      value: {
        hop: { era: "legacy", revision: "2025-11-25" },
        serverInfo: { name: "scripted", version: "1" },
        capabilities: { tools: { listChanged: true }, x: 1 },
        instructions: "be kind",
      },
    });
    await upstreams.identify("up", alice, signal);
    await upstreams.request(call());
    expect(upstream.count("initialize")).toBe(1);
  });
});
