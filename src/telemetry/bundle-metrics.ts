import { Counter, Gauge, type Registry } from "prom-client";
import { metricPrefix } from "../model/identifiers.ts";

/** What is in force at this replica. */
export interface BundleInForce {
  readonly digests: { readonly configuration: string; readonly policy: string; readonly lock: string };
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly stale: boolean;
}

export interface BundleMetrics {
  /** Policies and lock were read; what came of it is one of a few words of ours. */
  bundleRead(outcome: string): void;
  /** What became of a decision under the policies that are tried out. */
  shadowed(change: string): void;
  /** Read whenever metrics are asked for. */
  watchBundle(read: () => BundleInForce): void;
}

export function bundleMetrics(registry: Registry): BundleMetrics {
  const reads = new Counter({
    name: `${metricPrefix}bundle_reads_total`,
    help: "Readings of policies and lock by what came of them.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  const shadow = new Counter({
    name: `${metricPrefix}shadow_decisions_total`,
    help: "Decisions by what policies that are tried out would make of them.",
    labelNames: ["change"],
    registers: [registry],
  });
  return {
    shadowed: (change) => {
      shadow.inc({ change });
    },
    bundleRead: (outcome) => {
      reads.inc({ outcome });
    },
    watchBundle: (read) => {
      watchDigests(registry, read);
      watchAge(registry, read);
    },
  };
}

/** One series says what is in force, so that replicas which differ show. */
function watchDigests(registry: Registry, read: () => BundleInForce): void {
  const labelNames = ["configuration", "policy", "lock"] as const;
  const inForce = new Gauge<(typeof labelNames)[number]>({
    name: `${metricPrefix}bundle_info`,
    help: "What is in force, by its digests.",
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      inForce.reset();
      inForce.set({ ...read().digests }, 1);
    },
  });
}

function watchAge(registry: Registry, read: () => BundleInForce): void {
  const registers = [registry];
  const since = new Gauge({
    name: `${metricPrefix}bundle_since_seconds`,
    help: "Unix time since when that is in force.",
    registers,
    collect: () => {
      since.set(read().since / 1_000);
    },
  });
  const stale = new Gauge({
    name: `${metricPrefix}bundle_stale`,
    help: "1 while the files are broken and something older serves.",
    registers,
    collect: () => {
      stale.set(read().stale ? 1 : 0);
    },
  });
}
