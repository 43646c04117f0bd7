import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose, Received } from "../journey/http-client.ts";
import { legacyCall, modernCall, openSession } from "../journey/wire-client.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ReceivedRequest, ScriptedUpstream, Wire } from "../upstream/scripted-upstream.ts";

export const eras = ["legacy", "modern"] as const;
export type Era = (typeof eras)[number];

/** Every era of client in front of every era of server. */
export const hops: readonly Hop[] = eras.flatMap((client) => eras.map((server) => ({ client, server })));

export interface Hop {
  readonly client: Era;
  readonly server: Era;
}

/** One gateway in front of one scripted upstream of each era, which is also the name of its virtual server. */
export interface Pairings {
  readonly gateway: GatewayUnderTest;
  upstream(era: Era): ScriptedUpstream;
  /** One request of a client of one era to the server of the other. A legacy client keeps its session. */
  ask(hop: Hop, method: string, params?: Loose, id?: unknown): Promise<Received>;
  /** What the server of this era was sent with this method, oldest first. */
  received(era: Era, method: string): readonly ReceivedRequest[];
  close(): Promise<void>;
}

/** Lists of which the test says nothing are empty. */
const emptyLists: Readonly<Record<string, Loose>> = {
  "prompts/list": { prompts: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
};

/** The result of a method, or undefined to leave the request to the upstream's ordinary behaviour. */
export type Results = (method: string, params: Loose, era: Era) => Loose | undefined;

/** Answers a request by itself and returns true, or leaves it to what stands above. */
export type OnRequest = (request: ReceivedRequest, wire: Wire, era: Era) => boolean;

const usualCapabilities: Loose = { tools: {}, prompts: {}, resources: {} };

export async function startPairings(
  results: Results,
  more: Partial<Pick<GatewayOptions, "rules" | "config" | "issuer">> & {
    readonly upstream?: Loose;
    readonly onRequest?: OnRequest;
    readonly capabilities?: Loose;
  } = {},
): Promise<Pairings> {
  const { upstream: block, onRequest, capabilities = usualCapabilities, ...options } = more;
  const upstreams = new Map<Era, ScriptedUpstream>();
  for (const era of eras) {
    const upstream = await startScriptedUpstream({ era, capabilities });
    upstream.script((request, wire) => {
      if (onRequest?.(request, wire, era) === true) return true;
      const { id, method, params } = request.rpc as { id?: unknown; method?: string; params?: Loose };
      const result = results(method ?? "", params ?? {}, era) ?? emptyLists[method ?? ""];
      if (result === undefined) return false;
      const form = era === "modern" ? modernForm(method ?? "") : {};
      wire.json(200, { jsonrpc: "2.0", id, result: { ...form, ...result } });
      return true;
    });
    upstreams.set(era, upstream);
  }
  const gateway = await startGatewayUnderTest({
    upstreams: Object.fromEntries(eras.map((era) => [era, { url: upstreams.get(era)!.url, ...block }])),
    servers: Object.fromEntries(eras.map((era) => [era, { [era]: "" }])),
    ...options,
  });
  // Behind an issuer nobody gets in without a token, so there the test opens its own.
  const sessions = new Map<Era, Awaited<ReturnType<typeof openSession>>>();
  if (more.issuer === undefined)
    for (const server of eras) sessions.set(server, await openSession({ gateway, server }));
  return {
    gateway,
    upstream: (era) => upstreams.get(era)!,
    ask: ({ client, server }, method, params, id) =>
      client === "modern"
        ? modernCall({ gateway, server }, method, params, id)
        : legacyCall(sessions.get(server)!, method, params, id),
    received: (era, method) => upstreams.get(era)!.received.filter(({ rpc }) => rpc["method"] === method),
    close: async () => {
      await gateway.remove();
      for (const upstream of upstreams.values()) await upstream.close();
    },
  };
}

/** What every modern result says of itself, and those that may be cached (2026-07-28, "Caching"). */
function modernForm(method: string): Loose {
  const cached = method.endsWith("/list") || method === "resources/read";
  return { resultType: "complete", ...(cached ? { ttlMs: 0, cacheScope: "private" } : {}) };
}
