import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { sendRaw } from "../journey/http-client.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import {
  errorCodeIn,
  legacyHeaders,
  modernCall,
  modernHeaders,
  modernMeta,
  openSession,
  post,
  refusalIn,
} from "../journey/wire-client.ts";
import type { Caller } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";

let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;
let caller: Caller;
let session: Caller & { session: string };

const tools = ["get_it", "drop_it"].map((name) => ({ name, inputSchema: { type: "object" } }));

beforeAll(async () => {
  upstream = await startScriptedUpstream({ tools });
  gateway = await startGatewayUnderTest({ upstreams: { alpha: upstream.url }, servers: { alpha: { alpha: "a_" } } });
  caller = { gateway, server: "alpha" };
  session = await openSession(caller);
  await modernCall(caller, "tools/list");
});

afterAll(async () => {
  await gateway.remove();
  await upstream.close();
});

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const body: Loose = {
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "a_get_it", arguments: {}, _meta: modernMeta },
};

/** A modern call of `a_get_it` under these headers, and whether anything was executed. */
async function call(headers: Headers): Promise<{ answer: Received; executed: number }> {
  const before = upstream.ledger.length;
  const answer = await post(caller, { ...modernHeaders(caller, "tools/call", "a_get_it"), ...headers }, body);
  return { answer, executed: upstream.ledger.length - before };
}

describe("headers of a modern call that are unlike its body", () => {
  it.each<[why: string, headers: Headers]>([
    ["an allowed name over another's body", { "mcp-name": "a_drop_it" }],
    ["the upstream's own name", { "mcp-name": "get_it" }],
    ["no name", { "mcp-name": undefined }],
    ["an empty name", { "mcp-name": "" }],
    ["other capitals", { "mcp-name": "A_get_it" }],
    ["the name twice", { "mcp-name": ["a_get_it", "a_get_it"] }],
    ["two names", { "mcp-name": ["a_get_it", "a_drop_it"] }],
    ["two names in one", { "mcp-name": "a_get_it, a_drop_it" }],
    ["a percent-encoded name", { "mcp-name": "a%5Fget_it" }],
    ["malformed base64", { "mcp-name": "=?base64?YV9nZXRfaXQ?=" }],
    ["base64 of another name", { "mcp-name": "=?base64?YV9kcm9wX2l0?=" }],
    ["another method", { "mcp-method": "tools/list" }],
    ["the method in capitals", { "mcp-method": "Tools/Call" }],
    ["no method", { "mcp-method": undefined }],
    ["the method twice", { "mcp-method": ["tools/call", "tools/call"] }],
    ["a legacy revision", { "mcp-protocol-version": "2025-11-25" }],
    ["no revision", { "mcp-protocol-version": undefined }],
    ["two revisions", { "mcp-protocol-version": ["2026-07-28", "2025-11-25"] }],
    ["headers declared hop by hop, and gone", { connection: "mcp-name, close", "mcp-name": undefined }],
  ])("%s: 400, -32020, and nothing reaches the upstream", async (_why, headers) => {
    const { answer, executed } = await call(headers);
    expect([answer.status, errorCodeIn(answer), refusalIn(answer).code]).toEqual([400, -32020, "HEADER_MISMATCH"]);
    expect([answer.json["id"], executed]).toEqual([7, 0]);
  });

  it.each<[why: string, headers: Headers]>([
    ["the name as base64", { "mcp-name": "=?base64?YV9nZXRfaXQ=?=" }],
    ["white space around the name", { "mcp-name": "  a_get_it\t" }],
    ["headers declared hop by hop, and there", { connection: "mcp-method, mcp-name, close" }],
  ])("%s: is no difference, and the upstream gets its own name in body and header", async (_why, headers) => {
    const { answer, executed } = await call(headers);
    expect([answer.status, executed]).toEqual([200, 1]);
    const sent = upstream.received.at(-1);
    expect([sent?.header("mcp-name"), (sent?.rpc["params"] as Loose)["name"]]).toEqual(["get_it", "get_it"]);
    expect(sent?.header("mcp-method")).toBe("tools/call");
  });
});

describe("MCP headers that a legacy request need not have", () => {
  const legacy = (headers: Headers): Promise<Received> => {
    const message = { ...body, params: { name: "a_get_it", arguments: {} } };
    return post(session, { ...legacyHeaders(session), ...headers }, message);
  };

  it.each<[headers: Headers, status: number]>([
    [{ "mcp-name": "a_get_it", "mcp-method": "tools/call" }, 200],
    [{ "mcp-name": "a_drop_it" }, 400],
    [{ "mcp-method": "tools/list" }, 400],
  ])("%j are compared all the same: %i", async (headers, status) => {
    const before = upstream.ledger.length;
    const answer = await legacy(headers);
    expect([answer.status, upstream.ledger.length - before]).toEqual([status, status === 200 ? 1 : 0]);
  });
});

describe("a header block out of bounds", () => {
  const text = JSON.stringify(body);
  const raw = (lines: readonly string[]): Promise<Received> => {
    const head = [
      "POST /alpha/mcp HTTP/1.1",
      `Host: ${gateway.host}`,
      "Content-Type: application/json",
      "MCP-Protocol-Version: 2026-07-28",
      "Mcp-Method: tools/call",
      "Mcp-Name: a_get_it",
      `Content-Length: ${text.length}`,
      "Connection: close",
      ...lines,
    ];
    return sendRaw(gateway.port, `${head.join("\r\n")}\r\n\r\n${text}`);
  };

  it.each<[why: string, lines: readonly string[], status: number]>([
    ["nothing amiss", ["X-Padding: x"], 200],
    ["64 KiB of headers", [`X-Padding: ${"x".repeat(65_536)}`], 431],
    ["2,000 headers", Array.from({ length: 2_000 }, (_, at) => `X-Padding-${at}: x`), 431],
    ["a bare carriage return in a value", ["X-Padding: a\rMcp-Name: a_drop_it"], 400],
    ["a bare line feed in a value", ["X-Padding: a\nMcp-Name: a_drop_it"], 400],
    ["a folded line", ["X-Padding: a", " b"], 400],
    ["a NUL in a value", ["X-Padding: a\0b"], 400],
    ["white space before the colon", ["Mcp-Name : a_drop_it"], 400],
  ])("%s is answered %s", async (_why, lines, status) => {
    const before = upstream.ledger.length;
    expect((await raw(lines)).status).toBe(status);
    expect(upstream.ledger.length - before).toBe(status === 200 ? 1 : 0);
  });
});
