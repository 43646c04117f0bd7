import { describe, expect, it } from "vitest";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import type { Metrics, RequestSample } from "../../src/telemetry/metrics.ts";

function metrics(processMetrics = false): Metrics {
  return createMetrics({ servers: ["support"], upstreams: ["crm"], columns: ["call", "initialize"], processMetrics });
}

const sample: RequestSample = {
  server: "support",
  column: "call",
  outcome: "returned",
  code: undefined,
  durationMs: 12,
};

/** Samples by name and labels, without help and type lines. */
async function samplesOf(from: Metrics): Promise<string[]> {
  const { text } = await from.render();
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

describe("metrics", () => {
  it("count requests by server, column, outcome and code, and time them", async () => {
    const ours = metrics();
    ours.request(sample);
    ours.request(sample);
    ours.request({ ...sample, outcome: "refused", code: "POLICY_DENIED", durationMs: 1_500 });
    const lines = await samplesOf(ours);
    expect(lines).toContain(
      'sallyport_requests_total{server="support",column="call",outcome="returned",code="none"} 2',
    );
    expect(lines).toContain(
      'sallyport_requests_total{server="support",column="call",outcome="refused",code="POLICY_DENIED"} 1',
    );
    expect(lines).toContain('sallyport_request_seconds_bucket{le="0.01",server="support"} 0');
    expect(lines).toContain('sallyport_request_seconds_bucket{le="0.025",server="support"} 2');
    expect(lines).toContain('sallyport_request_seconds_sum{server="support"} 1.524');
  });

  it("put a duration into the bucket whose bound it equals, and into every larger one, each scrape anew", async () => {
    const ours = metrics();
    for (const durationMs of [1, 1.001, 300_000, 300_001]) ours.request({ ...sample, durationMs });
    for (let scrape = 0; scrape < 2; scrape += 1) {
      const lines = await samplesOf(ours);
      const buckets = lines.filter((line) => line.includes("request_seconds_bucket") && line.includes("support"));
      expect(buckets.map((line) => line.split(" ")[1])).toEqual(["1", ...Array<string>(14).fill("2"), "3", "4"]);
      expect(buckets.at(-1)).toContain('le="+Inf"');
      expect(lines).toContain('sallyport_request_seconds_count{server="support"} 4');
      expect(lines.filter((line) => line.startsWith("sallyport_requests_total"))).toEqual([
        'sallyport_requests_total{server="support",column="call",outcome="returned",code="none"} 4',
      ]);
    }
  });

  it("count exchanges with upstreams, lost evidence and store failures, and read the queue when asked", async () => {
    const ours = metrics();
    let depth = 3;
    ours.watchAuditDepth(() => depth);
    ours.upstream({ upstream: "crm", outcome: "unknown", durationMs: 100 });
    ours.auditLost("file", 7);
    ours.storeFailed("timed-out");
    expect(await samplesOf(ours)).toEqual(
      expect.arrayContaining([
        'sallyport_upstream_requests_total{upstream="crm",outcome="unknown"} 1',
        'sallyport_upstream_seconds_count{upstream="crm"} 1',
        'sallyport_audit_lost_events_total{sink="file"} 7',
        'sallyport_store_failures_total{failure="timed-out"} 1',
        "sallyport_audit_queue_events 3",
      ]),
    );
    depth = 0;
    expect(await samplesOf(ours)).toContain("sallyport_audit_queue_events 0");
  });

  it("read the streams that are open when asked, by kind and by upstream", async () => {
    const ours = metrics();
    let open = 2;
    ours.watchStreams({
      clients: () => ({ session: open, listen: 1 }),
      upstreams: () => new Map([["crm", open]]),
    });
    const streams = async (): Promise<string[]> => (await samplesOf(ours)).filter((line) => line.includes("_streams"));
    const found = (count: number): string[] => [
      `sallyport_client_streams{kind="session"} ${count}`,
      'sallyport_client_streams{kind="listen"} 1',
      `sallyport_upstream_streams{upstream="crm"} ${count}`,
    ];
    expect(await streams()).toEqual(found(2));
    open = 0;
    expect(await streams()).toEqual(found(0));
  });

  it("make no series of names that configuration does not know", async () => {
    const ours = metrics();
    for (let n = 0; n < 1_000; n += 1) {
      ours.request({ ...sample, server: `guess-${n}`, column: `guess-${n}` });
      ours.upstream({ upstream: `guess-${n}`, outcome: "failed", durationMs: 1 });
      ours.storeFailed(`guess-${n}`);
      ours.auditLost(`guess-${n}`, 1);
    }
    const lines = await samplesOf(ours);
    expect(lines).toContain(
      'sallyport_requests_total{server="unknown",column="unknown",outcome="returned",code="none"} 1000',
    );
    expect(lines.filter((line) => line.includes("requests_total"))).toHaveLength(2);
    expect(lines.filter((line) => line.includes("store_failures"))).toHaveLength(51);
    expect(lines.filter((line) => line.includes("audit_lost"))).toHaveLength(51);
  });

  it("of two gateways in one process do not meet, and the process's own are added on demand", async () => {
    const [one, other] = [metrics(), metrics(true)];
    one.request(sample);
    expect((await samplesOf(other)).some((line) => line.startsWith("sallyport_requests_total{"))).toBe(false);
    expect((await other.render()).text).toContain("sallyport_nodejs_eventloop_lag_seconds");
    expect((await one.render()).text).not.toContain("eventloop");
    expect((await one.render()).contentType).toContain("text/plain");
  });
});
