import type { Agent } from "node:http";
import type { GatewayUnderTest } from "./gateway-under-test.ts";
import { send } from "./http-client.ts";
import type { Loose, Received } from "./http-client.ts";

const modernRevision = "2026-07-28";

/** What every modern request carries in `params._meta`. */
export const modernMeta: Loose = {
  "io.modelcontextprotocol/protocolVersion": modernRevision,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export interface Caller {
  readonly gateway: Pick<GatewayUnderTest, "port">;
  readonly server: string;
  readonly token?: string | undefined;
  readonly agent?: Agent;
  /** A legacy session. */
  readonly session?: string | undefined;
}

type Headers = Record<string, string | readonly string[] | undefined>;

/** Headers of an ordinary legacy request of this caller. */
export function legacyHeaders({ token, session }: Pick<Caller, "token" | "session">): Headers {
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    authorization: token === undefined ? undefined : `Bearer ${token}`,
    "mcp-session-id": session,
  };
}

/** Headers of an ordinary modern request of this caller. */
export function modernHeaders(caller: Pick<Caller, "token">, method: string, name?: string): Headers {
  return {
    ...legacyHeaders({ token: caller.token }),
    "mcp-protocol-version": modernRevision,
    "mcp-method": method,
    "mcp-name": name,
  };
}

export function post(caller: Caller, headers: Headers, body: unknown): Promise<Received> {
  return send({
    port: caller.gateway.port,
    path: `/${caller.server}/mcp`,
    headers,
    body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    ...(caller.agent === undefined ? {} : { agent: caller.agent }),
  });
}

/** A modern request with all it needs. */
export function modernCall(caller: Caller, method: string, params: Loose = {}, id: unknown = 1): Promise<Received> {
  const name = params["name"] ?? params["uri"];
  const headers = modernHeaders(caller, method, typeof name === "string" ? name : undefined);
  return post(caller, headers, { jsonrpc: "2.0", id, method, params: { ...params, _meta: modernMeta } });
}

/** A legacy request in the caller's session. */
export function legacyCall(caller: Caller, method: string, params: Loose = {}, id: unknown = 1): Promise<Received> {
  return post(caller, legacyHeaders(caller), { jsonrpc: "2.0", id, method, params });
}

/** Opens a legacy session and returns the caller with it. */
export async function openSession<C extends Caller>(
  caller: C,
  revision = "2025-11-25",
): Promise<C & { session: string }> {
  const answer = await legacyCall({ ...caller, session: undefined }, "initialize", {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  const session = answer.headers["mcp-session-id"];
  if (typeof session !== "string") throw new Error(`no session was opened: ${answer.status} ${answer.text}`);
  return { ...caller, session };
}

/** What an answer says it was refused with: in the error's data, in a tool result's `_meta`, or not at all. */
export function refusalIn({ json }: Pick<Received, "json">): { code: string; ref: string; outcome: string } {
  const data = at(at(json, "error"), "data");
  const meta = at(at(at(json, "result"), "_meta"), "io.sallyport/refusal");
  return {
    code: textAt(data, "refusal") + textAt(meta, "code"),
    ref: textAt(data, "ref") + textAt(meta, "ref"),
    outcome: textAt(data, "outcome") + textAt(meta, "outcome"),
  };
}

function at(value: Loose, key: string): Loose {
  const found = value[key];
  return typeof found === "object" && found !== null ? (found as Loose) : {};
}

function textAt(value: Loose, key: string): string {
  const found = value[key];
  return typeof found === "string" ? found : "";
}

export function errorCodeIn(answer: Pick<Received, "json">): unknown {
  return (answer.json["error"] as Loose | undefined)?.["code"];
}
