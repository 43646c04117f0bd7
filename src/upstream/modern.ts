import {
  clientCapabilitiesMetaKey,
  clientInfoMetaKey,
  logLevelMetaKey,
  protocolVersionMetaKey,
} from "../model/identifiers.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import { requestMessage } from "../protocol/jsonrpc.ts";
import { writeJson } from "../protocol/json/write.ts";
import { paramHeaderPlan, paramHeadersFor } from "../protocol/modern/param-headers.ts";
import type { ParamHeaderPlan } from "../protocol/modern/param-headers.ts";
import { encodeMcpName } from "../protocol/modern/standard-headers.ts";
import { callMsOf } from "./deadlines.ts";
import { deliver } from "./deliver.ts";
import type { Written } from "./deliver.ts";
import { withHopMeta } from "./hop-meta.ts";
import { laneOf } from "./lane-of.ts";
import type { Link } from "./link.ts";
import { takeLog } from "./take-log.ts";
import type { Hop, UpstreamAnswer, UpstreamRequest } from "./port.ts";
import { progressMeta, takeProgress } from "./progress.ts";
import type { Reply } from "./reply.ts";
import { toAnswer } from "./verdict.ts";

export const modernHop: Hop = { era: "modern", revision: "2026-07-28" };

const standardHeaders: readonly string[] = [
  "content-type",
  "application/json",
  "accept",
  "application/json, text/event-stream",
  "accept-encoding",
  "identity",
  "mcp-protocol-version",
  modernHop.revision,
];

/**
 * One request of the stateless era. Aborting closes the stream, which is how it is cancelled (2026-07-28,
 * transports, "Cancellation"). Requests that an upstream sends on the stream have no place in this era and
 * are passed over. `stale` is called when the upstream rejects the request like one that is not modern.
 */
export async function requestModern(link: Link, request: UpstreamRequest, stale: () => void): Promise<UpstreamAnswer> {
  const headers = requestHeaders(request);
  if (!headers.ok) return { kind: "failed", outcome: "failed", refusal: headers.refusal, hop: modernHop };
  const { reply } = await deliver(link, {
    account: request.account,
    forwarded: request.forwarded,
    method: "POST",
    lane: laneOf(request.method),
    expectsAnswer: true,
    until: link.now() + callMsOf(link, request),
    deadlines: request.deadlines,
    signal: request.signal,
    write: (id) => writeModern(link, id, request, headers.value),
    onNotification: (notification, id) => {
      takeProgress(notification, id, request);
      takeLog(notification, request);
    },
    onRequest: ({ method }) => {
      link.log("upstream-request-ignored", { upstream: link.upstream, method });
    },
  });
  if (speaksOtherwise(reply)) stale();
  return toAnswer(reply, { upstream: link.upstream, method: request.method, hop: modernHop });
}

/** The message with the hop's own `_meta` (2026-07-28, basic, "_meta"): without client capabilities none is declared. */
export function writeModern(
  link: Pick<Link, "clientInfo">,
  id: string,
  request: Pick<UpstreamRequest, "method" | "params" | "onProgress" | "clientCapabilities" | "logLevel">,
  headers: readonly string[] = [],
): Written {
  const { method, params, clientCapabilities = {}, logLevel } = request;
  const own: JsonObject = {
    [protocolVersionMetaKey]: modernHop.revision,
    [clientInfoMetaKey]: link.clientInfo,
    [clientCapabilitiesMetaKey]: clientCapabilities,
    ...(logLevel === undefined ? {} : { [logLevelMetaKey]: logLevel }),
    ...progressMeta(id, request),
  };
  return {
    headers: [...standardHeaders, "mcp-method", method, ...headers],
    body: writeJson(requestMessage(id, method, withHopMeta(params, own))),
  };
}

/** `Mcp-Name` and `Mcp-Param-*`, made anew from what is sent. Refuses with SCHEMA_UNUSABLE. */
function requestHeaders({ name, inputSchema, params }: UpstreamRequest): Result<readonly string[]> {
  const named = name === undefined ? [] : ["mcp-name", encodeMcpName(name)];
  if (inputSchema === undefined) return ok(named);
  const plan = planOf(inputSchema);
  if (!plan.ok) return plan;
  if (plan.value.headers.length === 0) return ok(named);
  const args = readOwn(params, "arguments");
  return ok([...named, ...paramHeadersFor(plan.value, isJsonObject(args) ? args : {}).flat()]);
}

/** By the schema object itself: the catalog holds one per definition, and lets it go with the definition. */
const plans = new WeakMap<JsonObject, Result<ParamHeaderPlan>>();

function planOf(inputSchema: JsonObject): Result<ParamHeaderPlan> {
  const held = plans.get(inputSchema);
  if (held !== undefined) return held;
  const plan = paramHeaderPlan(inputSchema);
  plans.set(inputSchema, plan);
  return plan;
}

/** A 400, 404 or 405 that answers nobody, or −32022: what a server replaced by one of another era says. */
function speaksOtherwise(reply: Reply): boolean {
  if (reply.kind === "status") return [400, 404, 405].includes(reply.status);
  return reply.kind === "response" && "error" in reply.response && reply.response.error.code === -32022;
}
