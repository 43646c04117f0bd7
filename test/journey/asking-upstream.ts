import { event, startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream, Wire } from "../upstream/scripted-upstream.ts";
import type { Loose } from "./http-client.ts";

/** An upstream whose every call asks what the test put in its arguments, and answers with what it was told. */
export interface AskingUpstream {
  readonly upstream: ScriptedUpstream;
  /** Capabilities that the last session or request declared to it. */
  declared(): Loose;
  close(): Promise<void>;
}

/**
 * A legacy upstream. A call's argument `ask` is a list of requests to send on the call's stream, one after the other;
 * the result holds the answers. With the argument `wait` false no answer is waited for. `takeBack` cancels the
 * request that was sent last.
 */
export async function startLegacyAsking(): Promise<AskingUpstream & { takeBack(): void }> {
  const upstream = await startScriptedUpstream({ era: "legacy", capabilities: { tools: {}, logging: {} } });
  const waiting = new Map<string, (message: Loose) => void>();
  let asked = 0;
  let takeBack = (): void => undefined;
  const ask = (wire: Wire, request: Loose): Promise<Loose> => {
    asked += 1;
    const id = `up-${asked}`;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      wire.chunk(event({ jsonrpc: "2.0", id, ...request }));
      takeBack = () => {
        wire.chunk(event({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }));
      };
    });
  };
  upstream.script((request, wire) => {
    const { rpc } = request;
    if (rpc["method"] === undefined && typeof rpc["id"] === "string") waiting.get(rpc["id"])?.(rpc);
    if (rpc["method"] !== "tools/call") return false;
    void serveCall(request, wire, ask);
    return true;
  });
  return {
    upstream,
    takeBack: () => {
      takeBack();
    },
    declared: () => declaredIn(upstream, "initialize", (params) => params["capabilities"]),
    close: () => upstream.close(),
  };
}

async function serveCall(
  { rpc }: ReceivedRequest,
  wire: Wire,
  ask: (wire: Wire, request: Loose) => Promise<Loose>,
): Promise<void> {
  const { ask: requests = [], wait = true } = ((rpc["params"] as Loose)["arguments"] ?? {}) as {
    ask?: Loose[];
    wait?: boolean;
  };
  wire.eventStream();
  const answers: Loose[] = [];
  for (const request of requests) {
    const answer = ask(wire, request);
    if (wait) answers.push(await answer);
  }
  const told = answers.map(({ result, error }) => (error === undefined ? { result } : { error }));
  wire.chunk(event({ jsonrpc: "2.0", id: rpc["id"], result: { content: [], told } }));
  wire.endChunks();
}

/**
 * A modern upstream. A call's argument `ask` is a list of rounds, each a map of requests; the state that it gives says
 * how far it is, and `state` (an argument) is put at its end. The result holds what was told in each round. The argument
 * `miss` has it miss those capabilities of the client.
 */
export async function startModernAsking(): Promise<AskingUpstream> {
  const upstream = await startScriptedUpstream({
    era: "modern",
    capabilities: { tools: {}, logging: {} },
  });
  upstream.script((request, wire) => {
    const { rpc } = request;
    if (rpc["method"] !== "tools/call") return false;
    const params = (rpc["params"] ?? {}) as Loose;
    const { miss } = (params["arguments"] ?? {}) as { miss?: Loose };
    if (miss === undefined) wire.json(200, { jsonrpc: "2.0", id: rpc["id"], result: roundOf(params) });
    else {
      const error = { code: -32021, message: "Missing capability", data: { requiredCapabilities: miss } };
      wire.json(400, { jsonrpc: "2.0", id: rpc["id"], error });
    }
    return true;
  });
  return {
    upstream,
    declared: () =>
      declaredIn(
        upstream,
        "tools/call",
        (params) => (params["_meta"] as Loose)["io.modelcontextprotocol/clientCapabilities"],
      ),
    close: () => upstream.close(),
  };
}

function roundOf(params: Loose): Loose {
  const {
    ask = [],
    state: suffix = "",
    stateless = false,
  } = (params["arguments"] ?? {}) as {
    ask?: Loose[];
    state?: string;
    stateless?: boolean;
  };
  const state = typeof params["requestState"] === "string" ? params["requestState"] : "";
  const told = state === "" ? [] : (JSON.parse(state.slice(0, state.lastIndexOf("|"))) as unknown[]);
  if (params["inputResponses"] !== undefined) told.push(params["inputResponses"]);
  const requests = ask[told.length];
  if (requests === undefined) return { resultType: "complete", content: [], told };
  const asks = { resultType: "input_required", inputRequests: requests };
  return stateless ? asks : { ...asks, requestState: `${JSON.stringify(told)}|${suffix}` };
}

function declaredIn(upstream: ScriptedUpstream, method: string, read: (params: Loose) => unknown): Loose {
  const last = upstream.received.filter(({ rpc }) => rpc["method"] === method).at(-1);
  return read((last?.rpc["params"] ?? {}) as Loose) as Loose;
}

/** A request as an upstream sends it, but for its id. */
export interface Asks extends Loose {
  readonly method: string;
  readonly params: Loose;
}

export const form: Asks = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "What is your name?",
    requestedSchema: { type: "object", properties: { name: { type: "string", minLength: 2 } }, required: ["name"] },
  },
};

export const page: Asks = {
  method: "elicitation/create",
  params: { mode: "url", message: "Please sign in", url: "https://crm.example/consent?x=1", elicitationId: "e-1" },
};

export const sample: Asks = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Capital of France?" } }], maxTokens: 100 },
};

export const sampleWithTools: Asks = {
  method: "sampling/createMessage",
  params: {
    ...sample.params,
    tools: [{ name: "look", inputSchema: { type: "object" } }],
    toolChoice: { mode: "auto" },
  },
};

export const roots: Asks = { method: "roots/list", params: {} };
