import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Loose = Readonly<Record<string, unknown>>;

export interface ListingUpstream {
  readonly url: string;
  /** URIs that were read, in order. */
  readonly read: readonly string[];
  /** Parameters of the calls of tools, in order. */
  readonly called: readonly Loose[];
  close(): Promise<void>;
}

export interface Listed {
  readonly tools?: readonly Loose[];
  readonly resourceTemplates?: readonly Loose[];
  /** What a call of a tool answers: `result` or `error`. */
  readonly answer?: (params: Loose) => Loose;
}

/** A legacy server without sessions that lists what it is given, reads every URI, and answers calls as told. */
export async function startListingUpstream(listed: Listed): Promise<ListingUpstream> {
  const read: string[] = [];
  const called: Loose[] = [];
  const answerTo = (method: unknown, params: Loose): Loose | undefined => {
    switch (method) {
      case "server/discover":
        return { error: { code: -32601, message: "Method not found" } };
      case "initialize":
        return { result: { protocolVersion: "2025-11-25", capabilities: { tools: {}, resources: {} }, serverInfo } };
      case "tools/list":
        return { result: { tools: listed.tools ?? [] } };
      case "resources/list":
        return { result: { resources: [] } };
      case "resources/templates/list":
        return { result: { resourceTemplates: listed.resourceTemplates ?? [] } };
      case "resources/read":
        read.push(String(params["uri"]));
        return { result: { contents: [{ uri: params["uri"], text: "content" }] } };
      case "tools/call":
        called.push(params);
        return listed.answer?.(params) ?? { result: { content: [] } };
      default:
        return undefined;
    }
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = JSON.parse(Buffer.concat(chunks).toString() || "{}") as { id?: unknown; method?: unknown };
      const params = (message as { params?: Loose }).params ?? {};
      const answer = answerTo(message.method, params);
      if (answer === undefined) response.writeHead(202).end();
      else {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    read,
    called,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
}

const serverInfo = { name: "listing", version: "1" };
