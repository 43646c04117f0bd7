import { Counter, Gauge, Registry, collectDefaultMetrics } from "prom-client";
import { metricPrefix } from "../model/identifiers.ts";
import type { Outcome } from "../model/outcome.ts";
import { refusalCodes } from "../model/refusal.ts";
import type { RefusalCode } from "../model/refusal.ts";
import { bundleMetrics, type BundleMetrics } from "./bundle-metrics.ts";
import { lockMetrics, type LockMetrics } from "./lock-metrics.ts";
import { createDurations, createTally } from "./tally.ts";
import type { Durations, Tally } from "./tally.ts";

export interface MetricsOptions {
  /** Configured names. A label is one of these or `unknown`, so strangers cannot add series. */
  readonly servers: readonly string[];
  readonly upstreams: readonly string[];
  /** The journey's columns. */
  readonly columns: readonly string[];
  /** Event loop lag, memory, garbage collection and the like, as prom-client names them. */
  readonly processMetrics: boolean;
}

export interface RequestSample {
  readonly server: string;
  readonly column: string;
  readonly outcome: Outcome;
  /** Absent when nothing was refused: the label is `none` then. */
  readonly code: RefusalCode | undefined;
  readonly durationMs: number;
}

export interface UpstreamSample {
  readonly upstream: string;
  readonly outcome: Outcome;
  readonly durationMs: number;
}

/** Streams that are open on this replica. */
export interface OpenStreams {
  /** Of clients, by what opened them: a closed list of ours. */
  readonly clients: () => Readonly<Record<string, number>>;
  /** From upstreams, by upstream. */
  readonly upstreams: () => ReadonlyMap<string, number>;
}

export interface Metrics extends BundleMetrics, LockMetrics {
  request(sample: RequestSample): void;
  upstream(sample: UpstreamSample): void;
  /** An upstream is left alone because it fails, or no longer. */
  upstreamSuspended(name: string, suspended: boolean): void;
  /** Evidence that a sink lost. Sinks are few and named by us. */
  auditLost(sink: string, count: number): void;
  /** Read whenever metrics are asked for. */
  watchAuditDepth(read: () => number): void;
  /** Read whenever metrics are asked for. */
  watchStreams(read: OpenStreams): void;
  storeFailed(failure: string): void;
  /** A use that policy limited, by what kind of limit: a closed list of ours. */
  limited(sample: { readonly server: string; readonly kind: string }): void;
  /** The text that a scraper reads, and its content type. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** From a millisecond, which a refusal takes, to the five minutes that a call may. */
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Values a label may take when nothing but our own code names them. */
const openLabelValuesMax = 50;

const requestLabels = ["server", "column", "outcome", "code"] as const;
const upstreamLabels = ["upstream", "outcome"] as const;

/** Metrics in a registry of their own, so that two gateways in one process (tests) do not meet. */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (options.processMetrics) collectDefaultMetrics({ register: registry, prefix: metricPrefix });
  const server = closedLabel(options.servers);
  const column = closedLabel(options.columns);
  const upstream = closedLabel(options.upstreams);
  const code = closedLabel(refusalCodes);
  const [sinkName, failureName, kindName] = [openLabel(), openLabel(), openLabel()];

  const requests = tallied(registry, "requests_total", "Requests by what became of them.", requestLabels);
  const requestSeconds = durations("request_seconds", "Time from a request's arrival to its answer.", "server");
  const upstreamRequests = tallied(
    registry,
    "upstream_requests_total",
    "Exchanges with upstreams by outcome.",
    upstreamLabels,
  );
  const upstreamSeconds = durations("upstream_seconds", "Time an upstream took.", "upstream");
  const auditLost = counter("audit_lost_events_total", "Audit events that a sink did not take.", ["sink"]);
  const limited = counter("limited_total", "Uses that a limit of policy refused.", ["server", "kind"]);
  const storeFailures = counter("store_failures_total", "Failed store operations and connections.", ["failure"]);

  function counter<Name extends string>(name: string, help: string, labelNames: Name[]): Counter<Name> {
    return new Counter({ name: `${metricPrefix}${name}`, help, labelNames, registers });
  }
  function durations(name: string, help: string, label: string): Durations {
    return createDurations({ name: metricPrefix + name, help, label, bounds: secondsBuckets });
  }

  return {
    ...bundleMetrics(registry),
    ...lockMetrics(registry, options.upstreams, upstream),
    request: (sample) => {
      const name = server(sample.server);
      requests.add({
        server: name,
        column: column(sample.column),
        outcome: sample.outcome,
        code: sample.code === undefined ? "none" : code(sample.code),
      });
      if (!isStream(sample.column)) requestSeconds.observe(name, sample.durationMs);
    },
    upstream: (sample) => {
      const name = upstream(sample.upstream);
      upstreamRequests.add({ upstream: name, outcome: sample.outcome });
      upstreamSeconds.observe(name, sample.durationMs);
    },
    upstreamSuspended: suspensions(registry, options.upstreams),
    auditLost: (sink, count) => {
      auditLost.inc({ sink: sinkName(sink) }, count);
    },
    watchAuditDepth: (read) => {
      watchAuditDepth(registry, read);
    },
    watchStreams: (read) => {
      watchStreams(registry, read, upstream);
    },
    limited: (sample) => {
      limited.inc({ server: server(sample.server), kind: kindName(sample.kind) });
    },
    storeFailed: (failure) => {
      storeFailures.inc({ failure: failureName(failure) });
    },
    render: async () => ({
      contentType: registry.contentType,
      text: `${await registry.metrics()}\n${requestSeconds.render()}\n${upstreamSeconds.render()}`,
    }),
  };
}

/** Present for every upstream from the start, so that an alert sees the change. */
function suspensions(registry: Registry, upstreams: readonly string[]): Metrics["upstreamSuspended"] {
  const label = closedLabel(upstreams);
  const gauge = new Gauge({
    name: `${metricPrefix}upstream_suspended`,
    help: "1 while calls to an upstream that fails are refused at once.",
    labelNames: ["upstream"],
    registers: [registry],
  });
  for (const upstream of upstreams) gauge.set({ upstream }, 0);
  return (name, suspended) => {
    gauge.set({ upstream: label(name) }, suspended ? 1 : 0);
  };
}

function watchAuditDepth(registry: Registry, read: () => number): void {
  const name = `${metricPrefix}audit_queue_events`;
  registry.removeSingleMetric(name);
  const gauge = new Gauge({
    name,
    help: "Audit events that wait to be written.",
    registers: [registry],
    collect: () => {
      gauge.set(read());
    },
  });
}

function watchStreams(registry: Registry, read: OpenStreams, upstream: Label): void {
  const registers = [registry];
  const clients = new Gauge({
    ...{
      name: `${metricPrefix}client_streams`,
      help: "Streams that clients keep open.",
      labelNames: ["kind"],
      registers,
    },
    collect: () => {
      for (const [kind, count] of Object.entries(read.clients())) clients.set({ kind }, count);
    },
  });
  const upstreams = new Gauge({
    ...{ name: `${metricPrefix}upstream_streams`, help: "Streams of notifications from upstreams.", registers },
    labelNames: ["upstream"],
    collect: () => {
      for (const [name, count] of read.upstreams()) upstreams.set({ upstream: upstream(name) }, count);
    },
  });
}

/** A counter that is counted in a tally, and read from there whenever metrics are asked for. */
function tallied<Name extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Name[],
): Tally<Record<Name, string>> {
  const tally = createTally<Record<Name, string>>();
  const total = new Counter<Name>({
    name: `${metricPrefix}${name}`,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      total.reset();
      for (const [labels, count] of tally.entries()) total.inc(labels, count);
    },
  });
  return tally;
}

/** A stream lasts as long as its client likes: among calls its time says nothing. */
function isStream(column: string): boolean {
  return column.endsWith(" stream") || column.endsWith(" listen");
}

type Label = (value: string) => string;

function closedLabel(values: readonly string[]): Label {
  const known = new Set(values);
  return (value) => (known.has(value) ? value : "unknown");
}

/** For names from closed lists of rooms that this one does not import: bounded by number instead. */
function openLabel(): Label {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) return value;
    if (seen.size >= openLabelValuesMax) return "unknown";
    seen.add(value);
    return value;
  };
}
