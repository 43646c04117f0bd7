import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { chooseCredential } from "./credentials/choose-credential.ts";
import type { Link } from "./link.ts";
import type { UpstreamOptions, UpstreamTimeouts } from "./options.ts";
import { createPools } from "./pools.ts";

export interface LinkOptions {
  readonly name: string;
  readonly upstream: UpstreamOptions;
  readonly limits: Limits;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Link["log"];
  readonly nextId: () => string;
  readonly clientInfo: JsonObject;
}

/** Fills in defaults and makes the connections' pools. Throws for a URL that is not HTTP or holds credentials. */
export function createLink({ name, upstream, limits, now, random, log, nextId, clientInfo }: LinkOptions): Link {
  const url = endpoint(name, upstream.url);
  const addresses = upstream.addresses ?? "public";
  const timeouts = timeoutsOf(upstream, limits);
  const pools = createPools({
    origin: url.origin,
    addresses,
    tls: upstream.tls,
    connectTimeoutMs: timeouts.connectMs,
    idleConnectionMs: limits.upstreamIdleConnectionMs,
    headerBytesMax: limits.headerBytesMax,
    calls: {
      connectionsMax: upstream.connectionsMax ?? limits.upstreamConnectionsMax,
      queueMax: upstream.queueMax ?? limits.upstreamQueueMax,
    },
    control: { connectionsMax: limits.upstreamControlConnectionsMax, queueMax: limits.upstreamQueueMax },
    recovery: { connectionsMax: limits.upstreamRecoveryConnectionsMax, queueMax: limits.upstreamQueueMax },
    streams: {
      connectionsMax: limits.upstreamStreamsMax,
      connectionsPerPrincipalMax: limits.upstreamStreamsPerPrincipalMax,
      gatewayConnectionsMax: limits.upstreamOwnStreamsMax,
      queueMax: limits.upstreamQueueMax,
    },
  });
  return {
    upstream: name,
    path: url.pathname + url.search,
    pools,
    credential: chooseCredential(upstream.credential ?? { type: "none" }, {
      ...{ now, limits, addresses },
      ca: upstream.tls?.ca,
    }),
    timeouts,
    bounds: {
      answerBytesMax: limits.upstreamAnswerBytesMax,
      eventBytesMax: limits.upstreamEventBytesMax,
      eventsMax: limits.upstreamEventsPerExchangeMax,
      batchElementsMax: limits.batchElementsMax,
      firstByteMs: timeouts.firstByteMs,
      idleMs: timeouts.idleMs,
      lingerMs: limits.upstreamStreamLingerMs,
      lingerMsMin: limits.upstreamStreamLingerMsMin,
    },
    limits,
    clientInfo,
    nextId,
    now,
    random,
    log,
  };
}

function endpoint(name: string, text: string): URL {
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new Error(`upstream ${name}: its URL is not HTTP`);
  if (url.username !== "" || url.password !== "") throw new Error(`upstream ${name}: its URL holds credentials`);
  return url;
}

function timeoutsOf({ timeouts = {} }: UpstreamOptions, limits: Limits): UpstreamTimeouts {
  return {
    connectMs: timeouts.connectMs ?? limits.upstreamConnectTimeoutMs,
    firstByteMs: timeouts.firstByteMs ?? limits.upstreamFirstByteTimeoutMs,
    idleMs: timeouts.idleMs ?? limits.upstreamIdleTimeoutMs,
    callMs: timeouts.callMs ?? limits.upstreamCallTimeoutMs,
    probeMs: timeouts.probeMs ?? limits.upstreamProbeTimeoutMs,
  };
}
