import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { toolsOf } from "../tools.ts";
import { reportTo } from "./report.ts";

interface Message {
  readonly id: string | number;
  readonly method: string;
  readonly params?: { readonly arguments?: Readonly<Record<string, unknown>> };
}

// An MCP server of revision 2026-07-28. Its path says how many tools it has: `/40/mcp`.
const lists = new Map<string, string>();

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const message = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Message;
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultOf(message, request.url ?? "")}}`;
    response
      .writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
      .end(body);
  });
});

const info = { _meta: { "io.modelcontextprotocol/serverInfo": { name: "bench", version: "1.0.0" } } };

function resultOf({ method, params }: Message, path: string): string {
  switch (method) {
    case "tools/call":
      return callResult(params?.arguments?.["id"]);
    case "tools/list":
      return listOf(path);
    case "server/discover":
      return JSON.stringify({
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: "private",
        ...info,
      });
    default:
      throw new Error(`the bench's upstream has no ${method}`);
  }
}

function callResult(id: unknown): string {
  const structured = {
    id,
    status: "open",
    priority: 2,
    subject: "The printer on the second floor does not print",
    assignee: { name: "Robin", team: "workplace" },
    tags: ["printer", "hardware"],
  };
  return JSON.stringify({
    resultType: "complete",
    content: [{ type: "text", text: JSON.stringify(structured) }],
    structuredContent: structured,
    ...info,
  });
}

function listOf(path: string): string {
  let text = lists.get(path);
  if (text === undefined) {
    const tools = toolsOf(Number(path.split("/")[1]));
    text = JSON.stringify({ resultType: "complete", tools, ttlMs: 0, cacheScope: "private", ...info });
    lists.set(path, text);
  }
  return text;
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  reportTo(process, (server.address() as AddressInfo).port);
});
