import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Loose } from "../journey/http-client.ts";

/**
 * An MCP server of one era whose every message carries the canary of the call it belongs to. `work` reports
 * progress twice, asks the person and answers with what they said; `slow` goes on until it is cancelled.
 */
export interface CanaryUpstream {
  readonly url: string;
  /** Canaries of the calls that were executed to their end, in order. */
  readonly executed: readonly string[];
  /** Canaries of the slow calls that came. */
  readonly started: readonly string[];
  /** Canaries of the slow calls that were cancelled. */
  readonly cancelled: readonly string[];
  /** How often each session was opened: one entry per `initialize`. */
  readonly initialized: readonly string[];
  close(): Promise<void>;
}

interface State {
  readonly executed: string[];
  readonly started: string[];
  readonly cancelled: string[];
  readonly initialized: string[];
  readonly sessions: Set<string>;
  /** Questions under way, by session and id. */
  readonly asked: Map<string, (answer: Loose) => void>;
  /** Calls that can be cancelled, by session and id. */
  readonly slow: Map<string, () => void>;
  askedCount: number;
}

export async function startCanaryUpstream(era: "legacy" | "modern", pauseMsMax: number): Promise<CanaryUpstream> {
  const state: State = {
    executed: [],
    started: [],
    cancelled: [],
    initialized: [],
    sessions: new Set(),
    asked: new Map(),
    slow: new Map(),
    askedCount: 0,
  };
  const serve = era === "legacy" ? serveLegacy : serveModern;
  const server = createServer((req, res) => {
    void readJson(req).then((message) => serve(state, { req, res, message, pause: pauseOf(pauseMsMax) }));
  });
  server.keepAliveTimeout = 30_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { executed, started, cancelled, initialized } = state;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    executed,
    started,
    cancelled,
    initialized,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Turn {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly message: Loose;
  readonly pause: () => Promise<void>;
}

const pauseOf =
  (msMax: number): (() => Promise<void>) =>
  () =>
    new Promise((resolve) => setTimeout(resolve, Math.random() * msMax));

async function readJson(req: IncomingMessage): Promise<Loose> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Loose);
}

const inputSchema = { type: "object", properties: { canary: { type: "string" } }, required: ["canary"] };
const tools = ["work", "slow"].map((name) => ({ name, inputSchema }));
const serverInfo = { name: "canary", version: "1" };

const asksFor = (canary: string): Loose => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: `what says ${canary}?`,
    requestedSchema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
  },
});

function paramsOf(message: Loose): Loose {
  return (message["params"] ?? {}) as Loose;
}

function canaryOf(message: Loose): string {
  return String((paramsOf(message)["arguments"] as Loose | undefined)?.["canary"]);
}

function writeJson(res: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(value));
}

function openEvents(res: ServerResponse): (value: unknown) => void {
  res.writeHead(200, { "content-type": "text/event-stream" });
  return (value) => void res.write(`event: message\ndata: ${JSON.stringify(value)}\n\n`);
}

const answerTo = (message: Loose, result: Loose): Loose => ({ jsonrpc: "2.0", id: message["id"], result });
const textOf = (text: string): Loose => ({ content: [{ type: "text", text }] });

/** Two reports, when the call asks for some. */
async function report({ message, pause }: Turn, send: (value: unknown) => void): Promise<void> {
  const progressToken = (paramsOf(message)["_meta"] as Loose | undefined)?.["progressToken"];
  for (const progress of [1, 2]) {
    await pause();
    if (progressToken === undefined) continue;
    const params = { progressToken, progress, message: `working for ${canaryOf(message)}` };
    send({ jsonrpc: "2.0", method: "notifications/progress", params });
  }
}

async function serveLegacy(state: State, turn: Turn): Promise<void> {
  const { req, res, message } = turn;
  const session = String(req.headers["mcp-session-id"] ?? "");
  if (message["method"] === "initialize") {
    const id = randomUUID();
    state.sessions.add(id);
    state.initialized.push(id);
    const result = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
    writeJson(res, 200, answerTo(message, result), { "mcp-session-id": id });
  } else if (!state.sessions.has(session)) {
    writeJson(res, 404, { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" } });
  } else if (req.method !== "POST") {
    if (req.method === "DELETE") state.sessions.delete(session);
    res.writeHead(req.method === "DELETE" ? 200 : 405).end();
  } else if (message["method"] === "tools/list") writeJson(res, 200, answerTo(message, { tools }));
  else if (message["method"] === "tools/call") await callLegacy(state, turn, session);
  else takeNotice(state, turn, session);
}

/** Answers to questions and cancellations. */
function takeNotice(state: State, { res, message }: Turn, session: string): void {
  res.writeHead(202).end();
  if (message["method"] === "notifications/cancelled")
    state.slow.get(keyOf(session, paramsOf(message)["requestId"]))?.();
  if (message["method"] === undefined) state.asked.get(keyOf(session, message["id"]))?.(message);
}

const keyOf = (session: string, id: unknown): string => JSON.stringify([session, id]);

async function callLegacy(state: State, turn: Turn, session: string): Promise<void> {
  const { res, message } = turn;
  const canary = canaryOf(message);
  if (paramsOf(message)["name"] === "slow") {
    state.started.push(canary);
    state.slow.set(keyOf(session, message["id"]), () => {
      state.cancelled.push(canary);
      res.destroy();
    });
    return;
  }
  const send = openEvents(res);
  await report(turn, send);
  state.askedCount += 1;
  // Ids that meet: every session counts its questions from the same few numbers.
  const id = state.askedCount % 3;
  const answer = await new Promise<Loose>((resolve) => {
    state.asked.set(keyOf(session, id), resolve);
    send({ jsonrpc: "2.0", id, ...asksFor(canary) });
  });
  state.executed.push(canary);
  send(answerTo(message, textOf(`${canary} heard ${wordIn((answer["result"] ?? answer) as Loose)}`)));
  res.end();
}

function wordIn(answer: Loose): string {
  const word = (answer["content"] as Loose | undefined)?.["word"];
  return typeof word === "string" ? word : JSON.stringify(answer);
}

async function serveModern(state: State, turn: Turn): Promise<void> {
  const { res, message } = turn;
  const own = { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } };
  const fresh = { ...own, ttlMs: 0, cacheScope: "private" };
  if (message["method"] === "server/discover")
    writeJson(
      res,
      200,
      answerTo(message, { ...fresh, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }),
    );
  else if (message["method"] === "tools/list") writeJson(res, 200, answerTo(message, { ...fresh, tools }));
  else if (message["method"] === "tools/call") await callModern(state, turn);
  else if (message["id"] === undefined) res.writeHead(202).end();
  else writeJson(res, 404, { jsonrpc: "2.0", id: message["id"], error: { code: -32601, message: "Method not found" } });
}

async function callModern(state: State, turn: Turn): Promise<void> {
  const { res, message } = turn;
  const canary = canaryOf(message);
  const { name, inputResponses, requestState } = paramsOf(message);
  if (name === "slow") {
    state.started.push(canary);
    res.on("close", () => state.cancelled.push(canary));
    return;
  }
  const send = openEvents(res);
  await report(turn, send);
  if (inputResponses === undefined) {
    const inputRequests = { ask: asksFor(canary) };
    send(answerTo(message, { resultType: "input_required", inputRequests, requestState: `state of ${canary}` }));
  } else {
    state.executed.push(canary);
    const heard = wordIn((inputResponses as Loose)["ask"] as Loose);
    const kept = requestState === `state of ${canary}` ? "" : ` with a foreign state ${String(requestState)}`;
    send(answerTo(message, { resultType: "complete", ...textOf(`${canary} heard ${heard}${kept}`) }));
  }
  res.end();
}
