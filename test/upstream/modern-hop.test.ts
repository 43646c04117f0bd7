import { describe, expect, it } from "vitest";
import { alice, bob, call, roomFor, scripted, summary } from "./setup.ts";
import { event } from "./scripted-upstream.ts";

const modern = { options: { era: "modern" as const } };

describe("a modern upstream", () => {
  it("gets exactly the headers and the body of its revision", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(`${upstream.url}?tenant=a`, modern);
    const inputSchema = {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        size: { type: "integer", "x-mcp-header": "Size" },
      },
    };
    const params = { name: "größe", arguments: { region: "eu", size: 3, other: true } };
    await upstreams.request(call({ params, name: "größe", inputSchema }));
    const [request] = upstream.received;
    const id = String(request?.rpc["id"]);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "sallyport", version: "0.1.0" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
    expect(request?.body).toBe(body);
    expect(request?.path).toBe("/mcp?tenant=a");
    expect(request?.headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`)).toEqual([
      `host: 127.0.0.1:${upstream.port}`,
      "connection: keep-alive",
      "content-type: application/json",
      "accept: application/json, text/event-stream",
      "accept-encoding: identity",
      "mcp-protocol-version: 2026-07-28",
      "mcp-method: tools/call",
      `mcp-name: =?base64?${Buffer.from("größe").toString("base64")}?=`,
      "mcp-param-region: eu",
      "mcp-param-size: 3",
      `content-length: ${Buffer.byteLength(body)}`,
    ]);
  });

  it("gets the hop's own _meta whatever the caller put there, and the caller's other keys", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2025-06-18",
      "io.modelcontextprotocol/clientCapabilities": { sampling: {} },
      progressToken: "mine",
      traceparent: "00-1",
    };
    await upstreams.request(call({ params: { name: "echo", _meta } }));
    expect((upstream.received[0]?.rpc["params"] as { _meta: unknown })._meta).toEqual({
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "sallyport", version: "0.1.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
      traceparent: "00-1",
    });
  });

  it("gets no request for a tool whose header annotations are not allowed", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    const inputSchema = { type: "object", properties: { a: { type: "object", "x-mcp-header": "A" } } };
    expect(summary(await upstreams.request(call({ inputSchema })))).toBe("failed SCHEMA_UNUSABLE");
    expect(upstream.received).toEqual([]);
  });

  it("keeps numbers that no double holds, both ways", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    upstream.script((request, wire) => {
      const id = JSON.stringify(request.rpc["id"]);
      wire.respond(200, "application/json", `{"jsonrpc":"2.0","id":${id},"result":{"n":9007199254740993}}`);
      return true;
    });
    const answered = await upstreams.request(call());
    expect(answered).toMatchObject({ kind: "result", result: { n: { source: "9007199254740993" } } });
  });

  it("never sees one id twice: 200 calls of two accounts, answered out of order, each get their own", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    let delay = 40;
    upstream.script(async (request) => {
      delay = (delay * 7) % 41;
      await new Promise((resolve) => setTimeout(resolve, delay));
      return request.rpc["method"] === "never";
    });
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const account = index % 2 === 0 ? alice : bob;
        const canary = `canary-${index}`;
        const answered = await upstreams.request(call({ account, params: { name: "echo", arguments: { canary } } }));
        return JSON.stringify(answered).includes(`\\"${canary}\\"`);
      }),
    );
    expect(answers.every(Boolean)).toBe(true);
    expect(new Set(upstream.received.map(({ rpc }) => rpc["id"])).size).toBe(200);
  });

  it("that sends requests on the stream is passed over, its progress is delivered until it answers", async () => {
    const upstream = await scripted();
    const { upstreams, log } = roomFor(upstream.url, modern);
    upstream.script((request, wire) => {
      wire.eventStream();
      wire.chunk(event({ jsonrpc: "2.0", id: 5, method: "sampling/createMessage", params: {} }));
      const progressToken = request.rpc["id"];
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } }));
      wire.chunk(event({ jsonrpc: "2.0", id: request.rpc["id"], result: {} }));
      wire.chunk(event({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 2 } }));
      wire.endChunks();
      return true;
    });
    const notified: unknown[] = [];
    await upstreams.request(call({ onProgress: (report) => notified.push(report) }));
    expect(notified).toEqual([{ progress: 1 }]);
    expect(upstream.received).toHaveLength(1);
    expect(log.map((entry) => entry.event)).toEqual(["upstream-request-ignored"]);
  });

  it("that answers in an event stream has its connection used again", async () => {
    const upstream = await scripted({ answers: "events" });
    const { upstreams } = roomFor(upstream.url, modern);
    for (let i = 0; i < 5; i += 1) {
      await upstreams.request(call());
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(new Set(upstream.received.map(({ connection }) => connection)).size).toBe(1);
  });

  it("that keeps its stream open after the answer loses the connection, and the slot is free again", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern", connectionsMax: 1 },
      limits: { upstreamStreamLingerMs: 20 },
    });
    upstream.script((request, wire) => {
      wire.eventStream();
      wire.chunk(event({ jsonrpc: "2.0", id: request.rpc["id"], result: {} }));
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(new Set(upstream.received.map(({ connection }) => connection)).size).toBe(2);
  });
});

describe("two hops of one process", () => {
  it("an upstream that is not configured is a fault of the caller", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    for (const name of ["other", "constructor", "__proto__"]) {
      await expect(upstreams.request(call({ upstream: name }))).rejects.toThrow("not configured");
    }
  });
});
