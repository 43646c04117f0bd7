import { randomBytes } from "node:crypto";
import { upstreamOptions, type OpenCredentials } from "./compose-credentials.ts";
import type { Config } from "./config/types.ts";
import { version } from "./model/version.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import { createUpstreams } from "./upstream/create.ts";
import type { Upstreams } from "./upstream/port.ts";

/** What the gateway says of itself, to clients and upstreams alike. */
export const info: { readonly name: string; readonly version: string } = { name: "sallyport", version };

export function openUpstreams(of: {
  config: Config;
  log: Log;
  metrics: Metrics;
  store: Store;
  credentials: OpenCredentials;
}): Upstreams {
  return createUpstreams({
    upstreams: upstreamOptions(of.config, of.credentials),
    records: of.store,
    now: Date.now,
    randomId: () => randomBytes(16).toString("hex"),
    gatewayInfo: info,
    limits: of.config.limits,
    log: (_event, facts) => {
      of.log.info("upstream.noted", { what: _event, ...flat(facts) });
    },
    onSuspended: (upstream, suspended) => {
      of.metrics.upstreamSuspended(upstream, suspended);
    },
    observe: ({ upstream, outcome, durationMs }) => {
      const came = outcome === "result" ? "returned" : outcome === "error" ? "failed" : outcome;
      of.metrics.upstream({ upstream, outcome: came, durationMs });
    },
  });
}

/** Log facts are flat; anything else an upstream room reports is left out rather than printed. */
function flat(facts: Readonly<Record<string, unknown>>): Record<string, string | number | boolean> {
  const kept: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(facts))
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") kept[name] = value;
  return kept;
}
