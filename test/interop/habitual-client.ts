import { modernMeta } from "../journey/wire-client.ts";
import type { Habits } from "./client-habits.ts";
import type { Login } from "../../deploy/quickstart/person.ts";
import type { Discovered } from "./scripted-clients.ts";
import { registerAt, signInWith } from "./scripted-clients.ts";

type Loose = Record<string, unknown>;

/** A JSON-RPC error as the application gets it. */
export class RpcFailure extends Error {
  readonly code: unknown;
  readonly data: unknown;
  constructor({ code, message, data }: Loose) {
    super(String(message));
    this.code = code;
    this.data = data;
  }
}

/** The client gives its connection up: only a new one helps. */
export class ConnectionDead extends Error {}

export interface HabitualClient {
  readonly era: "legacy" | "modern";
  readonly session: string | undefined;
  readonly token: string;
  readonly scope: unknown;
  /** Every request to the server so far: HTTP method, MCP method, status. */
  readonly trail: readonly string[];
  readonly signIns: number;
  request(method: string, params?: Loose): Promise<Loose>;
  /** Opens the stream that servers may send on, as these clients do once they are connected, and closes it again. */
  openStream(): Promise<OpenedStream>;
}

interface OpenedStream {
  readonly status: number;
  readonly contentType: string | null;
  /** The stream up to its first blank line. */
  readonly beginning: string;
}

interface State {
  readonly habits: Habits;
  readonly url: string;
  readonly login: Login;
  readonly trail: string[];
  found: Discovered | undefined;
  clientId: string | undefined;
  token: string;
  scope: unknown;
  signIns: number;
  era: "legacy" | "modern";
  session: string | undefined;
  revision: string | undefined;
  dead: boolean;
  nextId: number;
}

/** Connects with nothing but the server's URL, by its habits. */
export async function connectAs(habits: Habits, url: string, login: Login): Promise<HabitualClient> {
  const state: State = {
    habits,
    url,
    login,
    trail: [],
    found: undefined,
    clientId: undefined,
    token: "",
    scope: undefined,
    signIns: 0,
    era: "legacy",
    session: undefined,
    revision: undefined,
    dead: false,
    nextId: 0,
  };
  await signIn(state, undefined);
  await open(state);
  return {
    get era() {
      return state.era;
    },
    get session() {
      return state.session;
    },
    get token() {
      return state.token;
    },
    get scope() {
      return state.scope;
    },
    get signIns() {
      return state.signIns;
    },
    trail: state.trail,
    request: (method, params = {}) => ask(state, method, params),
    openStream: () => openStream(state),
  };
}

async function signIn(state: State, challenged: string | undefined): Promise<void> {
  state.found ??= await state.habits.discover(state.url);
  const { metadata } = state.found;
  const listed = metadata["scopes_supported"] as readonly string[] | undefined;
  const scope = challenged ?? (state.habits.scopes === "server" ? listed?.join(" ") : await challengedScope(state));
  if (state.habits.registersAnew) state.clientId = undefined;
  state.clientId ??= await registerAt(state.found);
  const granted = await signInWith(state.found, state.login, { scope, clientId: state.clientId });
  if (typeof granted["access_token"] !== "string") throw new Error(`no token: ${JSON.stringify(granted)}`);
  if (String(granted["token_type"]).toLowerCase() !== "bearer") throw new Error("the token is no Bearer token");
  state.token = granted["access_token"];
  state.scope = granted["scope"];
  state.signIns += 1;
}

async function challengedScope({ url }: State): Promise<string | undefined> {
  const refused = await fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
  return scopeOf(refused);
}

function scopeOf({ headers }: Response): string | undefined {
  return /^Bearer .*scope="([^"]*)"/.exec(headers.get("www-authenticate") ?? "")?.[1];
}

async function open(state: State): Promise<void> {
  if (state.habits.opens === "probe" && (await probe(state))) return;
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: state.habits.name, version: "1.0.0" },
  };
  state.era = "legacy";
  state.session = undefined;
  state.revision = undefined;
  const result = await ask(state, "initialize", params);
  state.revision = String(result["protocolVersion"]);
  const noted = await post(state, { jsonrpc: "2.0", method: "notifications/initialized" });
  if (noted.status !== 202) throw new Error(`initialized was answered ${noted.status}`);
}

/** True when the server speaks the modern revision. On anything else these clients fall back. */
async function probe(state: State): Promise<boolean> {
  state.era = "modern";
  try {
    const result = await ask(state, "server/discover", {});
    return (result["supportedVersions"] as unknown[]).includes("2026-07-28");
  } catch {
    return false;
  }
}

async function ask(state: State, method: string, params: Loose): Promise<Loose> {
  if (state.dead) throw new ConnectionDead("the connection is closed");
  const { habits } = state;
  let response = await postRequest(state, method, params);
  if (response.status === 403 && habits.stepsUp) {
    await signIn(state, scopeOf(response));
    response = await postRequest(state, method, params);
  } else if (response.status === 403 && habits.resendsAfter403) response = await postRequest(state, method, params);
  if (state.session !== undefined && method !== "initialize" && habits.reopensOn.includes(response.status)) {
    await open(state);
    response = await postRequest(state, method, params);
  }
  return read(state, response, state.nextId);
}

function postRequest(state: State, method: string, params: Loose): Promise<Response> {
  state.nextId += 1;
  const whole = state.era === "modern" ? { ...params, _meta: modernMeta } : params;
  return post(state, { jsonrpc: "2.0", id: state.nextId, method, params: whole });
}

async function post(
  state: State,
  message: { method: string; params?: Loose; [key: string]: unknown },
): Promise<Response> {
  const { habits, trail, url } = state;
  const isFirst = trail.length === 0;
  const headers = headersFor(state, message.method, message.params ?? {});
  const response = await fetch(url, { method: "POST", redirect: "manual", headers, body: JSON.stringify(message) });
  trail.push(`POST ${message.method} ${response.status}`);
  if (isFirst && habits.fallsBackToSse && [404, 405].includes(response.status))
    throw new ConnectionDead("this client now tries the transport of 2024-11-05");
  keepSession(state, response, message.method);
  return response;
}

function headersFor(state: State, method: string, params: Loose): Record<string, string> {
  const { habits, token, era, session, revision } = state;
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: habits.accept,
    authorization: `Bearer ${token}`,
  };
  if (era === "modern") {
    headers["mcp-protocol-version"] = "2026-07-28";
    headers["mcp-method"] = method;
    const name = params["name"] ?? params["uri"];
    if (typeof name === "string") headers["mcp-name"] = name;
    return headers;
  }
  if (session !== undefined) headers["mcp-session-id"] = session;
  if (revision !== undefined && habits.sendsRevision) headers["mcp-protocol-version"] = revision;
  return headers;
}

/** A session id on a modern answer, or another one than was given, is a fault that strict clients end on. */
function keepSession(state: State, { headers }: Response, method: string): void {
  const given = headers.get("mcp-session-id");
  if (given === null) return;
  if (state.era === "modern") throw new ConnectionDead("a session id on a modern answer");
  if (method === "initialize") state.session = given;
  else if (given !== state.session) throw new ConnectionDead("the session id changed");
}

async function read(state: State, response: Response, id: number): Promise<Loose> {
  const text = await response.text();
  const message = messageIn(text, response.headers.get("content-type") ?? "", id);
  if (message === undefined) {
    if (state.habits.diesWithoutMessage) state.dead = true;
    throw new ConnectionDead(`${response.status} without an answer: ${text.slice(0, 200)}`);
  }
  const error = message["error"] as Loose | undefined;
  if (error !== undefined) throw new RpcFailure(error);
  // A request that is merely accepted is never answered.
  if (response.status !== 200) throw new ConnectionDead(`a result under status ${response.status}`);
  return message["result"] as Loose;
}

function messageIn(text: string, contentType: string, id: number): Loose | undefined {
  const lines = contentType.startsWith("text/event-stream")
    ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? "")
    : [text];
  const messages = lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as Loose];
    } catch {
      return [];
    }
  });
  return messages.find((message) => message["id"] === id && message["jsonrpc"] === "2.0");
}

/** Legacy: a GET. Modern: `subscriptions/listen`, under an id of the form that SDKs use. */
async function openStream(state: State): Promise<OpenedStream> {
  const { era, trail, url } = state;
  const params = { notifications: { toolsListChanged: true }, _meta: modernMeta };
  const listen = { jsonrpc: "2.0", id: "listen:0", method: "subscriptions/listen", params };
  const closing = new AbortController();
  const headers = headersFor(state, era === "modern" ? listen.method : "", {});
  if (era === "legacy") headers["accept"] = "text/event-stream";
  const response = await fetch(url, {
    ...(era === "modern" ? { method: "POST", body: JSON.stringify(listen) } : {}),
    headers,
    signal: closing.signal,
    redirect: "manual",
  });
  trail.push(`${era === "modern" ? "POST subscriptions/listen" : "GET"} ${response.status}`);
  const beginning = await beginningOf(response);
  closing.abort();
  return { status: response.status, contentType: response.headers.get("content-type"), beginning };
}

async function beginningOf({ body }: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes("\n\n")) break;
  }
  return text;
}
