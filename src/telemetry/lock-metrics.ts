import { Counter, Gauge, type Registry } from "prom-client";
import { metricPrefix } from "../model/identifiers.ts";

export interface LockMetrics {
  /** An upstream offers something under a definition that nobody approved. */
  catalogDrifted(upstream: string, mode: string): void;
  /** Items of the upstream that are withheld for it now. */
  catalogQuarantined(upstream: string, items: number): void;
  /** What became of a message to the webhook, in one of a few words of ours. */
  webhookPosted(outcome: string): void;
}

/** Gauges are present for every upstream from the start, so that an alert sees the change. */
export function lockMetrics(
  registry: Registry,
  upstreams: readonly string[],
  label: (upstream: string) => string,
): LockMetrics {
  const registers = [registry];
  const drifts = new Counter({
    name: `${metricPrefix}catalog_drifts_total`,
    help: "Definitions seen that the catalog lock does not approve, each once.",
    labelNames: ["upstream", "mode"],
    registers,
  });
  const quarantined = new Gauge({
    name: `${metricPrefix}catalog_quarantined_items`,
    help: "Items that are withheld as their definition is not approved, in the list that was looked at last.",
    labelNames: ["upstream"],
    registers,
  });
  const posts = new Counter({
    name: `${metricPrefix}webhook_posts_total`,
    help: "Messages to the catalog lock's webhook by what became of them.",
    labelNames: ["outcome"],
    registers,
  });
  for (const upstream of upstreams) quarantined.set({ upstream }, 0);
  return {
    catalogDrifted: (upstream, mode) => {
      drifts.inc({ upstream: label(upstream), mode });
    },
    catalogQuarantined: (upstream, items) => {
      quarantined.set({ upstream: label(upstream) }, items);
    },
    webhookPosted: (outcome) => {
      posts.inc({ outcome });
    },
  };
}
