import type { ReceivedRequest, Script, Wire } from "../upstream/scripted-upstream.ts";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { Loose } from "./http-client.ts";

/** A task at the upstream, as the test sets it up. */
export interface UpstreamTask {
  readonly taskId: string;
  readonly tool: string;
  status: string;
  message?: string;
  /** What the call comes to: a result or, as `{code, message}`, an error. */
  result?: Loose;
  error?: Loose;
  inputRequests?: Loose;
  answers?: unknown;
}

export interface TaskUpstream extends ScriptedUpstream {
  readonly tasks: Map<string, UpstreamTask>;
  /** The newest task. */
  last(): UpstreamTask;
  /** Requests of this method, in order. */
  sent(method: string): readonly ReceivedRequest[];
  /** Answers a method by itself instead. */
  answer(method: string, how: ((request: ReceivedRequest, wire: Wire) => void) | undefined): void;
}

const text = (value: string): Loose => ({ content: [{ type: "text", text: value }] });
const anything = { type: "object" };
const rows = { type: "object", required: ["rows"], properties: { rows: { type: "integer" } } };

export const taskTools: readonly Loose[] = [
  { name: "plain", inputSchema: anything },
  { name: "slow", inputSchema: anything, execution: { taskSupport: "optional" } },
  { name: "job", inputSchema: anything, execution: { taskSupport: "required" } },
  { name: "count", inputSchema: anything, outputSchema: rows, execution: { taskSupport: "optional" } },
];

export interface TaskUpstreamOptions {
  readonly capabilities?: Loose;
  readonly tools?: readonly Loose[];
  /** What the ids of its tasks begin with. */
  readonly name?: string;
  /** Answers a GET; absent: no stream is offered. */
  readonly onGet?: (request: ReceivedRequest, wire: Wire) => void;
}

/**
 * A server with tasks of its era's form, which change only when the test changes them. In the modern era every call
 * of a client that understands tasks becomes one.
 */
export async function startTaskUpstream(
  era: "legacy" | "modern",
  options: TaskUpstreamOptions = {},
): Promise<TaskUpstream> {
  const { name = "task", tools = taskTools } = options;
  const capabilities = options.capabilities ?? capabilitiesOf(era);
  const upstream = await startScriptedUpstream({ era, tools, capabilities });
  const tasks = new Map<string, UpstreamTask>();
  const answers = new Map<string, (request: ReceivedRequest, wire: Wire) => void>();
  const create = (tool: string): UpstreamTask => {
    const task: UpstreamTask = { taskId: `${name}-${String(tasks.size + 1)}`, tool, status: "working" };
    tasks.set(task.taskId, task);
    return task;
  };
  const perform: Script = (request, wire) => {
    const { method, params = {}, id } = request.rpc as { method: string; params?: Loose; id?: unknown };
    const reply = (result: Loose): boolean => {
      wire.json(200, { jsonrpc: "2.0", id, result });
      return true;
    };
    const fail = (code: number, message: string): boolean => {
      wire.json(200, { jsonrpc: "2.0", id, error: { code, message } });
      return true;
    };
    if (method === "tools/call" && becomesTask(era, params)) {
      const shown = shownAs(era, create(String(params["name"])));
      return reply(era === "modern" ? { ...shown, resultType: "task" } : { task: shown });
    }
    if (!method.startsWith("tasks/")) return false;
    const task = tasks.get(String(params["taskId"]));
    return task === undefined ? fail(-32602, "Task not found") : respond({ era, method, task, params }, reply, fail);
  };
  const script: Script = (request, wire) => {
    const own = request.method === "GET" ? (options.onGet ?? refuseStream) : answers.get(String(request.rpc["method"]));
    if (own !== undefined) {
      own(request, wire);
      return true;
    }
    return request.method === "POST" && request.rpc["method"] !== undefined && perform(request, wire);
  };
  upstream.script(script);
  // `openConnections` is read anew each time, so nothing is copied.
  return Object.assign(Object.create(upstream) as ScriptedUpstream, {
    tasks,
    last: () => [...tasks.values()].at(-1)!,
    sent: (method: string) => upstream.received.filter(({ rpc }) => rpc["method"] === method),
    answer: (method: string, how: ((request: ReceivedRequest, wire: Wire) => void) | undefined) => {
      if (how === undefined) answers.delete(method);
      else answers.set(method, how);
    },
  });
}

function refuseStream(_request: ReceivedRequest, wire: Wire): void {
  wire.respond(405, undefined, "");
}

function capabilitiesOf(era: "legacy" | "modern"): Loose {
  return era === "modern"
    ? { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } }
    : { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
}

function becomesTask(era: "legacy" | "modern", params: Loose): boolean {
  if (era === "legacy") return params["task"] !== undefined;
  const meta = params["_meta"] as Loose | undefined;
  const declared = meta?.["io.modelcontextprotocol/clientCapabilities"] as Loose | undefined;
  return (declared?.["extensions"] as Loose | undefined)?.["io.modelcontextprotocol/tasks"] !== undefined;
}

export function shownAs(era: "legacy" | "modern", task: UpstreamTask): Loose {
  const times = { createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:01Z" };
  const lives = era === "modern" ? { ttlMs: 60_000, pollIntervalMs: 10 } : { ttl: 60_000, pollInterval: 10 };
  const { taskId, status, message } = task;
  return { taskId, status, ...times, ...lives, ...(message === undefined ? {} : { statusMessage: message }) };
}

interface About {
  readonly era: "legacy" | "modern";
  readonly method: string;
  readonly task: UpstreamTask;
  readonly params: Loose;
}

function respond(
  { era, method, task, params }: About,
  reply: (result: Loose) => boolean,
  fail: (code: number, message: string) => boolean,
): boolean {
  const complete = era === "modern" ? { resultType: "complete" } : {};
  if (method === "tasks/get") {
    const { result, error, inputRequests } = task;
    const payload = era === "modern" ? { result, error, inputRequests } : {};
    return reply({ ...shownAs(era, task), ...complete, ...payload });
  }
  if (method === "tasks/cancel") {
    if (["completed", "failed", "cancelled"].includes(task.status)) return fail(-32602, "Task has ended");
    task.status = "cancelled";
    return reply(era === "modern" ? complete : shownAs(era, task));
  }
  if (method === "tasks/update") {
    task.answers = params["inputResponses"];
    return reply(complete);
  }
  if (task.error !== undefined) return fail(Number(task.error["code"]), String(task.error["message"]));
  return reply(task.result ?? text("done"));
}

export { event, text };
