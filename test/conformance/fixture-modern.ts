import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
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
import { checkEnvelope, metaKey, modernRevision, type ModernRequest } from "./fixture-modern-envelope.ts";

const info = { name: "sallyport-modern-fixture", version: "1.0.0" };
const cacheable = { ttlMs: 0, cacheScope: "public" };

/** What is answered to one request: a result, or an error with the HTTP status it travels under. */
type Outcome =
  { readonly result: Values } | { readonly error: Values & { readonly code: number }; readonly status?: number };

interface Server {
  readonly items: FixtureItems;
  readonly listeners: Set<{ readonly stream: EventStream; readonly filter: Values; readonly id: unknown }>;
  /** States that the server hands out are signed with this, so that it knows its own again. */
  readonly key: Buffer;
}

/**
 * An MCP server of the modern era (2026-07-28) with everything that the conformance scenarios look for:
 * questions to the client by input-required results, progress and logs on the call's own stream,
 * subscriptions and completion. It keeps the revision's rules strictly, as an upstream may.
 */
export function startModernFixture(): Promise<Fixture> {
  const server: Server = { items: createFixtureItems(), listeners: new Set(), key: randomBytes(32) };
  return serveFixture((request, response) => answer(server, request, response));
}

async function answer(server: Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") {
    sendJson(response, 405, { jsonrpc: "2.0", error: { code: -32600, message: "POST only" } }, { allow: "POST" });
    return;
  }
  const body = await readJson(request);
  const message = asValues(body);
  if (typeof message["method"] === "string" && message["id"] === undefined) {
    response.writeHead(202).end();
    return;
  }
  const read = checkEnvelope(message, (name) => header(request, name));
  if ("error" in read) {
    sendJson(response, read.status, { jsonrpc: "2.0", id: message["id"], error: read.error });
    return;
  }
  if (read.method === "subscriptions/listen") listen(server, read, response);
  else await respond(server, read, response);
}

async function respond(server: Server, request: ModernRequest, response: ServerResponse): Promise<void> {
  const answered = (outcome: Outcome): Values => ({ jsonrpc: "2.0", id: request.id, ...wireForm(outcome) });
  const stream = callsStreamingTool(server, request) ? openEvents(response) : undefined;
  const outcome = await run(server, request, (message) => stream?.send(message));
  if (stream === undefined) {
    sendJson(response, "error" in outcome ? (outcome.status ?? 200) : 200, answered(outcome));
    return;
  }
  stream.send(answered(outcome));
  stream.end();
}

function wireForm(outcome: Outcome): Values {
  if ("error" in outcome) return { error: outcome.error };
  const meta = { [metaKey("serverInfo")]: info, ...asValues(outcome.result["_meta"]) };
  return { result: { resultType: "complete", ...outcome.result, _meta: meta } };
}

/** Only a call that has more to say than its result needs a stream. */
function callsStreamingTool(server: Server, request: ModernRequest): boolean {
  const streaming = [
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_streaming_elicitation",
  ];
  if (request.method !== "tools/call" || !streaming.includes(String(request.params["name"]))) return false;
  const tool = server.items.tools().find(({ definition }) => definition.name === request.params["name"]);
  return tool !== undefined && undeclared(questionsOf(tool, request, {}), request.capabilities).length === 0;
}

const methods: Readonly<
  Record<
    string,
    (server: Server, request: ModernRequest, send: (message: Values) => void) => Outcome | Promise<Outcome>
  >
> = {
  "server/discover": () => ({
    result: {
      supportedVersions: [modernRevision],
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        completions: {},
        logging: {},
      },
      ...cacheable,
    },
  }),
  "tools/list": ({ items }) => ({ result: { tools: items.tools().map(({ definition }) => definition), ...cacheable } }),
  "prompts/list": ({ items }) => ({
    result: { prompts: items.prompts().map(({ definition }) => definition), ...cacheable },
  }),
  "resources/list": ({ items }) => ({ result: { resources: items.resources, ...cacheable } }),
  "resources/templates/list": ({ items }) => ({ result: { resourceTemplates: items.templates, ...cacheable } }),
  "resources/read": ({ items }, { params }) => {
    const uri = String(params["uri"]);
    const contents = items.read(uri);
    if (contents === undefined) return invalid("Resource not found", { uri });
    return { result: { contents: [contents], ...cacheable } };
  },
  "completion/complete": (_server, { params }) => ({
    result: complete(String(asValues(params["argument"])["value"])),
  }),
  "tools/call": callTool,
  "prompts/get": getPrompt,
};

async function run(server: Server, request: ModernRequest, send: (message: Values) => void): Promise<Outcome> {
  const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  if (method === undefined) return { error: { code: -32601, message: "Method not found" }, status: 404 };
  return method(server, request, send);
}

async function callTool(server: Server, request: ModernRequest, send: (message: Values) => void): Promise<Outcome> {
  const tool = server.items.tools().find(({ definition }) => definition.name === request.params["name"]);
  if (tool === undefined) return invalid("Unknown tool");
  const asked = ask(server, tool, request);
  if ("outcome" in asked) return asked.outcome;
  const result = await tool.run(asValues(request.params["arguments"]), asked.answers, sceneOf(server, request, send));
  return { result };
}

function getPrompt(server: Server, request: ModernRequest): Outcome {
  const prompt = server.items.prompts().find(({ definition }) => definition.name === request.params["name"]);
  if (prompt === undefined) return invalid("Unknown prompt");
  const asked = ask(server, prompt, request);
  if ("outcome" in asked) return asked.outcome;
  return { result: { messages: prompt.messages(asValues(request.params["arguments"]), asked.answers) } };
}

type Asking = Pick<FixtureTool, "definition" | "asks" | "asksWhatItMay" | "keepsState">;

/**
 * The answers that the client brought, or what it is told instead: what is still to be answered
 * (input required), or which capability it lacks. Answers that are no objects count as none.
 */
function ask(server: Server, item: Asking, request: ModernRequest): { outcome: Outcome } | { answers: Answers } {
  const brought = request.params["inputResponses"];
  if (brought !== undefined && brought !== asValues(brought)) {
    return { outcome: invalid("inputResponses is not an object") };
  }
  const earlier = stateOf(server, item, request.params["requestState"]);
  if (earlier === undefined) return { outcome: invalid("requestState is not ours") };
  const answers = { ...earlier, ...objectsOf(asValues(brought)) };
  const questions = questionsOf(item, request, answers);
  const missing = undeclared(questions, request.capabilities);
  if (missing.length > 0) return { outcome: lacking(missing) };
  if (Object.keys(questions).length === 0) return { answers };
  const requestState = item.keepsState === true ? { requestState: sealed(server, item, answers) } : {};
  return { outcome: { result: { resultType: "input_required", inputRequests: questions, ...requestState } } };
}

function questionsOf(item: Asking, request: ModernRequest, answers: Answers): Questions {
  const questions = item.asks?.(asValues(request.params["arguments"]), answers) ?? {};
  if (item.asksWhatItMay !== true) return questions;
  const may = Object.entries(questions).filter(
    ([, { method }]) => request.capabilities[capabilityFor(method)] !== undefined,
  );
  return Object.fromEntries(may);
}

function undeclared(questions: Questions, capabilities: Values): readonly string[] {
  const needed = Object.values(questions).map(({ method }) => capabilityFor(method));
  return needed.filter((capability) => capabilities[capability] === undefined);
}

function objectsOf(values: Values): Answers {
  const objects = Object.entries(values).filter(([, value]) => value === asValues(value));
  return Object.fromEntries(objects) as Answers;
}

/** A state names the item it was made for and is signed, so that neither can be changed. */
function sealed(server: Server, item: Asking, answers: Answers): string {
  const content = Buffer.from(JSON.stringify({ name: item.definition.name, answers })).toString("base64url");
  return `${content}.${signature(server, content)}`;
}

function stateOf(server: Server, item: Asking, state: unknown): Answers | undefined {
  if (state === undefined) return {};
  if (typeof state !== "string") return undefined;
  const [content = "", mac = ""] = state.split(".");
  const expected = signature(server, content);
  if (mac.length !== expected.length || !timingSafeEqual(Buffer.from(mac), Buffer.from(expected))) return undefined;
  const kept = asValues(JSON.parse(Buffer.from(content, "base64url").toString()));
  return kept["name"] === item.definition.name ? objectsOf(asValues(kept["answers"])) : undefined;
}

function signature(server: Server, content: string): string {
  return createHmac("sha256", server.key).update(content).digest("base64url");
}

function sceneOf(server: Server, request: ModernRequest, send: (message: Values) => void): Scene {
  const { progressToken } = request.meta;
  return {
    progress: (progress, total) => {
      if (progressToken === undefined) return;
      send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress, total } });
    },
    log: (data) => {
      // Logs go to those requests alone that set a level (SEP-2575); all of this server's are "info".
      if (!["debug", "info"].includes(String(request.meta[metaKey("logLevel")]))) return;
      send({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data } });
    },
    pause,
    change: (kind) => {
      server.items.change(kind);
      announce(server, kind);
    },
  };
}

function announce(server: Server, kind: "tools" | "prompts"): void {
  for (const { stream, filter, id } of server.listeners) {
    if (filter[`${kind}ListChanged`] !== true) continue;
    stream.send(tagged(`notifications/${kind}/list_changed`, id, {}));
  }
}

function listen(server: Server, request: ModernRequest, response: ServerResponse): void {
  const stream = openEvents(response);
  const filter = asValues(request.params["notifications"]);
  const listener = { stream, filter, id: request.id };
  stream.onClose(() => server.listeners.delete(listener));
  stream.send(tagged("notifications/subscriptions/acknowledged", request.id, { notifications: filter }));
  server.listeners.add(listener);
}

/** A notification of a subscription carries the id of the request that opened it, type included. */
function tagged(method: string, id: unknown, params: Values): Values {
  return { jsonrpc: "2.0", method, params: { ...params, _meta: { [metaKey("subscriptionId")]: id } } };
}

function invalid(message: string, data?: Values): Outcome {
  return { error: { code: -32602, message, ...(data === undefined ? {} : { data }) } };
}

function lacking(capabilities: readonly string[]): Outcome {
  const requiredCapabilities = Object.fromEntries(capabilities.map((capability) => [capability, {}]));
  return {
    error: { code: -32021, message: "The client lacks a capability", data: { requiredCapabilities } },
    status: 400,
  };
}
