import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { call, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";

const modern = { options: { era: "modern" as const } };

describe("the outcome of a call that got no answer", () => {
  it("is unknown after its side effect when the socket drops, and it is executed once", async () => {
    for (const era of ["modern", "legacy"] as const) {
      const upstream = await scripted({ era });
      const { upstreams } = roomFor(upstream.url, { options: { era } });
      const executed: string[] = [];
      upstream.script((request, wire) => {
        if (request.rpc["method"] !== "tools/call") return false;
        executed.push("order placed");
        wire.reset();
        return true;
      });
      expect(summary(await upstreams.request(call()))).toBe("unknown UPSTREAM_CLOSED_EARLY");
      expect(executed).toEqual(["order placed"]);
    }
  });

  it("is failed when nobody listens", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const { upstreams } = roomFor(`http://127.0.0.1:${port}/mcp`, modern);
    const answered = await upstreams.request(call());
    expect(answered).toMatchObject({
      kind: "failed",
      outcome: "failed",
      refusal: { code: "UPSTREAM_UNREACHABLE", facts: { upstream: "up", systemCode: "ECONNREFUSED" } },
    });
  });

  it("is failed when TLS does not come about", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url.replace("http:", "https:"), {
      options: { era: "modern", timeouts: { connectMs: 100 } },
    });
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_UNREACHABLE");
    expect(upstream.ledger).toEqual([]);
  });

  it("is failed for an address that is not allowed, and nothing is dialled", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", addresses: "private" } });
    const answered = await upstreams.request(call());
    expect(answered).toMatchObject({
      outcome: "failed",
      refusal: { code: "UPSTREAM_ADDRESS_FORBIDDEN", facts: { address: "127.0.0.1", kind: "loopback" } },
    });
    expect(upstream.openConnections).toBe(0);
  });

  it.each([
    { phase: "first-byte", options: { timeouts: { firstByteMs: 200 } }, timeoutMs: 10_000 },
    { phase: "call", options: {}, timeoutMs: 200 },
    { phase: "call", options: { timeouts: { callMs: 200 } }, timeoutMs: 10_000 },
  ])("is unknown when the upstream is silent longer than allowed ($phase)", async ({ phase, options, timeoutMs }) => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", ...options } });
    await upstreams.request(call());
    upstream.script(() => true);
    const answered = await upstreams.request(call({ timeoutMs }));
    expect(answered).toMatchObject({
      outcome: "unknown",
      refusal: { code: "UPSTREAM_TIMED_OUT", facts: { phase, ms: 200 } },
    });
    await until(() => upstream.abandoned.length === 1);
  });

  it("is unknown when a stream falls silent, while one that says anything lives on", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", timeouts: { idleMs: 150 } } });
    upstream.script(async (request, wire) => {
      wire.eventStream();
      for (let i = 0; i < 12; i += 1) {
        await new Promise((resolve) => setTimeout(resolve, 25));
        wire.chunk(": still here\n\n");
      }
      if (upstream.received.length === 1) wire.chunk(event({ jsonrpc: "2.0", id: request.rpc["id"], result: {} }));
      if (upstream.received.length === 1) wire.endChunks();
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe("result");
    const answered = await upstreams.request(call());
    expect(answered).toMatchObject({
      outcome: "unknown",
      refusal: { code: "UPSTREAM_TIMED_OUT", facts: { phase: "idle" } },
    });
  });

  it("names no body, header or text of the upstream in its facts", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    upstream.script((_request, wire) => {
      wire.respond(500, "text/plain", "canary-secret at db.internal", ["X-Canary: canary-secret"]);
      return true;
    });
    expect(JSON.stringify(await upstreams.request(call()))).not.toContain("canary");
  });
});

describe("the queue before an upstream", () => {
  it("is bounded, first come first served, and refuses as failed when full", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", connectionsMax: 1, queueMax: 2 } });
    const holding: (() => void)[] = [];
    upstream.script(async () => {
      await new Promise<void>((resolve) => holding.push(resolve));
      return false;
    });
    const named = (name: string): ReturnType<typeof upstreams.request> => upstreams.request(call({ params: { name } }));
    const running = named("one");
    await until(() => holding.length === 1);
    const waiting = [named("two"), named("three")];
    expect(summary(await named("four"))).toBe("failed UPSTREAM_QUEUE_FULL");
    for (const done of [1, 2, 3]) {
      await until(() => holding.length === done);
      holding[done - 1]?.();
    }
    expect((await Promise.all([running, ...waiting])).map(summary)).toEqual(["result", "result", "result"]);
    expect(upstream.ledger).toEqual(["one", "two", "three"]);
  });

  it("lets go of a caller who is gone, whose place another takes", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", connectionsMax: 1, queueMax: 1 } });
    const holding: (() => void)[] = [];
    upstream.script(async () => {
      await new Promise<void>((resolve) => holding.push(resolve));
      return false;
    });
    const running = upstreams.request(call());
    await until(() => holding.length === 1);
    const gone = new AbortController();
    const waiting = upstreams.request(call({ signal: gone.signal, params: { name: "gone" } }));
    gone.abort();
    expect(summary(await waiting)).toBe("failed CLIENT_GONE");
    const next = upstreams.request(call({ params: { name: "next" } }));
    holding[0]?.();
    await until(() => holding.length === 2);
    holding[1]?.();
    expect([summary(await running), summary(await next)]).toEqual(["result", "result"]);
    expect(upstream.ledger).toEqual(["echo", "next"]);
  });

  it("ends a wait that is longer than the call may take as failed", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", connectionsMax: 1 } });
    upstream.script(() => true);
    const running = upstreams.request(call({ timeoutMs: 500 }));
    await until(() => upstream.received.length === 1);
    const waited = await upstreams.request(call({ timeoutMs: 20 }));
    expect(waited).toMatchObject({
      outcome: "failed",
      refusal: { code: "UPSTREAM_TIMED_OUT", facts: { phase: "queue" } },
    });
    await running;
  });

  it("does not hold up cancellations: they have connections of their own", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { options: { era: "legacy", connectionsMax: 1, queueMax: 0 } });
    await upstreams.request(call());
    upstream.script((request) => request.rpc["method"] === "tools/call");
    const gone = new AbortController();
    const running = upstreams.request(call({ signal: gone.signal }));
    await until(() => upstream.count("tools/call") === 2);
    gone.abort();
    await running;
    await until(() => upstream.cancelled.length === 1);
  });
});

describe("a caller who is gone", () => {
  it("closes the stream of a modern upstream, and the connection is free for the next", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern", connectionsMax: 1 } });
    upstream.script((_request, wire) => {
      wire.eventStream();
      return true;
    });
    const gone = new AbortController();
    const running = upstreams.request(call({ signal: gone.signal }));
    await until(() => upstream.received.length === 1);
    gone.abort();
    expect(summary(await running)).toBe("unknown CLIENT_GONE");
    await until(() => upstream.abandoned.length === 1);
    upstream.script(undefined);
    expect(summary(await upstreams.request(call()))).toBe("result");
    expect(upstream.received.map(({ rpc }) => rpc["method"])).toEqual(["tools/call", "tools/call"]);
  });

  it("and one who waits too long are told to a legacy upstream with its own id and session", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { options: { era: "legacy" } });
    upstream.script((request) => request.rpc["method"] === "tools/call");
    const gone = new AbortController();
    const running = upstreams.request(call({ signal: gone.signal }));
    await until(() => upstream.count("tools/call") === 1);
    gone.abort();
    expect(summary(await running)).toBe("unknown CLIENT_GONE");
    expect(summary(await upstreams.request(call({ timeoutMs: 100 })))).toBe("unknown UPSTREAM_TIMED_OUT");
    await until(() => upstream.cancelled.length === 2);
    const sent = upstream.received.filter(({ rpc }) => rpc["method"] === "tools/call").map(({ rpc }) => rpc["id"]);
    expect(upstream.cancelled).toEqual(sent);
  });

  it("before the request is sent leaves no trace at the upstream", async () => {
    const upstream = await scripted({ era: "both" });
    const { upstreams } = roomFor(upstream.url, modern);
    expect(summary(await upstreams.request(call({ signal: AbortSignal.abort() })))).toBe("failed CLIENT_GONE");
    expect(upstream.received).toEqual([]);
  });

  it("among 50 leaves the other 49 alone", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    const gone = new AbortController();
    let release: () => void = () => undefined;
    const open = new Promise<void>((resolve) => {
      release = resolve;
    });
    upstream.script(async () => {
      await open;
      return false;
    });
    const running = Array.from({ length: 50 }, (_, index) =>
      upstreams.request(call(index === 7 ? { signal: gone.signal } : {})),
    );
    await until(() => upstream.received.length === 50);
    gone.abort();
    release();
    const summaries = (await Promise.all(running)).map(summary);
    expect(summaries.filter((one) => one === "result")).toHaveLength(49);
    expect(summaries[7]).toBe("unknown CLIENT_GONE");
  });
});

describe("closing", () => {
  it("ends exchanges in progress and lets nothing more through", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, modern);
    upstream.script(() => true);
    const running = upstreams.request(call());
    await until(() => upstream.received.length === 1);
    await upstreams.close();
    expect(summary(await running)).toBe("unknown UPSTREAM_CLOSED_EARLY");
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_UNREACHABLE");
    await until(() => upstream.openConnections === 0);
  });
});

describe("sessions that nobody uses", () => {
  it.each([{ record: "gone" }, { record: "kept" }])(
    "are deleted at the upstream once idle, unless the record shows another replica uses them ($record)",
    async ({ record }) => {
      const upstream = await scripted({ era: "legacy" });
      const limits = { upstreamSessionIdleMs: 5_000 };
      const { upstreams, clock, records } = roomFor(upstream.url, { options: { era: "legacy" }, limits });
      await upstreams.request(call());
      if (record === "gone") records.entries.clear();
      clock.now += 4_999;
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      expect(upstream.sessions.size).toBe(1);
      clock.now += 1;
      if (record === "gone") await until(() => upstream.sessions.size === 0);
      else {
        await new Promise((resolve) => setTimeout(resolve, 1_100));
        expect(upstream.sessions.size).toBe(1);
        expect(upstream.received.filter(({ method }) => method === "DELETE")).toEqual([]);
      }
    },
  );
});
