import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { LegacyRevision } from "../../src/model/revision.ts";
import type { Loose } from "../journey/http-client.ts";
import { canAsk, itemResult, plainResult, questionOf, toolPage, toolsOf } from "./server-offers.ts";

type Send = (message: Loose) => void;

interface Session {
  readonly capabilities: Loose;
  /** Questions under way. */
  readonly asked: Map<unknown, (answer: Loose) => void>;
  readonly slow: Map<unknown, () => void>;
  readonly subscribed: Set<string>;
  level: string;
  /** The GET stream. */
  stream: Send | undefined;
}

interface State {
  readonly revision: LegacyRevision;
  readonly sessions: Map<string, Session>;
  readonly started: string[];
  readonly cancelled: string[];
  changed: number;
  tasks: number;
}

/** Serves one legacy revision, sessions included. `started` and `cancelled` note the texts of `slow` calls. */
export function legacyServer(
  revision: LegacyRevision,
  { started, cancelled }: { readonly started: string[]; readonly cancelled: string[] },
): (req: IncomingMessage, res: ServerResponse, message: Loose) => Promise<void> {
  const state: State = { revision, sessions: new Map(), started, cancelled, changed: 0, tasks: 0 };
  return (req, res, message) => serve(state, { req, res, message });
}

interface Turn {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly message: Loose;
}

const paramsOf = (message: Loose): Loose => (message["params"] ?? {}) as Loose;
const notice = (method: string, params: Loose): Loose => ({ jsonrpc: "2.0", method, params });
const answerTo = (message: Loose, result: Loose): Loose => ({ jsonrpc: "2.0", id: message["id"], result });

function json(res: ServerResponse, status: number, value: Loose, headers: Record<string, string> = {}): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(value));
}

function events(res: ServerResponse): Send {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.flushHeaders();
  return (message) => void res.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

async function serve(state: State, turn: Turn): Promise<void> {
  const { req, res, message } = turn;
  const session = state.sessions.get(String(req.headers["mcp-session-id"]));
  if (message["method"] === "initialize") initialize(state, turn);
  else if (session === undefined)
    json(res, 404, { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" } });
  else if (req.method === "GET") session.stream = events(res);
  else if (req.method === "DELETE") res.writeHead(200).end();
  else if (message["id"] === undefined || message["method"] === undefined) notify(session, turn);
  else await request(state, session, turn);
}

function initialize(state: State, { res, message }: Turn): void {
  const id = randomUUID();
  state.sessions.set(id, {
    capabilities: (paramsOf(message)["capabilities"] ?? {}) as Loose,
    asked: new Map(),
    slow: new Map(),
    subscribed: new Set(),
    level: "info",
    stream: undefined,
  });
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    ...(state.revision === "2025-11-25" ? { tasks, extensions: { "io.modelcontextprotocol/ui": {} } } : {}),
  };
  const result = { protocolVersion: state.revision, capabilities, serverInfo: { name: "matrix", version: "1" } };
  json(res, 200, answerTo(message, result), { "mcp-session-id": id });
}

function notify(session: Session, { res, message }: Turn): void {
  res.writeHead(202).end();
  if (message["method"] === "notifications/cancelled") session.slow.get(paramsOf(message)["requestId"])?.();
  else if (message["method"] === undefined) session.asked.get(message["id"])?.(message);
}

async function request(state: State, session: Session, turn: Turn): Promise<void> {
  const { res, message } = turn;
  const method = String(message["method"]);
  const params = paramsOf(message);
  if (method === "tools/call") return call(state, session, turn);
  const result = resultOf(state, session, method, params);
  if (result === undefined)
    json(res, 200, { jsonrpc: "2.0", id: message["id"], error: { code: -32601, message: "Method not found" } });
  else json(res, 200, answerTo(message, result));
}

function resultOf(state: State, session: Session, method: string, params: Loose): Loose | undefined {
  switch (method) {
    case "ping":
      return {};
    case "tools/list":
      return toolPage(toolsOf(state.revision, state.changed), params);
    case "logging/setLevel":
      session.level = String(params["level"]);
      return {};
    case "resources/subscribe":
      session.subscribed.add(String(params["uri"]));
      return {};
    case "resources/unsubscribe":
      session.subscribed.delete(String(params["uri"]));
      return {};
    default:
      return method.startsWith("tasks/") ? taskResult(method, params) : itemResult(method, params);
  }
}

const taskOf = (taskId: unknown, status: string): Loose => {
  const at = new Date(0).toISOString();
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttl: 60_000, pollInterval: 10 };
};

function taskResult(method: string, { taskId }: Loose): Loose | undefined {
  if (method === "tasks/get") return taskOf(taskId, "completed");
  if (method === "tasks/cancel") return taskOf(taskId, "cancelled");
  if (method !== "tasks/result") return undefined;
  const _meta = { "io.modelcontextprotocol/related-task": { taskId } };
  return { content: [{ type: "text", text: "later" }], _meta };
}

async function call(state: State, session: Session, turn: Turn): Promise<void> {
  const { res, message } = turn;
  const params = paramsOf(message);
  const tool = String(params["name"]);
  const args = (params["arguments"] ?? {}) as Loose;
  if (tool === "slow") {
    state.started.push(String(args["text"]));
    session.slow.set(message["id"], () => {
      state.cancelled.push(String(args["text"]));
      res.destroy();
    });
    return;
  }
  const send = events(res);
  const result = await perform(state, session, { tool, args, params, send });
  send(answerTo(message, result));
  res.end();
}

interface Doing {
  readonly tool: string;
  readonly args: Loose;
  readonly params: Loose;
  readonly send: Send;
}

async function perform(state: State, session: Session, doing: Doing): Promise<Loose> {
  const { tool, args, params, send } = doing;
  const plain = plainResult(tool, args, state.revision);
  if (plain !== undefined) return plain;
  if (tool === "later" && params["task"] !== undefined) {
    state.tasks += 1;
    return { task: taskOf(`task-${state.tasks}`, "working") };
  }
  if (tool.startsWith("ask_")) return { content: [{ type: "text", text: await ask(session, tool, send) }] };
  act(state, session, doing);
  return { content: [{ type: "text", text: "done" }] };
}

function act(state: State, session: Session, { tool, params, send }: Doing): void {
  if (tool === "report") report(params, send);
  if (tool === "tell") tell(session, send);
  if (tool === "change") {
    state.changed += 1;
    for (const { stream } of state.sessions.values()) stream?.(notice("notifications/tools/list_changed", {}));
  }
  if (tool === "touch")
    for (const { stream, subscribed } of state.sessions.values())
      if (subscribed.has("matrix://text"))
        stream?.(notice("notifications/resources/updated", { uri: "matrix://text" }));
}

function report(params: Loose, send: Send): void {
  const progressToken = (params["_meta"] as Loose | undefined)?.["progressToken"];
  if (progressToken === undefined) return;
  for (const progress of [1, 2]) send(notice("notifications/progress", { progressToken, progress, total: 2 }));
}

function tell(session: Session, send: Send): void {
  const levels = ["debug", "info", "warning"];
  for (const level of levels.slice(Math.max(0, levels.indexOf(session.level))))
    send(notice("notifications/message", { level, logger: "matrix", data: `a ${level}` }));
}

let count = 0;

async function ask(session: Session, tool: string, send: Send): Promise<string> {
  if (!canAsk(tool, session.capabilities)) return "nobody to ask";
  count += 1;
  const id = count;
  const answer = await new Promise<Loose>((resolve) => {
    session.asked.set(id, resolve);
    send({ jsonrpc: "2.0", id, ...questionOf(tool) });
  });
  return `heard ${JSON.stringify(answer["result"] ?? answer["error"])}`;
}
