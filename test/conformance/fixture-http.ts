import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Values } from "./fixture-item.ts";

/** More than any scenario sends; a fixture has a bound as everything has. */
const bodyBytesMax = 1_048_576;

/** How long a fixture waits between two messages that must be seen to come apart. */
const pauseMs = 30;

export interface Fixture {
  /** The MCP endpoint. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves one MCP endpoint on a free port of the loopback, to loopback names alone. */
export async function serveFixture(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Fixture> {
  const server = createServer((request, response) => {
    if (!fromLoopback(request)) {
      forbid(response);
      return;
    }
    handle(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** DNS rebinding ends here: a page that reaches the loopback under its own name is told nothing. */
function fromLoopback(request: IncomingMessage): boolean {
  const { host, origin } = request.headers;
  const names = [host === undefined ? undefined : `http://${host}`, origin];
  return names.every((name) => name === undefined || ["localhost", "127.0.0.1", "[::1]"].includes(hostOf(name)));
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : "";
}

function forbid(response: ServerResponse): void {
  sendJson(response, 403, { jsonrpc: "2.0", error: { code: -32600, message: "Only for this machine" } });
}

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown;
  } catch {
    return undefined;
  }
}

export function sendJson(response: ServerResponse, status: number, body: Values, headers: Values = {}): void {
  const own = { "content-type": "application/json", ...headers } as Record<string, string>;
  response.writeHead(status, own).end(JSON.stringify(body));
}

export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

/** A stream of server-sent events that is open for as long as the client listens. */
export interface EventStream {
  send(message: Values, id?: string): void;
  /** An event of an id and no data: the client may come back from here (SEP-1699). */
  prime(id: string, retryMs: number): void;
  end(): void;
  onClose(then: () => void): void;
}

export function openEvents(response: ServerResponse): EventStream {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  return {
    send: (message, id) => {
      const head = id === undefined ? "" : `id: ${id}\n`;
      response.write(`${head}event: message\ndata: ${JSON.stringify(message)}\n\n`);
    },
    prime: (id, retryMs) => {
      response.write(`id: ${id}\nretry: ${retryMs}\ndata: \n\n`);
    },
    end: () => {
      response.end();
    },
    onClose: (then) => {
      response.on("close", then);
    },
  };
}

export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, pauseMs);
  });
}
