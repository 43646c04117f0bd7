import type { ItemKind } from "../../src/model/item.ts";
import type {
  Loose,
  ReceivedRequest,
  Script,
  ScriptedUpstream,
  ScriptedUpstreamOptions,
  Wire,
} from "../upstream/scripted-upstream.ts";
import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";

/** A stream that a gateway keeps open to the upstream. */
interface Listener {
  readonly wire: Wire;
  /** The id of a modern `subscriptions/listen`; undefined for a GET. */
  readonly id: unknown;
  /** The legacy session of a GET. */
  readonly session: string | undefined;
  readonly filter: Loose;
}

export interface ListeningUpstream extends ScriptedUpstream {
  /** What its lists hold, by kind; change it as an upstream does. */
  readonly items: Record<ItemKind, Loose[]>;
  readonly listeners: readonly Listener[];
  /** Subscriptions of legacy sessions. */
  readonly subscribed: ReadonlyMap<string, ReadonlySet<string>>;
  /** Sends a notification on every open stream that asked for it. */
  notify(method: string, params?: Loose): void;
}

const lists: Readonly<Record<string, { kind: ItemKind; key: string }>> = {
  "tools/list": { kind: "tool", key: "tools" },
  "prompts/list": { kind: "prompt", key: "prompts" },
  "resources/list": { kind: "resource", key: "resources" },
  "resources/templates/list": { kind: "template", key: "resourceTemplates" },
};

const flags: Readonly<Record<string, string>> = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
  "notifications/resources/list_changed": "resourcesListChanged",
};

/** A server of either era whose lists change, that tells of it, and whose resources can be subscribed to. */
export async function startListeningUpstream(
  era: "legacy" | "modern",
  options: ScriptedUpstreamOptions & {
    readonly declared?: Loose;
    readonly first?: (...of: Parameters<Script>) => boolean;
  } = {},
): Promise<ListeningUpstream> {
  const changing = { listChanged: true };
  const capabilities = options.declared ?? {
    tools: changing,
    prompts: changing,
    resources: { ...changing, subscribe: true },
  };
  const upstream = await startScriptedUpstream({ era, capabilities, ...options });
  const state: State = {
    items: { tool: [tool("echo")], prompt: [{ name: "greet" }], resource: [resource("test://one")], template: [] },
    listeners: [],
    subscribed: new Map(),
  };
  upstream.script((request, wire) => options.first?.(request, wire) === true || answered(state, request, wire));
  return new Proxy(upstream, {
    get: (target, name) => {
      if (name === "notify") return notify.bind(undefined, state);
      if (name in state) return Reflect.get(state, name) as unknown;
      return Reflect.get(target, name) as unknown;
    },
  }) as ListeningUpstream;
}

export function tool(name: string, description = "does something"): Loose {
  return { name, description, inputSchema: { type: "object" } };
}

export function resource(uri: string): Loose {
  return { uri, name: uri };
}

interface State {
  readonly items: Record<ItemKind, Loose[]>;
  readonly listeners: Listener[];
  readonly subscribed: Map<string, Set<string>>;
}

function answered(state: State, request: ReceivedRequest, wire: Wire): boolean {
  const { method, rpc } = request;
  const session = request.header("mcp-session-id");
  if (method === "GET") {
    listen(state, { wire, id: undefined, session, filter: {} });
    return true;
  }
  const params = (rpc["params"] ?? {}) as Loose;
  const modern = request.header("mcp-protocol-version") === "2026-07-28";
  const list = lists[String(rpc["method"])];
  if (list !== undefined) {
    respond(wire, rpc["id"], { [list.key]: state.items[list.kind] }, modern);
    return true;
  }
  if (rpc["method"] === "subscriptions/listen") {
    listen(state, { wire, id: rpc["id"], session: undefined, filter: params["notifications"] as Loose });
    return true;
  }
  if (rpc["method"] === "resources/subscribe" || rpc["method"] === "resources/unsubscribe") {
    const uris = state.subscribed.get(session ?? "") ?? new Set();
    state.subscribed.set(session ?? "", uris);
    if (rpc["method"] === "resources/subscribe") uris.add(String(params["uri"]));
    else uris.delete(String(params["uri"]));
    respond(wire, rpc["id"], {}, modern);
    return true;
  }
  if (rpc["method"] === "resources/read") {
    respond(wire, rpc["id"], { contents: [{ uri: params["uri"], text: "content" }] }, modern);
    return true;
  }
  return false;
}

function respond(wire: Wire, id: unknown, result: Loose, modern: boolean): void {
  const more = modern ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
  wire.json(200, { jsonrpc: "2.0", id, result: { ...result, ...more } });
}

function listen(state: State, listener: Listener): void {
  state.listeners.push(listener);
  listener.wire.eventStream();
  listener.wire.chunk(": open\n\n");
  if (listener.id === undefined) return;
  const params = { notifications: listener.filter, _meta: subscription(listener) };
  listener.wire.chunk(event({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params }));
}

function subscription({ id }: Listener): Loose {
  return { "io.modelcontextprotocol/subscriptionId": id };
}

function notify(state: State, method: string, params: Loose = {}): void {
  for (const listener of state.listeners.filter(({ wire }) => !wire.closed)) {
    if (!wants(state, listener, method, params)) continue;
    const meta = listener.id === undefined ? {} : { _meta: subscription(listener) };
    listener.wire.chunk(event({ jsonrpc: "2.0", method, params: { ...params, ...meta } }));
  }
}

function wants(state: State, { id, session, filter }: Listener, method: string, params: Loose): boolean {
  const uri = String(params["uri"]);
  if (id === undefined)
    return method !== "notifications/resources/updated" || (state.subscribed.get(session ?? "")?.has(uri) ?? false);
  const flag = flags[method];
  if (flag !== undefined) return filter[flag] === true;
  const uris = filter["resourceSubscriptions"];
  return Array.isArray(uris) && uris.includes(uri);
}
