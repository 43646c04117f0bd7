import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A JSON value as a test looks at it. */
export type Loose = Record<string, unknown>;

/** One HTTP request exactly as it arrived. */
export interface ReceivedRequest {
  readonly raw: Buffer;
  readonly method: string;
  readonly path: string;
  /** In the order and spelling of the wire. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The body as JSON; an empty object when it is none. */
  readonly rpc: Loose;
  readonly connection: number;
  header(name: string): string | undefined;
}

/** The connection a request came on, to answer as no server should. */
export interface Wire {
  /** Bytes as they are. */
  write(bytes: string | Buffer): void;
  /** A whole response with `Content-Length`. */
  respond(status: number, contentType: string | undefined, body: string | Buffer, headers?: readonly string[]): void;
  json(status: number, value: unknown, headers?: readonly string[]): void;
  /** The head of an event stream, chunked; then `chunk` sends and `end` ends it. */
  eventStream(headers?: readonly string[]): void;
  chunk(bytes: string | Buffer): void;
  endChunks(): void;
  /** FIN. */
  end(): void;
  /** RST. */
  reset(): void;
  readonly closed: boolean;
}

/** Handles a request itself and returns true, or leaves it to the server's ordinary behaviour. */
export type Script = (request: ReceivedRequest, wire: Wire) => boolean | Promise<boolean>;

export interface ScriptedUpstreamOptions {
  /** Which eras the server speaks. Default: modern. */
  readonly era?: "legacy" | "modern" | "both";
  /** Whether a legacy server grants session ids. Default: true. */
  readonly sessions?: boolean;
  readonly revision?: string;
  /** How ordinary answers are carried. Default: json. */
  readonly answers?: "json" | "events";
  readonly tools?: readonly Loose[];
  readonly capabilities?: Loose;
  /** How a legacy server says that it does not know a session. Default: the 404 of the specification. */
  readonly unknownSession?: "404" | "400";
  /** Where it listens, to take the place of one that is gone. Default: a free port. */
  readonly port?: number;
}

export interface ScriptedUpstream {
  readonly url: string;
  readonly port: number;
  readonly received: readonly ReceivedRequest[];
  /** Names of tools that were executed, in order. */
  readonly ledger: readonly string[];
  /** Ids of cancelled requests. */
  readonly cancelled: readonly unknown[];
  readonly sessions: ReadonlySet<string>;
  readonly openConnections: number;
  /** Requests that the client closed the connection on before they were answered. */
  readonly abandoned: readonly ReceivedRequest[];
  count(method: string): number;
  script(script: Script | undefined): void;
  /** As a restart does: sessions are gone, connections stay. */
  forgetSessions(): void;
  close(): Promise<void>;
}

/**
 * An MCP server on a raw socket, for tests of whatever talks to one: it behaves by itself, in either era, and
 * a script may answer any request byte by byte instead. It records what it receives and what it executes.
 */
export async function startScriptedUpstream(options: ScriptedUpstreamOptions = {}): Promise<ScriptedUpstream> {
  const state: State = {
    options,
    received: [],
    ledger: [],
    cancelled: [],
    abandoned: [],
    sessions: new Set(),
    granted: 0,
    script: undefined,
  };
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    connections += 1;
    sockets.add(socket);
    // Each request of a long-lived connection listens for its end.
    socket.setMaxListeners(0);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    serve(state, socket, connections);
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    received: state.received,
    ledger: state.ledger,
    cancelled: state.cancelled,
    abandoned: state.abandoned,
    sessions: state.sessions,
    get openConnections() {
      return sockets.size;
    },
    count: (method) => state.received.filter(({ rpc }) => rpc["method"] === method).length,
    script(script) {
      state.script = script;
    },
    forgetSessions() {
      state.sessions.clear();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface State {
  readonly options: ScriptedUpstreamOptions;
  readonly received: ReceivedRequest[];
  readonly ledger: string[];
  readonly cancelled: unknown[];
  readonly abandoned: ReceivedRequest[];
  readonly sessions: Set<string>;
  granted: number;
  script: Script | undefined;
}

function serve(state: State, socket: Socket, connection: number): void {
  let pending = Buffer.alloc(0);
  let busy = Promise.resolve();
  socket.on("data", (bytes) => {
    pending = Buffer.concat([pending, bytes]);
    for (let taken = takeRequest(pending, connection); taken !== undefined; taken = takeRequest(pending, connection)) {
      pending = pending.subarray(taken.raw.length);
      const request = taken;
      busy = busy.then(() => handle(state, request, socket));
    }
  });
}

function takeRequest(bytes: Buffer, connection: number): ReceivedRequest | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [requestLine = "", ...lines] = bytes.subarray(0, headEnd).toString("latin1").split("\r\n");
  const [method = "", path = ""] = requestLine.split(" ");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const header = (name: string): string | undefined => headers.find(([given]) => given.toLowerCase() === name)?.[1];
  const length = Number(header("content-length") ?? 0);
  const end = headEnd + 4 + length;
  if (bytes.length < end) return undefined;
  const body = bytes.subarray(headEnd + 4, end).toString("utf8");
  return { raw: bytes.subarray(0, end), method, path, headers, body, rpc: jsonObject(body), connection, header };
}

function jsonObject(text: string): Loose {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Loose) : {};
  } catch {
    return {};
  }
}

async function handle(state: State, request: ReceivedRequest, socket: Socket): Promise<void> {
  state.received.push(request);
  let answered = false;
  socket.on("close", () => {
    if (!answered) state.abandoned.push(request);
  });
  const wire = wireOf(socket, () => {
    answered = true;
  });
  if (state.script !== undefined && (await state.script(request, wire))) return;
  ordinary(state, request, wire);
}

function wireOf(socket: Socket, whenAnswered: () => void): Wire {
  const write = (bytes: string | Buffer): void => {
    if (socket.writable) socket.write(bytes);
  };
  const wire: Wire = {
    write,
    respond(status, contentType, body, headers = []) {
      const bytes = Buffer.from(body);
      const type = contentType === undefined ? [] : [`Content-Type: ${contentType}`];
      const head = [`HTTP/1.1 ${status} X`, ...type, `Content-Length: ${bytes.length}`, ...headers];
      whenAnswered();
      write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), bytes]));
    },
    json(status, value, headers) {
      wire.respond(status, "application/json", JSON.stringify(value), headers);
    },
    eventStream(headers = []) {
      const head = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked", ...headers];
      write(`${head.join("\r\n")}\r\n\r\n`);
    },
    chunk(bytes) {
      const piece = Buffer.from(bytes);
      write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]));
    },
    endChunks() {
      whenAnswered();
      write("0\r\n\r\n");
    },
    end() {
      socket.end();
    },
    reset() {
      socket.resetAndDestroy();
    },
    get closed() {
      return socket.destroyed;
    },
  };
  return wire;
}

/** One event, as the common servers write it. */
export function event(value: unknown, eol = "\n"): string {
  return `event: message${eol}data: ${JSON.stringify(value)}${eol}${eol}`;
}

function ordinary(state: State, request: ReceivedRequest, wire: Wire): void {
  const { era = "modern" } = state.options;
  const modern = request.header("mcp-protocol-version") === "2026-07-28";
  if (modern && era !== "legacy") modernAnswer(state, request, wire);
  else if (!modern && era !== "modern") legacyAnswer(state, request, wire);
  else if (modern) wire.json(400, rpcError(undefined, -32000, "Bad Request: unsupported protocol version"));
  else wire.json(400, rpcError(request.rpc["id"], -32022, "Unsupported", { supported: ["2026-07-28"] }));
}

function modernAnswer(state: State, request: ReceivedRequest, wire: Wire): void {
  const { rpc } = request;
  const meta = ((rpc["params"] ?? {}) as Loose)["_meta"] as Loose | undefined;
  if (request.header("mcp-method") !== rpc["method"] || meta === undefined) {
    wire.json(400, rpcError(rpc["id"], -32020, "Header mismatch"));
    return;
  }
  if (rpc["id"] === undefined) wire.respond(202, undefined, "");
  else if (rpc["method"] === "server/discover") {
    const { capabilities = { tools: {} } } = state.options;
    const result = { supportedVersions: ["2026-07-28"], capabilities, ttlMs: 0, cacheScope: "private" };
    const _meta = { "io.modelcontextprotocol/serverInfo": { name: "scripted", version: "1" } };
    answer(state, wire, { jsonrpc: "2.0", id: rpc["id"], result: { ...result, resultType: "complete", _meta } });
  } else perform(state, request, wire, { resultType: "complete" });
}

function legacyAnswer(state: State, request: ReceivedRequest, wire: Wire): void {
  const { sessions = true } = state.options;
  const { rpc, method } = request;
  const session = request.header("mcp-session-id") ?? "";
  if (method === "POST" && rpc["method"] === "initialize") initialize(state, rpc["id"], wire);
  else if (sessions && !state.sessions.has(session)) unknownSession(state, wire);
  else if (method === "DELETE") {
    state.sessions.delete(session);
    wire.respond(200, undefined, "");
  } else if (rpc["id"] === undefined || rpc["method"] === undefined) {
    if (rpc["method"] === "notifications/cancelled") state.cancelled.push((rpc["params"] as Loose)["requestId"]);
    wire.respond(202, undefined, "");
  } else perform(state, request, wire, {});
}

function initialize(state: State, requestId: unknown, wire: Wire): void {
  const { sessions = true, revision = "2025-11-25", capabilities = { tools: {} } } = state.options;
  state.granted += 1;
  const id = `session-${state.granted}`;
  if (sessions) state.sessions.add(id);
  const serverInfo = { name: "scripted", version: "1" };
  const result = { protocolVersion: revision, capabilities, serverInfo, instructions: "be kind" };
  answer(state, wire, { jsonrpc: "2.0", id: requestId, result }, sessions ? [`Mcp-Session-Id: ${id}`] : []);
}

function unknownSession({ options }: State, wire: Wire): void {
  if (options.unknownSession === "400") wire.json(400, rpcError(undefined, -32000, "No valid session ID"));
  else wire.json(404, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } });
}

function perform(state: State, { rpc }: ReceivedRequest, wire: Wire, extra: Loose): void {
  const { id, method } = rpc;
  const params = (rpc["params"] ?? {}) as Loose;
  if (method === "tools/call") {
    state.ledger.push(String(params["name"]));
    const text = JSON.stringify(params["arguments"] ?? {});
    answer(state, wire, { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }], ...extra } });
  } else if (method === "tools/list") {
    const { tools = [{ name: "echo", inputSchema: { type: "object" } }] } = state.options;
    answer(state, wire, { jsonrpc: "2.0", id, result: { tools, ...extra } });
  } else if (method === "ping") answer(state, wire, { jsonrpc: "2.0", id, result: {} });
  else wire.json(404, rpcError(id, -32601, "Method not found"));
}

function answer(state: State, wire: Wire, message: unknown, headers: readonly string[] = []): void {
  if (state.options.answers !== "events") {
    wire.json(200, message, headers);
    return;
  }
  wire.eventStream(headers);
  wire.chunk("id: 1\ndata: \n\n");
  wire.chunk(event(message));
  wire.endChunks();
}

function rpcError(id: unknown, code: number, message: string, data?: unknown): Loose {
  return {
    jsonrpc: "2.0",
    ...(id === undefined ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  };
}
