import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/model/json.ts";
import type { Era } from "../../src/model/revision.ts";
import type { RpcError } from "../../src/model/rpc.ts";
import { checkResultShape, upstreamErrorFor, upstreamResult } from "../../src/protocol/bridge.ts";
import { codecFor, discoverResult, initializeResult, negotiateLegacy } from "../../src/protocol/codec.ts";

const prefix = "io.modelcontextprotocol/";
const serverInfo = { name: "gateway", version: "1" };
const hints = { serverInfo, ttlMs: 5_000 };

function freed(era: Era, method: string, result: JsonObject): unknown {
  const outcome = upstreamResult({ era }, method, result);
  return outcome.ok ? outcome.value : [outcome.refusal.code, outcome.refusal.facts["member"]];
}

describe("upstreamResult", () => {
  it.each<Era>(["legacy", "modern"])("frees a result of its %s hop and keeps everything else", (era) => {
    const result = {
      resultType: "complete",
      ttlMs: 9,
      cacheScope: "public",
      tools: [{ name: "a", "x-unknown": 1 }],
      extra: { ttlMs: 1 },
      _meta: { [`${prefix}serverInfo`]: { name: "u" }, traceparent: "t", [`${prefix}related`]: 1 },
    };
    const before = structuredClone(result);
    expect(freed(era, "tools/list", result)).toEqual({
      tools: [{ name: "a", "x-unknown": 1 }],
      extra: { ttlMs: 1 },
      _meta: { traceparent: "t", [`${prefix}related`]: 1 },
    });
    expect(result).toEqual(before);
  });

  it("drops a _meta that had nothing else, and keeps one that was empty", () => {
    const own = { [`${prefix}serverInfo`]: { name: "u" }, [`${prefix}protocolVersion`]: "2026-07-28" };
    expect(freed("modern", "tools/call", { content: [], _meta: own })).toEqual({ content: [] });
    expect(freed("modern", "tools/call", { content: [], _meta: {} })).toEqual({ content: [], _meta: {} });
  });

  it("leaves ttlMs and cacheScope alone where they are no hints", () => {
    const result = { content: [], ttlMs: 1, cacheScope: "x" };
    expect(freed("modern", "tools/call", result)).toEqual(result);
  });

  it.each<[Era, JsonObject, unknown]>([
    ["modern", { content: [] }, { content: [] }],
    ["modern", { resultType: "complete", content: [] }, { content: [] }],
    ["modern", { resultType: "input_required", inputRequests: {} }, ["UPSTREAM_INPUT_REQUIRED", undefined]],
    ["legacy", { resultType: "input_required", content: [] }, ["UPSTREAM_INPUT_REQUIRED", undefined]],
    ["modern", { resultType: "task", content: [] }, ["UPSTREAM_ANSWER_INVALID", "resultType"]],
    ["modern", { resultType: "Complete", content: [] }, ["UPSTREAM_ANSWER_INVALID", "resultType"]],
    ["modern", { resultType: null, content: [] }, ["UPSTREAM_ANSWER_INVALID", "resultType"]],
    ["legacy", { resultType: "task", content: [] }, { content: [] }],
    ["legacy", {}, ["UPSTREAM_ANSWER_INVALID", "content"]],
  ])("on a %s hop %j becomes %j", (era, result, expected) => {
    expect(freed(era, "tools/call", result)).toEqual(expected);
  });
});

describe("checkResultShape", () => {
  it.each<[method: string, result: JsonObject]>([
    ["tools/call", { content: [] }],
    ["tools/call", { content: [{ type: "unheard-of" }], isError: true, _meta: {} }],
    ["tools/call", { structuredContent: { a: 1 } }],
    ["tools/call", { structuredContent: null, isError: false }],
    ["tools/list", { tools: [], nextCursor: "n" }],
    ["tools/list", { tools: [1, null], nextCursor: null }],
    ["resources/list", { resources: [] }],
    ["resources/templates/list", { resourceTemplates: [] }],
    ["prompts/list", { prompts: [] }],
    ["resources/read", { contents: [] }],
    ["prompts/get", { messages: [{ role: "user" }] }],
    ["ping", {}],
  ])("%s may answer %j", (method, result) => {
    expect(checkResultShape(method, result)).toEqual({ ok: true, value: undefined });
  });

  it.each<[method: string, result: JsonObject, member: string]>([
    ["tools/call", {}, "content"],
    ["tools/call", { content: null }, "content"],
    ["tools/call", { content: "text", structuredContent: {} }, "content"],
    ["tools/call", { content: ["text"] }, "content"],
    ["tools/call", { content: [[]] }, "content"],
    ["tools/call", { content: [], isError: "true" }, "isError"],
    ["tools/call", { content: [], isError: null }, "isError"],
    ["tools/call", { content: [], _meta: [] }, "_meta"],
    ["tools/list", {}, "tools"],
    ["tools/list", { tools: {} }, "tools"],
    ["tools/list", { resources: [] }, "tools"],
    ["tools/list", { tools: [], nextCursor: 7 }, "nextCursor"],
    ["resources/list", {}, "resources"],
    ["resources/templates/list", { templates: [] }, "resourceTemplates"],
    ["prompts/list", { structuredContent: {} }, "prompts"],
    ["resources/read", { contents: {} }, "contents"],
    ["prompts/get", { messages: ["hi"] }, "messages"],
    ["ping", { _meta: null }, "_meta"],
  ])("%s may not answer %j", (method, result, member) => {
    const verdict = checkResultShape(method, result);
    expect(verdict.ok ? "accepted" : verdict.refusal).toEqual({
      code: "UPSTREAM_ANSWER_INVALID",
      facts: { method, member },
    });
  });
});

describe("upstreamErrorFor", () => {
  const data = { uri: "a:b" };
  const to = (era: Era, method: string, error: RpcError): RpcError => upstreamErrorFor(era, method, error);

  it.each<[Era, method: string, code: number, expected: number]>([
    ["modern", "resources/read", -32002, -32602],
    ["modern", "tools/call", -32002, -32602],
    ["modern", "tools/call", -32000, -32603],
    ["modern", "tools/call", -32001, -32603],
    ["modern", "tools/call", -32019, -32603],
    ["modern", "tools/call", -32602, -32602],
    ["modern", "tools/call", -31999, -31999],
    ["modern", "tools/call", -32100, -32100],
    ["modern", "tools/call", 42, 42],
    ["legacy", "resources/read", -32602, -32002],
    ["legacy", "tools/call", -32602, -32602],
    ["legacy", "resources/read", -32002, -32002],
    ["legacy", "tools/call", -32000, -32000],
    ["legacy", "tools/call", -32601, -32601],
  ])("for a %s client of %s %i becomes %i, message and data kept", (era, method, code, expected) => {
    expect(to(era, method, { code, message: "m", data })).toEqual({ code: expected, message: "m", data });
  });

  it.each<Era>(["legacy", "modern"])("keeps what the upstream's hop is told from a %s client", (era) => {
    for (const code of [-32020, -32021, -32022, -32042, -32099]) {
      const error = { code, message: "m", data: { supported: ["2026-07-28"] } };
      expect(to(era, "tools/call", error)).toEqual({ code: -32603, message: "m" });
    }
  });

  it("takes an invalid parameter for a missing resource only when the error names one", () => {
    expect(to("legacy", "resources/read", { code: -32602, message: "m" }).code).toBe(-32602);
    expect(to("legacy", "resources/read", { code: -32602, message: "m", data: { uri: 1 } }).code).toBe(-32602);
  });
});

describe("a legacy client", () => {
  const codec = codecFor("legacy");

  it("gets results without what its revision does not know", () => {
    const modernResult = codecFor("modern").encodeResult(
      "tools/list",
      { tools: [], nextCursor: "n", _meta: { t: 1 } },
      hints,
    );
    expect(codec.encodeResult("tools/list", modernResult, hints)).toEqual({
      tools: [],
      nextCursor: "n",
      _meta: { t: 1 },
    });
    const call = { content: [], resultType: "complete", ttlMs: 7, future: true };
    expect(codec.encodeResult("tools/call", call, hints)).toEqual({ content: [], ttlMs: 7, future: true });
  });

  it.each([
    ["2025-03-26", "2025-03-26"],
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
    ["2024-11-05", "2025-11-25"],
    ["2099-01-01", "2025-11-25"],
    ["", "2025-11-25"],
  ])("that asks for %j gets %s", (requested, revision) => {
    expect(negotiateLegacy(requested)).toBe(revision);
  });

  it("is told who serves it once", () => {
    const about = { revision: "2025-06-18", capabilities: { tools: {} }, serverInfo } as const;
    const result = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    expect(initializeResult({ ...about, instructions: undefined })).toEqual(result);
    expect(initializeResult({ ...about, instructions: "hi" })).toEqual({ ...result, instructions: "hi" });
  });
});

describe("a modern client", () => {
  const codec = codecFor("modern");
  const stamped = { resultType: "complete", _meta: { [`${prefix}serverInfo`]: serverInfo } };
  const cached = { ttlMs: 5_000, cacheScope: "private" };

  it.each([
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "server/discover",
  ])("gets type, server and private caching hints with %s", (method) => {
    expect(codec.encodeResult(method, { a: 1 }, hints)).toEqual({ a: 1, ...stamped, ...cached });
    expect(codec.encodeResult(method, { cacheScope: "public", ttlMs: 1 }, hints)).toEqual({ ...stamped, ...cached });
  });

  it.each(["tools/call", "prompts/get"])("gets no caching hints with %s", (method) => {
    expect(codec.encodeResult(method, { content: [] }, hints)).toEqual({ content: [], ...stamped });
  });

  it("keeps the rest of _meta, and a type that is there", () => {
    const result = {
      content: [],
      resultType: "input_required",
      _meta: { t: 1, [`${prefix}serverInfo`]: { name: "u" } },
    };
    expect(codec.encodeResult("tools/call", result, hints)).toEqual({
      content: [],
      resultType: "input_required",
      _meta: { t: 1, [`${prefix}serverInfo`]: serverInfo },
    });
  });

  it("discovers what is supported", () => {
    const about = { supported: ["2026-07-28"], capabilities: {}, serverInfo } as const;
    const result = { supportedVersions: ["2026-07-28"], capabilities: {} };
    const encoded = codec.encodeResult("server/discover", discoverResult({ ...about, instructions: undefined }), hints);
    expect(encoded).toEqual({ ...result, ...stamped, ...cached });
    expect(discoverResult({ ...about, instructions: "hi" })).toMatchObject({ ...result, instructions: "hi" });
  });
});
