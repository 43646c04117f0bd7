import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  header,
  openEvents,
  pause,
  readJson,
  sendJson,
  serveFixture,
  type EventStream,
  type Fixture,
} from "./fixture-http.ts";
import {
  asValues,
  capabilityFor,
  type Answers,
  type FixtureTool,
  type Questions,
  type Scene,
  type Values,
} from "./fixture-item.ts";
import { complete, createFixtureItems, type FixtureItems } from "./fixture-items.ts";

const info = { name: "sallyport-legacy-fixture", version: "1.0.0" };
const revisions = ["2025-11-25", "2025-06-18", "2025-03-26"];
const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** After losing its stream a client waits this long before it comes back. */
const retryMs = 100;

interface Session {
  readonly id: string;
  readonly capabilities: Values;
  readonly subscribed: Set<string>;
  /** Questions of this server that wait for the client's answer, by their id. */
  readonly waiting: Map<string, (response: Values) => void>;
  /** Answers whose stream ended before they were there, by the event id that the client saw last. */
  readonly kept: Map<string, Promise<Values>>;
  level: string;
  /** The stream that belongs to no call. */
  stream?: EventStream;
}

interface Server {
  readonly items: FixtureItems;
  readonly sessions: Map<string, Session>;
}

/** What a method answers with: a result, or an error. */
type Outcome = { readonly result: Values } | { readonly error: Values };

/**
 * An MCP server of the legacy era with everything that the conformance scenarios look for: sessions, the
 * stream of GET, requests to the client on the call's own stream, progress, logs and their level,
 * subscriptions, completion, and a call that outlives its stream.
 */
export function startLegacyFixture(): Promise<Fixture> {
  const server: Server = { items: createFixtureItems(), sessions: new Map() };
  return serveFixture((request, response) => answer(server, request, response));
}

async function answer(server: Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const message = request.method === "POST" ? asValues(await readJson(request)) : {};
  if (message["method"] === "initialize") {
    initialize(server, message, response);
    return;
  }
  const id = header(request, "mcp-session-id");
  const session = server.sessions.get(id ?? "");
  if (session === undefined) {
    const [status, code] = id === undefined ? [400, -32000] : [404, -32001];
    sendJson(response, status, {
      jsonrpc: "2.0",
      id: message["id"] ?? null,
      error: { code, message: "No such session" },
    });
    return;
  }
  if (!revisions.includes(header(request, "mcp-protocol-version") ?? "2025-03-26")) {
    sendJson(response, 400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Unsupported revision" } });
    return;
  }
  await inSession(server, session, { message, request, response });
}

interface Arrived {
  readonly message: Values;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function inSession(server: Server, session: Session, arrived: Arrived): Promise<void> {
  const { message, request, response } = arrived;
  if (request.method === "GET") {
    await openStream(session, arrived);
  } else if (request.method === "DELETE") {
    server.sessions.delete(session.id);
    session.stream?.end();
    response.writeHead(200).end();
  } else if (message["method"] === undefined) {
    session.waiting.get(String(message["id"]))?.(message);
    response.writeHead(202).end();
  } else if (message["id"] === undefined) {
    response.writeHead(202).end();
  } else {
    await respond(server, session, arrived);
  }
}

function initialize(server: Server, message: Values, response: ServerResponse): void {
  const params = asValues(message["params"]);
  const session: Session = {
    id: randomUUID(),
    capabilities: asValues(params["capabilities"]),
    subscribed: new Set(),
    waiting: new Map(),
    kept: new Map(),
    level: "info",
  };
  server.sessions.set(session.id, session);
  const wanted = String(params["protocolVersion"]);
  const result = {
    protocolVersion: revisions.includes(wanted) ? wanted : revisions[0],
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    },
    serverInfo: info,
  };
  sendJson(response, 200, { jsonrpc: "2.0", id: message["id"], result }, { "mcp-session-id": session.id });
}

/** The stream of GET; with `Last-Event-ID` it is that of a call that was cut off, and brings its answer. */
async function openStream(session: Session, { request, response }: Arrived): Promise<void> {
  const kept = session.kept.get(header(request, "last-event-id") ?? "");
  if (kept !== undefined) {
    const stream = openEvents(response);
    stream.send(await kept);
    stream.end();
    return;
  }
  if (session.stream !== undefined) {
    sendJson(response, 409, {
      jsonrpc: "2.0",
      id: null,
      error: { code: -32000, message: "One stream is open already" },
    });
    return;
  }
  const stream = openEvents(response);
  session.stream = stream;
  stream.onClose(() => {
    delete session.stream;
  });
}

async function respond(server: Server, session: Session, { message, response }: Arrived): Promise<void> {
  const params = asValues(message["params"]);
  const method = String(message["method"]);
  const answered = (outcome: Outcome): Values => ({ jsonrpc: "2.0", id: message["id"], ...outcome });
  if (method !== "tools/call" && method !== "prompts/get") {
    sendJson(response, 200, answered(run(server, session, method, params)));
    return;
  }
  const call = { server, session, stream: openEvents(response) };
  const work = method === "tools/call" ? callTool : getPrompt;
  if (isCutOff(server, params)) cutOff(call, () => work(call, params).then(answered));
  else call.stream.send(answered(await work(call, params)));
  call.stream.end();
}

function isCutOff({ items }: Server, params: Values): boolean {
  return items.tools().some((tool) => tool.definition.name === params["name"] && tool.disconnects === true);
}

/** Names an event, and ends the stream; the answer waits for a GET that names the event again (SEP-1699). */
function cutOff({ session, stream }: Call, answer: () => Promise<Values>): void {
  const event = randomUUID();
  session.kept.set(event, answer());
  stream.prime(event, retryMs);
}

type Method = (server: Server, session: Session, params: Values) => Outcome;

const methods: Readonly<Record<string, Method>> = {
  ping: () => ({ result: {} }),
  "logging/setLevel": (_server, session, params) => {
    session.level = String(params["level"]);
    return levels.includes(session.level) ? { result: {} } : invalid("Unknown level");
  },
  "tools/list": ({ items }) => ({ result: { tools: items.tools().map(({ definition }) => definition) } }),
  "prompts/list": ({ items }) => ({ result: { prompts: items.prompts().map(({ definition }) => definition) } }),
  "resources/list": ({ items }) => ({ result: { resources: items.resources } }),
  "resources/templates/list": ({ items }) => ({ result: { resourceTemplates: items.templates } }),
  "resources/read": ({ items }, _session, params) => {
    const uri = String(params["uri"]);
    const contents = items.read(uri);
    if (contents === undefined) return { error: { code: -32002, message: "Resource not found", data: { uri } } };
    return { result: { contents: [contents] } };
  },
  "resources/subscribe": (_server, session, params) => {
    session.subscribed.add(String(params["uri"]));
    return { result: {} };
  },
  "resources/unsubscribe": (_server, session, params) => {
    session.subscribed.delete(String(params["uri"]));
    return { result: {} };
  },
  "completion/complete": (_server, _session, params) => ({
    result: complete(String(asValues(params["argument"])["value"])),
  }),
};

function run(server: Server, session: Session, method: string, params: Values): Outcome {
  const known = Object.hasOwn(methods, method) ? methods[method] : undefined;
  return known?.(server, session, params) ?? { error: { code: -32601, message: "Method not found" } };
}

/** What has a stream of its own, on which the server may ask and report. */
interface Call {
  readonly server: Server;
  readonly session: Session;
  readonly stream: EventStream;
}

async function callTool(call: Call, params: Values): Promise<Outcome> {
  const tool = call.server.items.tools().find(({ definition }) => definition.name === params["name"]);
  if (tool === undefined) return invalid("Unknown tool");
  const args = asValues(params["arguments"]);
  const answers = await askAll(call, tool, args);
  if (typeof answers === "string") return { result: { content: [{ type: "text", text: answers }], isError: true } };
  return { result: await tool.run(args, answers, sceneOf(call, params)) };
}

async function getPrompt(call: Call, params: Values): Promise<Outcome> {
  const prompt = call.server.items.prompts().find(({ definition }) => definition.name === params["name"]);
  if (prompt === undefined) return invalid("Unknown prompt");
  const args = asValues(params["arguments"]);
  const answers = await askAll(call, prompt, args);
  if (typeof answers === "string") return { error: { code: -32603, message: answers } };
  return { result: { messages: prompt.messages(args, answers) } };
}

type Asking = Pick<FixtureTool, "asks" | "asksWhatItMay">;

/** Every answer the item wants, or the reason why there is none. */
async function askAll(call: Call, item: Asking, args: Values): Promise<Answers | string> {
  const answers: Record<string, Values> = {};
  for (;;) {
    const questions = mayAsk(item, item.asks?.(args, answers) ?? {}, call.session);
    if (Object.keys(questions).length === 0) return answers;
    for (const [key, { method, params }] of Object.entries(questions)) {
      if (call.session.capabilities[capabilityFor(method)] === undefined) {
        return `The client does not support ${method}`;
      }
      const response = await askClient(call, method, params);
      if (response["error"] !== undefined) return `The client did not answer ${method}`;
      answers[key] = asValues(response["result"]);
    }
  }
}

function mayAsk(item: Asking, questions: Questions, session: Session): Questions {
  if (item.asksWhatItMay !== true) return questions;
  const may = Object.entries(questions).filter(
    ([, { method }]) => session.capabilities[capabilityFor(method)] !== undefined,
  );
  return Object.fromEntries(may);
}

/** A request of the server, on the stream of the call it belongs to; it waits until that stream closes. */
function askClient({ session, stream }: Call, method: string, params: Values): Promise<Values> {
  const id = `ask-${randomUUID()}`;
  return new Promise((resolve) => {
    const settle = (response: Values): void => {
      session.waiting.delete(id);
      resolve(response);
    };
    session.waiting.set(id, settle);
    stream.onClose(() => {
      settle({ error: { code: -32000, message: "The client went away" } });
    });
    stream.send({ jsonrpc: "2.0", id, method, params });
  });
}

function sceneOf({ server, session, stream }: Call, params: Values): Scene {
  const { progressToken } = asValues(params["_meta"]);
  return {
    progress: (progress, total) => {
      if (progressToken === undefined) return;
      stream.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress, total } });
    },
    log: (data) => {
      if (levels.indexOf(session.level) > levels.indexOf("info")) return;
      stream.send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data } });
    },
    pause,
    change: (kind) => {
      server.items.change(kind);
      for (const each of server.sessions.values()) {
        each.stream?.send({ jsonrpc: "2.0", method: `notifications/${kind}/list_changed` });
      }
    },
  };
}

function invalid(message: string): Outcome {
  return { error: { code: -32602, message } };
}
