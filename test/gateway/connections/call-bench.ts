import { createHash, randomBytes } from "node:crypto";
import type { AuditDraft } from "../../../src/audit/port.ts";
import { createAsking } from "../../../src/gateway/asking/asking.ts";
import { createConnections } from "../../../src/gateway/connections/connections.ts";
import { createSealing } from "../../../src/gateway/create-sealing.ts";
import { beginExchange } from "../../../src/gateway/exchange.ts";
import type { Arrival, Exchange } from "../../../src/gateway/exchange.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { limits } from "../../../src/model/limits.ts";
import type { Principal } from "../../../src/model/principal.ts";
import { refuse } from "../../../src/model/refusal.ts";
import { createMemoryCourier } from "../../../src/store/courier-local.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";
import type { UpstreamRequest } from "../../../src/upstream/port.ts";
import { load, principal } from "../../policy/given.ts";

export const link = "https://mcp.test/connect/crm?link=sealed";

const policy = load([]);

/** One gateway whose upstream `crm` has a credential that refuses until somebody connects. */
export interface CallBench {
  readonly g: Gateway;
  /** Whether the upstream takes calls. */
  connected: boolean;
  /** What the upstream got. */
  readonly calls: UpstreamRequest[];
  readonly recorded: AuditDraft[];
  /** A person connects, and whoever waits is told. */
  connect(subject?: string): Promise<void>;
  close(): Promise<void>;
}

export function callBench(more: { readonly connectionWaitMs?: number; readonly reason?: string } = {}): CallBench {
  const courier = createMemoryCourier({ address: "here", onFault: () => undefined });
  const records = createMemoryStore({ now: Date.now });
  const bounds = { ...limits, connectionWaitMs: more.connectionWaitMs ?? limits.connectionWaitMs };
  const calls: UpstreamRequest[] = [];
  const recorded: AuditDraft[] = [];
  const connections = createConnections({
    linkFor: ({ kind }) => (kind === "human" ? link : undefined),
    titleOf: () => "Customer records",
    isConnected: () => Promise.resolve(bench.connected),
    courier,
    now: Date.now,
    limits: bounds,
  });
  const refusal = refuse("UPSTREAM_CONNECTION_REQUIRED", { upstream: "crm", reason: more.reason ?? "not-connected" });
  const request = (sent: UpstreamRequest): Promise<unknown> => {
    const hop = { era: "modern", revision: "2026-07-28" };
    if (!bench.connected) return Promise.resolve({ kind: "failed", outcome: "failed", ...refusal, hop: undefined });
    calls.push(sent);
    return Promise.resolve({ kind: "result", result: { content: [], resultType: "complete" }, hop, bytes: 9 });
  };
  const g = {
    limits: bounds,
    now: Date.now,
    connections,
    asking: createAsking({ records, courier, random: randomBytes, now: Date.now, limits }),
    sealing: createSealing({
      keys: { current: { kid: "k", key: createHash("sha256").update("k").digest() }, previous: [] },
      random: randomBytes,
      now: Date.now,
      sealedHandleCharsMax: limits.sealedHandleCharsMax,
    }),
    evidence: { record: (event: AuditDraft) => recorded.push(event) > 0 },
    auditRequired: true,
    digest: () => ({ digest: "d", key: "k" }),
    treatments: new Map(),
    upstreams: { request },
    clientStreams: { send: () => Promise.resolve(false) },
    // Upstreams may ask the client nothing.
    inForce: () => ({ policy, digests: { configuration: "", policy: policy.digest, lock: "" } }),
  } as unknown as Gateway;
  const bench: CallBench = {
    g,
    connected: false,
    calls,
    recorded,
    connect: async (subject = "ada") => {
      bench.connected = true;
      const { tenant, issuer } = principal();
      await connections.changed({ person: { tenant, issuer, subject }, upstream: "crm" });
    },
    close: async () => {
      await courier.close();
      await records.close();
    },
  };
  return bench;
}

export interface Calling {
  readonly era: "modern" | "legacy";
  readonly method?: string;
  readonly params?: JsonObject;
  /** What the client declared. */
  readonly capabilities?: JsonObject;
  readonly who?: Partial<Principal>;
  /** Where the client hears the gateway; undefined for one that takes no stream. */
  readonly hear?: ((message: JsonObject) => void) | undefined;
}

/** An exchange at the door of `forward`. */
export function calling(of: Calling): Exchange {
  const { era, method = "tools/call", params = { name: "echo", arguments: {} } } = of;
  const gone = new AbortController();
  const send = (text: string): boolean => {
    of.hear?.(JSON.parse(text) as JsonObject);
    return true;
  };
  const arrival = {
    server: { name: "support", extensions: [] },
    gone: gone.signal,
    stream: () => (of.hear === undefined ? undefined : { send }),
  } as unknown as Arrival;
  const x = beginExchange(arrival, "REF", Date.now());
  const kind = method === "resources/read" ? "resource" : "tool";
  const item = { upstream: "crm", kind, name: "echo", digest: "d", definition: {} };
  const capabilities = of.capabilities ?? { elicitation: { url: {} } };
  Object.assign(x, {
    principal: principal(of.who),
    args: {},
    target: { kind, asked: "echo", entry: { item, exposed: "echo" } },
    classified: {
      era,
      column: "call",
      message: { kind: "request", id: 1, method, params },
      revision: era === "modern" ? "2026-07-28" : "2025-11-25",
      meta: era === "modern" ? { clientCapabilities: capabilities } : undefined,
    },
    session:
      era === "legacy"
        ? { tenant: "default", id: "session", revision: "2025-11-25", clientCapabilities: capabilities }
        : undefined,
    account: { tenant: "default", principalKey: "k", clientSession: undefined, caller: undefined },
  });
  return x;
}
