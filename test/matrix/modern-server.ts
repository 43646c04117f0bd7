import type { IncomingMessage, ServerResponse } from "node:http";
import type { Loose } from "../journey/http-client.ts";
import { canAsk, itemResult, plainResult, questionOf, toolPage, toolsOf } from "./server-offers.ts";

type Send = (message: Loose) => void;

interface Listener {
  readonly send: Send;
  readonly id: unknown;
  readonly filter: Loose;
}

interface State {
  readonly started: string[];
  readonly cancelled: string[];
  readonly listeners: Set<Listener>;
  changed: number;
  tasks: number;
}

const revision = "2026-07-28";
const serverInfo = { name: "matrix", version: "1" };
const metaPrefix = "io.modelcontextprotocol/";
const cacheable = [
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
];

/** Serves 2026-07-28. `started` and `cancelled` note the texts of `slow` calls. */
export function modernServer({
  started,
  cancelled,
}: {
  readonly started: string[];
  readonly cancelled: string[];
}): (req: IncomingMessage, res: ServerResponse, message: Loose) => Promise<void> {
  const state: State = { started, cancelled, listeners: new Set(), changed: 0, tasks: 0 };
  return (req, res, message) => {
    serve(state, { req, res, message });
    return Promise.resolve();
  };
}

interface Turn {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly message: Loose;
}

const paramsOf = (message: Loose): Loose => (message["params"] ?? {}) as Loose;
const metaOf = (message: Loose): Loose => (paramsOf(message)["_meta"] ?? {}) as Loose;

function complete(method: string, result: Loose): Loose {
  const hints = cacheable.includes(method) ? { ttlMs: 0, cacheScope: "private" } : {};
  return { resultType: "complete", ...hints, ...result, _meta: { [`${metaPrefix}serverInfo`]: serverInfo } };
}

function json(res: ServerResponse, status: number, value: Loose): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify({ jsonrpc: "2.0", ...value }));
}

function events(res: ServerResponse): Send {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.flushHeaders();
  return (message) => void res.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
}

function serve(state: State, turn: Turn): void {
  const { req, res, message } = turn;
  const method = String(message["method"]);
  const { id } = message;
  if (req.headers["mcp-protocol-version"] !== revision)
    json(res, 400, { id, error: { code: -32022, message: "Unsupported", data: { supported: [revision] } } });
  else if (id === undefined) res.writeHead(202).end();
  else if (method === "tools/call") call(state, turn);
  else if (method === "subscriptions/listen") listen(state, turn);
  else {
    const result = resultOf(state, method, paramsOf(message));
    if (result === undefined) json(res, 404, { id, error: { code: -32601, message: "Method not found" } });
    else json(res, 200, { id, result: complete(method, result) });
  }
}

function resultOf(state: State, method: string, params: Loose): Loose | undefined {
  if (method === "server/discover") {
    const capabilities = {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      logging: {},
      extensions: { [`${metaPrefix}tasks`]: {}, [`${metaPrefix}ui`]: {} },
    };
    return { supportedVersions: [revision], capabilities };
  }
  if (method === "tools/list") return toolPage(toolsOf(revision, state.changed), params);
  if (method === "tasks/get") return taskOf(params["taskId"], "completed");
  if (method === "tasks/cancel") return {};
  return itemResult(method, params);
}

function taskOf(taskId: unknown, status: string): Loose {
  const at = new Date(0).toISOString();
  const done = status === "completed" ? { result: { content: [{ type: "text", text: "later" }] } } : {};
  return { taskId, status, createdAt: at, lastUpdatedAt: at, ttlMs: 60_000, pollIntervalMs: 10, ...done };
}

function listen(state: State, { res, message }: Turn): void {
  const filter = (paramsOf(message)["notifications"] ?? {}) as Loose;
  const send = events(res);
  const listener: Listener = { send, id: message["id"], filter };
  state.listeners.add(listener);
  res.on("close", () => state.listeners.delete(listener));
  tellListener(listener, "notifications/subscriptions/acknowledged", { notifications: filter });
}

function tellListener({ send, id }: Listener, method: string, params: Loose): void {
  send({ method, params: { ...params, _meta: { [`${metaPrefix}subscriptionId`]: id } } });
}

function call(state: State, { res, message }: Turn): void {
  const params = paramsOf(message);
  const tool = String(params["name"]);
  const args = (params["arguments"] ?? {}) as Loose;
  if (tool === "slow") {
    state.started.push(String(args["text"]));
    res.on("close", () => state.cancelled.push(String(args["text"])));
    return;
  }
  const send = events(res);
  send({ id: message["id"], result: perform(state, { tool, args, message, send }) });
  res.end();
}

interface Doing {
  readonly tool: string;
  readonly args: Loose;
  readonly message: Loose;
  readonly send: Send;
}

function perform(state: State, { tool, args, message, send }: Doing): Loose {
  const plain = plainResult(tool, args, revision);
  if (plain !== undefined) return complete("tools/call", plain);
  const capabilities = (metaOf(message)[`${metaPrefix}clientCapabilities`] ?? {}) as Loose;
  const extensions = (capabilities["extensions"] ?? {}) as Loose;
  if (tool === "later" && extensions[`${metaPrefix}tasks`] !== undefined) {
    state.tasks += 1;
    return { resultType: "task", ...taskOf(`task-${state.tasks}`, "working") };
  }
  if (tool.startsWith("ask_")) return ask(tool, capabilities, paramsOf(message));
  if (tool === "report") report(metaOf(message), send);
  if (tool === "tell") tell(metaOf(message), send);
  if (tool === "change") change(state);
  if (tool === "touch") touch(state);
  return complete("tools/call", { content: [{ type: "text", text: "done" }] });
}

function change(state: State): void {
  state.changed += 1;
  for (const listener of state.listeners)
    if (listener.filter["toolsListChanged"] === true) tellListener(listener, "notifications/tools/list_changed", {});
}

function touch({ listeners }: State): void {
  for (const listener of listeners) {
    const uris = (listener.filter["resourceSubscriptions"] ?? []) as string[];
    if (uris.includes("matrix://text"))
      tellListener(listener, "notifications/resources/updated", { uri: "matrix://text" });
  }
}

function report({ progressToken }: Loose, send: Send): void {
  if (progressToken === undefined) return;
  for (const progress of [1, 2])
    send({ method: "notifications/progress", params: { progressToken, progress, total: 2 } });
}

function tell(meta: Loose, send: Send): void {
  const level = meta[`${metaPrefix}logLevel`];
  const levels = ["debug", "info", "warning"];
  if (typeof level !== "string") return;
  for (const one of levels.slice(Math.max(0, levels.indexOf(level))))
    send({ method: "notifications/message", params: { level: one, logger: "matrix", data: `a ${one}` } });
}

function ask(tool: string, capabilities: Loose, { inputResponses, requestState }: Loose): Loose {
  const told = (text: string): Loose => complete("tools/call", { content: [{ type: "text", text }] });
  if (!canAsk(tool, capabilities)) return told("nobody to ask");
  const state = `state of ${tool}`;
  if (inputResponses === undefined)
    return { resultType: "input_required", inputRequests: { one: questionOf(tool) }, requestState: state };
  const heard = JSON.stringify((inputResponses as Loose)["one"]);
  return told(requestState === state ? `heard ${heard}` : `a foreign state ${String(requestState)}`);
}
