import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Loose } from "./http-client.ts";
import { openBench, refusedOnce } from "./refusal-bench.ts";
import type { RefusalBench, Refused } from "./refusal-bench.ts";
import { modernHeaders, modernMeta, post } from "./wire-client.ts";

let bench: RefusalBench;

beforeAll(async () => {
  bench = await openBench();
});

afterAll(async () => {
  await bench.close();
});

const call = (params: Loose): Loose => ({ jsonrpc: "2.0", id: 7, method: "tools/call", params });
const withMeta = (params: Loose, meta: Loose = modernMeta): Loose => call({ ...params, _meta: meta });
const otherVersion = { ...modernMeta, "io.modelcontextprotocol/protocolVersion": "2027-01-01" };

interface ModernFault extends Refused {
  readonly fault: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly message: Loose;
}

const echo = { name: "echo", arguments: {} };
const mismatch = { status: 400, rpc: -32020, code: "HEADER_MISMATCH", id: 7 } as const;

const modernFaults: readonly ModernFault[] = [
  {
    fault: "Mcp-Method unlike the body",
    headers: { "mcp-method": "tools/list" },
    message: withMeta(echo),
    ...mismatch,
  },
  { fault: "no Mcp-Method", headers: { "mcp-method": undefined }, message: withMeta(echo), ...mismatch },
  { fault: "Mcp-Name unlike the body", headers: { "mcp-name": "other" }, message: withMeta(echo), ...mismatch },
  { fault: "no Mcp-Name", headers: { "mcp-name": undefined }, message: withMeta(echo), ...mismatch },
  { fault: "Mcp-Name twice", headers: { "mcp-name": ["echo", "echo"] }, message: withMeta(echo), ...mismatch },
  {
    fault: "a version header unlike the body",
    headers: { "mcp-protocol-version": "2025-11-25" },
    message: withMeta(echo),
    ...mismatch,
  },
  { fault: "no version header", headers: { "mcp-protocol-version": undefined }, message: withMeta(echo), ...mismatch },
  { fault: "initialize under a modern header", message: { ...call({}), method: "initialize" }, ...mismatch },
  { fault: "no _meta", message: call(echo), status: 400, rpc: -32602, code: "META_INVALID", id: 7 },
  {
    fault: "_meta without capabilities",
    message: withMeta(echo, { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }),
    status: 400,
    rpc: -32602,
    code: "META_INVALID",
    id: 7,
  },
  {
    fault: "a revision nobody speaks",
    headers: { "mcp-protocol-version": "2027-01-01" },
    message: withMeta(echo, otherVersion),
    status: 400,
    rpc: -32022,
    code: "REVISION_UNSUPPORTED",
    id: 7,
  },
  {
    fault: "an unknown method",
    headers: { "mcp-method": "tools/teleport", "mcp-name": undefined },
    message: { ...withMeta({}), method: "tools/teleport" },
    status: 404,
    rpc: -32601,
    code: "RPC_METHOD_UNKNOWN",
    id: 7,
  },
  {
    fault: "ping, which this revision has not",
    headers: { "mcp-method": "ping", "mcp-name": undefined },
    message: { ...withMeta({}), method: "ping" },
    status: 404,
    rpc: -32601,
    code: "RPC_METHOD_UNKNOWN",
    id: 7,
  },
  {
    fault: "a response to nothing",
    headers: { "mcp-method": undefined, "mcp-name": undefined },
    message: { jsonrpc: "2.0", id: 7, result: {} },
    status: 400,
    rpc: -32600,
    code: "RPC_RESPONSE_UNEXPECTED",
    id: 7,
  },
  {
    fault: "an unknown tool",
    headers: { "mcp-name": "nope" },
    message: withMeta({ ...echo, name: "nope" }),
    status: 200,
    rpc: -32602,
    code: "ITEM_UNKNOWN",
    id: 7,
  },
  {
    fault: "arguments the schema refuses",
    message: withMeta({ ...echo, arguments: { n: "x" } }),
    status: 200,
    rpc: "call",
    code: "ARGUMENTS_INVALID",
    id: 7,
  },
  {
    fault: "a cursor nobody gave out",
    headers: { "mcp-method": "tools/list", "mcp-name": undefined },
    message: { ...withMeta({ cursor: "x" }), method: "tools/list" },
    status: 200,
    rpc: -32602,
    code: "CURSOR_INVALID",
    id: 7,
  },
];

describe("a modern request at fault is refused by its rung", () => {
  it.each(modernFaults)("$fault is $code", async ({ headers = {}, message, status, rpc, code, id }) => {
    const { alice } = bench;
    const all = { ...modernHeaders(alice, "tools/call", "echo"), ...headers };
    const answer = await refusedOnce(bench, () => post(alice, all, message), { status, rpc, code, id });
    expect(answer.headers["mcp-session-id"]).toBeUndefined();
    const said = /"code":(-?\d+)/.exec(answer.text)?.[1];
    expect(Number(said ?? 0) > -32000 || Number(said) <= -32020).toBe(true);
  });

  it("names the revisions that would do, newest first", async () => {
    const { alice } = bench;
    const headers = { ...modernHeaders(alice, "tools/call", "echo"), "mcp-protocol-version": "2027-01-01" };
    const answer = await post(alice, headers, withMeta(echo, otherVersion));
    const { data } = answer.json["error"] as { data: Loose };
    expect(data["requested"]).toBe("2027-01-01");
    expect(data["supported"]).toEqual(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]);
  });
});
