import { randomBytes } from "node:crypto";
import type { Catalog } from "./catalog/catalog.ts";
import type { Config } from "./config/types.ts";
import { createClientStreams, type ClientStreams } from "./gateway/streams/client-streams.ts";
import { createListSignals } from "./gateway/streams/list-signals.ts";
import { listenFeeding, sessionFeeding } from "./gateway/streams/stream-feeds.ts";
import { createUsedUpstreams } from "./gateway/streams/used-upstreams.ts";
import type { Courier } from "./model/courier.ts";
import type { Store } from "./store/store.ts";
import type { Metrics } from "./telemetry/metrics.ts";
import type { Upstreams } from "./upstream/port.ts";

/** The streams that clients keep open on this replica, joined to store, courier, catalog and upstreams. */
export function openClientStreams(of: {
  readonly config: Config;
  readonly store: Store;
  readonly courier: Courier;
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly metrics: Metrics;
}): ClientStreams {
  const { config, store, courier, catalog, upstreams, metrics } = of;
  const { limits } = config;
  const used = createUsedUpstreams({ records: store, now: Date.now, bounds: limits });
  const signals = createListSignals({ catalog, upstreams, courier, now: Date.now, bounds: limits });
  const streams = createClientStreams({
    records: store,
    courier,
    randomId: () => randomBytes(16).toString("base64url"),
    bounds: limits,
    used,
    feedSession: sessionFeeding(signals, used),
    feedListen: (listen) => listenFeeding(signals, listen),
    onLists: (upstream) => {
      signals.heard(upstream);
    },
  });
  metrics.watchStreams({ clients: () => streams.count(), upstreams: () => upstreams.openStreams() });
  return streams;
}
