import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One JSON-RPC message as an upstream received it, for whoever asks what reached it. */
export interface Received {
  readonly method: string;
  /** The tool or prompt, or the URI of a read. */
  readonly name: string | undefined;
  /** Names in lower case; values as they came. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Upstream {
  readonly url: string;
  /** The newest `receivedMax` messages, oldest first. */
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** What an upstream does with a request whose body is read. */
export type Handle = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

export interface ServeOptions {
  /** 0 lets the system choose. */
  readonly port: number;
  readonly handle: Handle;
  /** When set, requests without this `x-api-key` are answered with 401. */
  readonly apiKey: string | undefined;
}

const receivedMax = 1_000;
const bodyBytesMax = 1_000_000;

/** Serves one MCP endpoint at `/mcp` of this machine, and notes what reached it. */
export async function serveUpstream(options: ServeOptions): Promise<Upstream> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void answer(request, response, { options, received }).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  const port = await listen(server, options.port);
  return { url: `http://127.0.0.1:${String(port)}/mcp`, received, close: () => close(server) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { options, received }: { options: ServeOptions; received: Received[] },
): Promise<void> {
  const fault = faultOf(request, options.apiKey);
  const text = fault === undefined ? await readText(request) : "";
  if (fault !== undefined || text === undefined) {
    response.writeHead(fault ?? 413).end();
    return;
  }
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  note(received, body, request);
  await options.handle(request, response, body);
}

function faultOf({ url, headers }: IncomingMessage, apiKey: string | undefined): number | undefined {
  if (url !== "/mcp") return 404;
  return apiKey === undefined || headers["x-api-key"] === apiKey ? undefined : 401;
}

async function readText(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function note(received: Received[], body: unknown, { headers }: IncomingMessage): void {
  const { method, params } = (body ?? {}) as { method?: string; params?: { name?: string; uri?: string } };
  if (method === undefined) return;
  received.push({ method, name: params?.name ?? params?.uri, headers });
  if (received.length > receivedMax) received.shift();
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => {
      resolve();
    });
    server.closeAllConnections();
  });
}
