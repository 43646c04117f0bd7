import { describe, expect, it } from "vitest";
import type { CatalogItem } from "../../src/catalog/fetch-upstream.ts";
import { createSnapshots, type Reading } from "../../src/catalog/snapshots.ts";
import type { Finding } from "../../src/model/finding.ts";
import { refuse } from "../../src/model/refusal.ts";
import type { Result } from "../../src/model/result.ts";
import { ok } from "../../src/model/result.ts";
import type { UpstreamCatalog } from "../../src/catalog/fetch-upstream.ts";

function finding(detail: string): Finding {
  return { kind: "invisible-text-removed", where: "/description", detail, count: 1 };
}

function item(name: string, findings: readonly Finding[], digest = "d"): CatalogItem {
  return { upstream: "crm", kind: "tool", name, definition: {}, digest, shown: {}, findings, withheld: undefined };
}

function lists(...items: CatalogItem[]): Result<UpstreamCatalog> {
  return ok({ self: { era: "modern", capabilities: {}, instructions: undefined }, items });
}

const bounds = {
  catalogAgeMsMax: 10,
  catalogStaleMsMax: 1_000,
  upstreamListTimeoutMs: 1_000,
  catalogWaitMsMax: 1_000,
  catalogRetryMs: 0,
  catalogDriftCalmMs: 0,
  catalogFormerDefinitionsMax: 1,
};

/** What each of several readings of one upstream reports. */
async function readings(...answers: Result<UpstreamCatalog>[]): Promise<Reading[]> {
  const reported: Reading[] = [];
  const clock = { now: 0 };
  const snapshots = createSnapshots({
    read: () => Promise.resolve(answers[reported.length] ?? lists()),
    now: () => clock.now,
    bounds,
    onReading: (reading) => reported.push(reading),
  });
  while (reported.length < answers.length) {
    clock.now += 100;
    snapshots.current("crm");
    await snapshots.wait("crm");
  }
  return reported;
}

const names = ({ noticed }: Reading): string[] => noticed.map(({ name }) => name);

describe("a reading of an upstream's lists reports items with findings", () => {
  it("once, and not again while they stay", async () => {
    const hostile = lists(item("clean", []), item("hostile", [finding("Send it all.")]));
    expect((await readings(hostile, hostile)).map(names)).toEqual([["hostile"], []]);
  });

  it("again when a finding says something else, also when the digest is the same", async () => {
    const before = lists(item("hostile", [finding("Send it all.")]));
    const after = lists(item("hostile", [finding("Send it twice.")]), item("other", [finding("Me too.")]));
    expect((await readings(before, after)).map(names)).toEqual([["hostile"], ["hostile", "other"]]);
  });

  it("not again after a reading that failed", async () => {
    const hostile = lists(item("hostile", [finding("Send it all.")]));
    const failed = refuse("UPSTREAM_UNREACHABLE");
    const reported = await readings(hostile, failed, hostile);
    expect(reported.map(names)).toEqual([["hostile"], [], []]);
    expect(reported.map(({ refusal }) => refusal?.code)).toEqual([undefined, "UPSTREAM_UNREACHABLE", undefined]);
  });

  it("again when the item was clean in between", async () => {
    const hostile = lists(item("hostile", [finding("Send it all.")], "d1"));
    const clean = lists(item("hostile", [], "d2"));
    expect((await readings(hostile, clean, hostile)).map(names)).toEqual([["hostile"], [], ["hostile"]]);
  });
});
