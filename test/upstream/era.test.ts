import { describe, expect, it } from "vitest";
import { alice, call, roomFor, scripted, summary } from "./setup.ts";
import type { ReceivedRequest, Wire } from "./scripted-upstream.ts";

const discover = (request: ReceivedRequest): boolean => request.rpc["method"] === "server/discover";
const error = (request: ReceivedRequest, code: number, data?: unknown): unknown => ({
  jsonrpc: "2.0",
  id: request.rpc["id"],
  error: { code, message: "m", ...(data === undefined ? {} : { data }) },
});
const result = (request: ReceivedRequest, value: unknown): unknown => ({
  jsonrpc: "2.0",
  id: request.rpc["id"],
  result: value,
});

describe("the verdict on an upstream's era", () => {
  interface Case {
    readonly answer: string;
    /** An era, or the summary of a failure. */
    readonly says: string;
    readonly act: (request: ReceivedRequest, wire: Wire) => void;
  }
  const cases: readonly Case[] = [
    {
      answer: "the modern revision",
      says: "modern",
      act: (r, wire) => {
        wire.json(200, result(r, { supportedVersions: ["2025-11-25", "2026-07-28"], capabilities: {} }));
      },
    },
    {
      answer: "legacy revisions only",
      says: "legacy",
      act: (r, wire) => {
        wire.json(200, result(r, { supportedVersions: ["2025-06-18"], capabilities: {} }));
      },
    },
    {
      answer: "unknown revisions only",
      says: "failed UPSTREAM_REVISION_UNSUPPORTED",
      act: (r, wire) => {
        wire.json(200, result(r, { supportedVersions: ["2031-01-01"], capabilities: {} }));
      },
    },
    {
      answer: "an empty result, as to any method",
      says: "legacy",
      act: (r, wire) => {
        wire.json(200, result(r, {}));
      },
    },
    {
      answer: "an empty list of revisions",
      says: "failed UPSTREAM_ANSWER_INVALID",
      act: (r, wire) => {
        wire.json(200, result(r, { supportedVersions: [] }));
      },
    },
    {
      answer: "revisions that are no list",
      says: "failed UPSTREAM_ANSWER_INVALID",
      act: (r, wire) => {
        wire.json(200, result(r, { supportedVersions: "2026-07-28" }));
      },
    },
    {
      answer: "-32022 with legacy revisions",
      says: "legacy",
      act: (r, wire) => {
        wire.json(400, error(r, -32022, { supported: ["2025-11-25"] }));
      },
    },
    {
      answer: "-32022 with unknown revisions",
      says: "failed UPSTREAM_REVISION_UNSUPPORTED",
      act: (r, wire) => {
        wire.json(400, error(r, -32022, { supported: ["2031-01-01"] }));
      },
    },
    {
      answer: "-32022 with the modern revision, twice",
      says: "failed UPSTREAM_REVISION_UNSUPPORTED",
      act: (r, wire) => {
        wire.json(400, error(r, -32022, { supported: ["2026-07-28"] }));
      },
    },
    {
      answer: "404 and -32601",
      says: "legacy",
      act: (r, wire) => {
        wire.json(404, error(r, -32601));
      },
    },
    {
      answer: "200 and -32601",
      says: "legacy",
      act: (r, wire) => {
        wire.json(200, error(r, -32601));
      },
    },
    {
      answer: "200 and an error without id",
      says: "legacy",
      act: (_r, wire) => {
        wire.json(200, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "m" } });
      },
    },
    {
      answer: "400 and an error without id",
      says: "legacy",
      act: (_r, wire) => {
        wire.json(400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "m" } });
      },
    },
    {
      answer: "400 in text",
      says: "legacy",
      act: (_r, wire) => {
        wire.respond(400, "text/plain", "what?");
      },
    },
    {
      answer: "406",
      says: "legacy",
      act: (_r, wire) => {
        wire.respond(406, undefined, "");
      },
    },
    {
      answer: "401",
      says: "failed UPSTREAM_AUTH_FAILED",
      act: (r, wire) => {
        wire.json(401, error(r, -32000));
      },
    },
    {
      answer: "403 with an error without id",
      says: "failed UPSTREAM_AUTH_FAILED",
      act: (_r, wire) => {
        wire.json(403, { jsonrpc: "2.0", error: { code: -32000, message: "m" } });
      },
    },
    {
      answer: "429",
      says: "failed UPSTREAM_STATUS_UNEXPECTED",
      act: (_r, wire) => {
        wire.respond(429, undefined, "");
      },
    },
    {
      answer: "500",
      says: "failed UPSTREAM_STATUS_UNEXPECTED",
      act: (_r, wire) => {
        wire.respond(500, undefined, "");
      },
    },
    {
      answer: "500 with an error",
      says: "failed UPSTREAM_STATUS_UNEXPECTED",
      act: (r, wire) => {
        wire.json(500, error(r, -32603));
      },
    },
    {
      answer: "301",
      says: "failed UPSTREAM_STATUS_UNEXPECTED",
      act: (_r, wire) => {
        wire.respond(301, undefined, "", ["Location: /"]);
      },
    },
    {
      answer: "a page of HTML",
      says: "failed UPSTREAM_ANSWER_INVALID",
      act: (_r, wire) => {
        wire.respond(200, "text/html", "<html>");
      },
    },
    {
      answer: "202",
      says: "failed UPSTREAM_ANSWER_INVALID",
      act: (_r, wire) => {
        wire.respond(202, undefined, "");
      },
    },
    {
      answer: "a reset",
      says: "failed UPSTREAM_CLOSED_EARLY",
      act: (_r, wire) => {
        wire.reset();
      },
    },
  ];
  it.each(cases)("after $answer: $says", async ({ answer, act, says }) => {
    const upstream = await scripted({ era: "both" });
    const { upstreams } = roomFor(upstream.url);
    upstream.script((request, wire) => {
      if (!discover(request)) return false;
      act(request, wire);
      return true;
    });
    const answered = await upstreams.request(call());
    expect(answered.kind === "failed" ? summary(answered) : answered.hop.era).toBe(says);
    if (answered.kind === "failed") expect(upstream.ledger).toEqual([]);
    // An outage is not remembered, a verdict is; a contradiction is asked about once more.
    await upstreams.request(call());
    const probes = says === "modern" || says === "legacy" ? 1 : answer.endsWith("twice") ? 4 : 2;
    expect(upstream.count("server/discover")).toBe(probes);
  });

  it("is asked for once by parallel callers, again after it expired, and never when pinned", async () => {
    const upstream = await scripted({ era: "both" });
    const { upstreams, clock } = roomFor(upstream.url, { limits: { eraVerdictAgeMsMax: 1_000 } });
    await Promise.all(Array.from({ length: 10 }, () => upstreams.request(call())));
    expect(upstream.count("server/discover")).toBe(1);
    clock.now += 999;
    await upstreams.request(call());
    expect(upstream.count("server/discover")).toBe(1);
    clock.now += 1;
    await upstreams.request(call());
    expect(upstream.count("server/discover")).toBe(2);
    for (const era of ["modern", "legacy"] as const) {
      const pinned = roomFor(upstream.url, { options: { era } });
      expect(await pinned.upstreams.request(call())).toMatchObject({ kind: "result", hop: { era } });
    }
    expect(upstream.count("server/discover")).toBe(2);
  });

  it("is forgotten when the upstream turns out to have changed era, either way", async () => {
    const upstream = await scripted({ era: "modern" });
    const { upstreams } = roomFor(upstream.url);
    expect(await upstreams.request(call())).toMatchObject({ hop: { era: "modern" } });
    const legacy = await scripted({ era: "legacy" });
    expect(await roomFor(legacy.url).upstreams.request(call())).toMatchObject({ hop: { era: "legacy" } });
    upstream.script((request, wire) => {
      if (request.header("mcp-protocol-version") !== "2026-07-28") return false;
      wire.respond(400, "text/plain", "what?");
      return true;
    });
    expect(summary(await upstreams.request(call()))).toBe("failed UPSTREAM_STATUS_UNEXPECTED");
    await upstreams.request(call());
    expect(upstream.count("server/discover")).toBe(2);
    expect(upstream.count("initialize")).toBe(1);
  });

  it("does not outlive a caller who is gone", async () => {
    const upstream = await scripted();
    const { upstreams } = roomFor(upstream.url);
    const gone = new AbortController();
    upstream.script((request) => {
      if (discover(request)) gone.abort();
      return false;
    });
    const [first, second] = await Promise.all([
      upstreams.request(call({ signal: gone.signal })),
      upstreams.request(call()),
    ]);
    expect(summary(first)).toBe("failed CLIENT_GONE");
    expect(summary(second)).toBe("result");
  });
});

describe("what a modern upstream is, as identify tells", () => {
  it("is read from server/discover and remembered with the verdict", async () => {
    const upstream = await scripted({ capabilities: { tools: {}, prompts: {} } });
    const { upstreams } = roomFor(upstream.url);
    const { signal } = new AbortController();
    const expected = {
      ok: true,
      value: {
        hop: { era: "modern", revision: "2026-07-28" },
        serverInfo: { name: "scripted", version: "1" },
        capabilities: { tools: {}, prompts: {} },
        instructions: undefined,
      },
    };
    expect(await upstreams.identify("up", alice, signal)).toEqual(expected);
    expect(await upstreams.identify("up", alice, signal)).toEqual(expected);
    expect(upstream.received).toHaveLength(1);
  });

  it("is a refusal when a pinned era does not hold", async () => {
    const upstream = await scripted({ era: "legacy" });
    const { upstreams } = roomFor(upstream.url, { options: { era: "modern" } });
    const identified = await upstreams.identify("up", alice, new AbortController().signal);
    expect(identified).toMatchObject({ ok: false, refusal: { code: "UPSTREAM_REVISION_UNSUPPORTED" } });
  });
});
