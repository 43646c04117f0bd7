import { describe, expect, it } from "vitest";
import { call, closeAfter, roomFor, scripted, summary, until } from "./setup.ts";
import { event } from "./scripted-upstream.ts";
import type { ScriptedUpstream, Wire } from "./scripted-upstream.ts";

/** So long that no test would see its end. */
const endless = 600_000;

/** What an upstream does with its stream after the answer. */
type After = (wire: Wire) => void;

const staysOpen: After = () => undefined;

const talks: After = (wire) => {
  const chatter = setInterval(() => {
    if (wire.closed) clearInterval(chatter);
    wire.chunk(": still here\n\n");
    wire.chunk(event({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } }));
  }, 3);
  closeAfter(() => {
    clearInterval(chatter);
    return Promise.resolve();
  });
};

const floods: After = (wire) => {
  for (let i = 0; i < 4; i += 1) wire.chunk(`data: ${"x".repeat(40_000)}\n\n`);
};

const endsSoon: After = (wire) => {
  setTimeout(() => {
    wire.endChunks();
  }, 10);
};

function answersInStreams(upstream: ScriptedUpstream, after: After): void {
  upstream.script((request, wire) => {
    if (request.rpc["method"] !== "tools/call") return false;
    wire.eventStream();
    wire.chunk(event({ jsonrpc: "2.0", id: request.rpc["id"], result: {} }));
    after(wire);
    return true;
  });
}

describe("an upstream that keeps its stream open after the answer", () => {
  it.each([
    { about: "says nothing more", after: staysOpen },
    { about: "goes on talking", after: talks },
    { about: "sends more than is worth reading", after: floods },
  ])("and $about delays no call that waits for the connection", async ({ after }) => {
    for (const era of ["legacy", "modern"] as const) {
      const upstream = await scripted({ era });
      const { upstreams } = roomFor(upstream.url, {
        options: { era, connectionsMax: 1 },
        limits: { upstreamStreamLingerMs: endless },
      });
      answersInStreams(upstream, after);
      for (let i = 0; i < 5; i += 1) expect(summary(await upstreams.request(call()))).toBe("result");
      const parallel = await Promise.all(Array.from({ length: 5 }, () => upstreams.request(call())));
      expect(parallel.map(summary)).toEqual(parallel.map(() => "result"));
      expect(upstream.count("tools/call")).toBe(10);
    }
  });

  it("delays none while there are connections, and the linger time frees all of them", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern", connectionsMax: 8 },
      limits: { upstreamStreamLingerMs: 100 },
    });
    answersInStreams(upstream, talks);
    const answers = await Promise.all(Array.from({ length: 40 }, () => upstreams.request(call())));
    expect(answers.map(summary)).toEqual(answers.map(() => "result"));
    await until(() => upstream.openConnections === 0);
  });

  it("does not hold up the opening of a session", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "legacy" },
      limits: { upstreamStreamLingerMs: endless, upstreamControlConnectionsMax: 1 },
    });
    upstream.script(({ rpc }, wire) => {
      if (rpc["method"] === "notifications/initialized") {
        wire.eventStream();
        return true;
      }
      if (rpc["method"] !== "initialize") return false;
      wire.eventStream();
      const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } };
      wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result }));
      return true;
    });
    const given = await upstreams.identify("up", call().account, new AbortController().signal);
    expect(given.ok).toBe(true);
  });
});

describe("an upstream that ends its stream soon after the answer", () => {
  it("keeps its connection, also while calls wait for it", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url, {
      options: { era: "modern", connectionsMax: 1 },
      limits: { upstreamStreamLingerMs: endless, upstreamStreamLingerMsMin: 2_000 },
    });
    answersInStreams(upstream, endsSoon);
    const answers = await Promise.all(Array.from({ length: 5 }, () => upstreams.request(call())));
    expect(answers.map(summary)).toEqual(answers.map(() => "result"));
    expect(new Set(upstream.received.map(({ connection }) => connection)).size).toBe(1);
  });
});
