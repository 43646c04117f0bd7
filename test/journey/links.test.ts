import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { startFilesBench, pdf, type FilesBench } from "../edge/files-bench.ts";
import { send, type Loose, type Received } from "./http-client.ts";
import { legacyCall, modernCall, openSession, refusalIn } from "./wire-client.ts";

const object = { type: "object" };
const link = (pattern?: string): Loose => ({
  type: "object",
  properties: { url: { type: "string", ...(pattern === undefined ? {} : { pattern }) } },
});
const tools = [
  { name: "free", inputSchema: object },
  { name: "shaped", inputSchema: object, outputSchema: link() },
  { name: "strict", inputSchema: object, outputSchema: link("/reports/7[.]pdf$") },
  { name: "fixed", inputSchema: object, outputSchema: link("^http://127[.]0[.]0[.]1:[0-9]+/reports/") },
];

let bench: FilesBench;
let origin: string;
let result: Loose = {};

beforeAll(async () => {
  bench = await startFilesBench({ tools, capabilities: { tools: {}, resources: {} }, script: answerMcp });
  origin = new URL(bench.upstream.url).origin;
});
afterAll(() => bench.close());

/** A server that lists one resource, and whose tools all return `result`. */
function answerMcp(request: ReceivedRequest, wire: Wire): boolean {
  const { id, method } = request.rpc;
  const listed = [{ uri: `http://${request.header("host") ?? ""}/reports/listed.pdf`, name: "listed" }];
  const answers = new Map<unknown, Loose>([
    ["resources/list", { resources: listed }],
    ["resources/templates/list", { resourceTemplates: [] }],
    ["tools/call", { content: [], ...result }],
  ]);
  const answer = answers.get(method);
  if (answer !== undefined) wire.json(200, { jsonrpc: "2.0", id, result: { resultType: "complete", ...answer } });
  return answer !== undefined;
}

const own = (path: string): string => `${origin}${path}`;
const publicly = (path: string): string => `${bench.gateway.publicUrl}/files/support/crm${path}`;

async function call(name: string, returned: Loose, era = "modern"): Promise<Loose> {
  result = returned;
  const caller = { gateway: bench.gateway, server: "support", token: await bench.token() };
  const params = { name, arguments: {} };
  const answer: Received =
    era === "modern"
      ? await modernCall(caller, "tools/call", params)
      : await legacyCall(await openSession(caller), "tools/call", params);
  expect(refusalIn(answer).code).toBe("");
  return answer.json["result"] as Loose;
}

describe("a link to a file in a result", () => {
  it.each(["modern", "legacy"])("has its public address, under which the file is (%s client)", async (era) => {
    const content = [
      { type: "resource_link", uri: own("/reports/7.pdf"), name: "7" },
      { type: "text", text: `Here: ${own("/reports/7.pdf?v=2")}.` },
    ];
    const delivered = await call("free", { content }, era);
    const [first, second] = delivered["content"] as [Loose, Loose];
    expect(first["uri"]).toBe(publicly("/reports/7.pdf"));
    expect(second["text"]).toBe(`Here: ${publicly("/reports/7.pdf?v=2")}.`);
    const path = new URL(String(first["uri"])).pathname;
    const file = await send({
      port: bench.gateway.port,
      path,
      method: "GET",
      headers: { authorization: `Bearer ${await bench.token()}` },
    });
    expect([file.status, file.text]).toEqual([200, pdf]);
  });

  it.each([
    ["/mcp"],
    ["/reports/2026/7.pdf"],
    ["/reports/%2e%2e/7.pdf"],
    ["/reports//7.pdf"],
    ["/reports/7.pdf;v=1"],
    ["/other/7.pdf"],
  ])("stays when %s is no file of a route", async (path) => {
    const content = [{ type: "resource_link", uri: own(path), name: "7" }];
    expect((await call("free", { content }))["content"]).toEqual(content);
  });

  it("stays when it is a resource that this principal reads by its URI", async () => {
    const content = [{ type: "resource_link", uri: own("/reports/listed.pdf"), name: "listed" }];
    expect((await call("free", { content }))["content"]).toEqual(content);
  });

  it("of another upstream stays", async () => {
    const content = [{ type: "resource_link", uri: "http://127.0.0.1:1/reports/7.pdf", name: "7" }];
    expect((await call("free", { content }))["content"]).toEqual(content);
  });
});

describe("structured content with a link", () => {
  it.each([
    ["free", "public"],
    ["shaped", "public"],
    ["strict", "public"],
    ["fixed", "own"],
  ])("of tool %s fits its schema with the %s address", async (name, which) => {
    const { structuredContent } = await call(name, { structuredContent: { url: own("/reports/7.pdf") } });
    expect(structuredContent).toEqual({ url: which === "own" ? own("/reports/7.pdf") : publicly("/reports/7.pdf") });
  });
});
