import type { Loose } from "../journey/http-client.ts";
import { modernMeta } from "../journey/wire-client.ts";
import type { Era } from "./pairings.ts";

/** What differs between the requests of two clients, or of two situations. */
export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** A JSON-RPC message, or the bytes themselves. */
  readonly body?: Loose | string;
  /** Whose token and session: alice's in her session, unless said otherwise. */
  readonly who?: "alice" | "bob" | "nobody";
}

export interface Situation {
  readonly what: string;
  /** Only for clients of this era; absent: for both. */
  readonly era?: Era;
  readonly request: Request;
}

/** A message under the headers that fit it, in either era. */
function message(method: string, params: Loose = {}, more: Partial<Request> & { readonly id?: unknown } = {}): Request {
  const { id = 7, ...rest } = more;
  return { body: { jsonrpc: "2.0", id, method, params }, ...rest };
}

function notification(method: string, params: Loose = {}): Request {
  return { body: { jsonrpc: "2.0", method, params } };
}

const call = (name: string, args: unknown = {}): Request => message("tools/call", { name, arguments: args });

const http: readonly Situation[] = [
  { what: "no token", request: { ...message("tools/list"), who: "nobody" } },
  { what: "a token that is none", request: message("tools/list", {}, { headers: { authorization: "Bearer x" } }) },
  {
    what: "a scheme that is not Bearer",
    request: message("tools/list", {}, { headers: { authorization: "Basic YTpi" } }),
  },
  { what: "GET without a token", request: { method: "GET", who: "nobody" } },
  { what: "HEAD without a token", request: { method: "HEAD", who: "nobody" } },
  { what: "DELETE without a token", request: { method: "DELETE", who: "nobody" } },
  { what: "a foreign origin", request: message("tools/list", {}, { headers: { origin: "https://evil.test" } }) },
  { what: "a foreign host", request: message("tools/list", {}, { headers: { host: "evil.test" } }) },
  { what: "PUT", request: { ...message("tools/list"), method: "PUT" } },
  { what: "HEAD", request: { method: "HEAD" } },
  { what: "a text body", request: message("tools/list", {}, { headers: { "content-type": "text/plain" } }) },
  {
    what: "a JSON body in capitals",
    request: message("tools/list", {}, { headers: { "content-type": "Application/JSON; charset=utf-8" } }),
  },
  { what: "a gzip body", request: message("tools/list", {}, { headers: { "content-encoding": "gzip" } }) },
  { what: "a client that takes HTML", request: message("tools/list", {}, { headers: { accept: "text/html" } }) },
  { what: "a client that takes anything", request: message("tools/list", {}, { headers: { accept: "*/*" } }) },
  {
    what: "a client that takes JSON alone",
    request: message("tools/list", {}, { headers: { accept: "application/json" } }),
  },
  {
    what: "a client that takes event streams alone",
    request: message("tools/list", {}, { headers: { accept: "text/event-stream" } }),
  },
  { what: "an empty body", request: { body: "" } },
  { what: "a body cut short", request: { body: '{"jsonrpc":"2.0"' } },
  { what: "a key twice", request: { body: '{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/list"}' } },
  { what: "a batch", request: { body: '[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]' } },
  { what: "a body that is too large", request: { body: " ".repeat(200_001) } },
];

const messages: readonly Situation[] = [
  { what: "tools/list", request: message("tools/list") },
  { what: "resources/list", request: message("resources/list") },
  { what: "prompts/list", request: message("prompts/list") },
  { what: "a cursor nobody gave out", request: message("tools/list", { cursor: "x" }) },
  { what: "a call", request: call("echo") },
  { what: "a call with id 0", request: message("tools/call", { name: "echo", arguments: {} }, { id: 0 }) },
  { what: "a call with an id of text", request: message("tools/call", { name: "echo", arguments: {} }, { id: "0" }) },
  { what: "a call of an unknown tool", request: call("nowhere") },
  { what: "a call of a hidden tool", request: call("hidden") },
  { what: "a call without a name", request: message("tools/call", { arguments: {} }) },
  { what: "arguments that break the schema", request: call("echo", { n: "x" }) },
  { what: "arguments that are no object", request: call("echo", "{}") },
  { what: "arguments that policy refuses", request: call("echo", { n: 101 }) },
  { what: "a call that lacks a scope", request: call("scoped") },
  { what: "an upstream that fails", request: call("fails") },
  { what: "an upstream that answers nothing", request: call("hollow") },
  { what: "an upstream that refuses the gateway", request: call("locked") },
  { what: "an upstream's own error", request: call("errs") },
  { what: "a tool's own error", request: call("isError") },
  { what: "a resource", request: message("resources/read", { uri: "x://a" }) },
  { what: "an unknown resource", request: message("resources/read", { uri: "x://nowhere" }) },
  { what: "a prompt", request: message("prompts/get", { name: "ask", arguments: { topic: "t" } }) },
  { what: "an unknown prompt", request: message("prompts/get", { name: "nowhere" }) },
  { what: "a prompt without its argument", request: message("prompts/get", { name: "ask" }) },
  { what: "an unknown method", request: message("tools/frobnicate") },
  { what: "an unknown notification", request: notification("notifications/frobnicated") },
  { what: "a cancellation of nothing", request: notification("notifications/cancelled", { requestId: 99 }) },
  { what: "a method without an id", request: notification("tools/list") },
  { what: "an id that is null", request: message("tools/list", {}, { id: null }) },
  { what: "a response to nothing", request: { body: { jsonrpc: "2.0", id: 99, result: {} } } },
  { what: "JSON that is no JSON-RPC", request: { body: { hello: "world" } } },
];

const hello = { capabilities: {}, clientInfo: { name: "test", version: "1" } };

const legacy: readonly Situation[] = [
  ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"].map((protocolVersion) => ({
    what: `initialize at ${protocolVersion}`,
    request: message("initialize", { ...hello, protocolVersion }, { headers: { "mcp-session-id": undefined } }),
  })),
  [
    { what: "initialized", request: notification("notifications/initialized") },
    { what: "ping", request: message("ping") },
    { what: "no session", request: message("tools/list", {}, { headers: { "mcp-session-id": undefined } }) },
    { what: "an empty session", request: message("tools/list", {}, { headers: { "mcp-session-id": "" } }) },
    {
      what: "a session nobody opened",
      request: message("tools/list", {}, { headers: { "mcp-session-id": "A".repeat(22) } }),
    },
    {
      what: "a session id of 4 KiB",
      request: message("tools/list", {}, { headers: { "mcp-session-id": "A".repeat(4_096) } }),
    },
    { what: "somebody else's session", request: message("tools/list", {}, { who: "bob" }) },
    {
      what: "a bad token with a session nobody opened",
      request: message("tools/list", {}, { headers: { authorization: "Bearer x", "mcp-session-id": "A".repeat(22) } }),
    },
    { what: "DELETE of somebody else's session", request: { method: "DELETE", who: "bob" } as const },
    { what: "DELETE without a session", request: { method: "DELETE", headers: { "mcp-session-id": undefined } } },
    {
      what: "a revision nobody speaks in a session",
      request: message("tools/list", {}, { headers: { "mcp-protocol-version": "2099-01-01" } }),
    },
    {
      what: "the session's own revision",
      request: message("ping", {}, { headers: { "mcp-protocol-version": "2025-11-25" } }),
    },
  ],
]
  .flat()
  .map((situation): Situation => ({ ...situation, era: "legacy" }));

const own = { "mcp-session-id": "AAAAAAAAAAAAAAAAAAAAAA" };
const otherMeta = { ...modernMeta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };

const modern: readonly Situation[] = [
  { what: "server/discover", request: message("server/discover") },
  { what: "ping, which is no more", request: message("ping") },
  { what: "a bogus session id, which counts for nothing", request: message("tools/list", {}, { headers: own }) },
  {
    what: "a last event id, which counts for nothing",
    request: message("tools/list", {}, { headers: { "last-event-id": "1" } }),
  },
  { what: "GET", request: { method: "GET" } },
  { what: "DELETE", request: { method: "DELETE", headers: own } },
  { what: "no Mcp-Method", request: message("tools/list", {}, { headers: { "mcp-method": undefined } }) },
  { what: "another Mcp-Method", request: message("tools/list", {}, { headers: { "mcp-method": "ping" } }) },
  { what: "another Mcp-Name", request: { ...call("echo"), headers: { "mcp-name": "hidden" } } },
  { what: "no Mcp-Name", request: { ...call("echo"), headers: { "mcp-name": undefined } } },
  {
    what: "no revision in the header",
    request: message("tools/list", {}, { headers: { "mcp-protocol-version": undefined } }),
  },
  {
    what: "a revision nobody speaks",
    request: message("tools/list", { _meta: otherMeta }, { headers: { "mcp-protocol-version": "2099-01-01" } }),
  },
  { what: "no _meta", request: message("tools/list", { _meta: undefined }) },
  {
    what: "_meta without capabilities",
    request: message("tools/list", { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } }),
  },
  { what: "initialize", request: message("initialize", hello) },
].map((situation): Situation => ({ ...situation, era: "modern" }));

export const situations: readonly Situation[] = [...http, ...messages, ...legacy, ...modern];
