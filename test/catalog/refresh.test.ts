import { describe, expect, it } from "vitest";
import { createSnapshots } from "../../src/catalog/snapshots.ts";
import type { Snapshots } from "../../src/catalog/snapshots.ts";
import type { UpstreamCatalog } from "../../src/catalog/fetch-upstream.ts";
import { limits } from "../../src/model/limits.ts";
import { refuse } from "../../src/model/refusal.ts";
import { ok } from "../../src/model/result.ts";
import type { Result } from "../../src/model/result.ts";

interface Bench {
  readonly snapshots: Snapshots;
  /** Readings under way, each with what ends it. */
  readonly readings: ((answer: Result<UpstreamCatalog>) => void)[];
  readonly changes: boolean[];
}

function bench(catalogWaitMsMax = 20): Bench {
  const [readings, changes]: [Bench["readings"], boolean[]] = [[], []];
  const snapshots = createSnapshots({
    read: () => new Promise((resolve) => readings.push(resolve)),
    now: Date.now,
    bounds: { ...limits, catalogWaitMsMax },
    onReading: ({ changed }) => void changes.push(changed),
  });
  return { snapshots, readings, changes };
}

function offering(instructions: string): Result<UpstreamCatalog> {
  return ok({ self: { era: "modern", capabilities: {}, instructions }, items: [] });
}

async function known(of: Bench): Promise<void> {
  of.snapshots.current("a");
  of.readings.shift()?.(offering("old"));
  await of.snapshots.wait("a");
}

const saidBy = (snapshot: unknown): unknown =>
  (snapshot as { self?: { instructions?: string } } | undefined)?.self?.instructions;

describe("lists that are said to have changed", () => {
  it("are not served from what was known while they are read, and whoever asks waits for the new", async () => {
    const of = bench(60_000);
    await known(of);
    const refreshed = of.snapshots.refresh("a");
    await Promise.resolve();
    expect(of.snapshots.current("a")).toBeUndefined();
    const waiting = of.snapshots.wait("a");
    of.readings.shift()?.(offering("new"));
    expect(saidBy(await waiting)).toBe("new");
    await refreshed;
    expect(saidBy(of.snapshots.current("a"))).toBe("new");
  });

  it("are what they were for whoever cannot wait for a slow reading, and after a failed one", async () => {
    const of = bench();
    await known(of);
    const refreshed = of.snapshots.refresh("a");
    await Promise.resolve();
    expect(saidBy(await of.snapshots.wait("a"))).toBe("old");
    of.readings.shift()?.(refuse("UPSTREAM_UNREACHABLE"));
    await refreshed;
    expect(saidBy(of.snapshots.current("a"))).toBe("old");
  });

  it("are read once more when a reading was under way, and once for all who say so meanwhile", async () => {
    const of = bench();
    of.snapshots.current("a");
    const all = Promise.all([of.snapshots.refresh("a"), of.snapshots.refresh("a"), of.snapshots.refresh("a")]);
    of.readings.shift()?.(offering("old"));
    while (of.readings.length === 0) await Promise.resolve();
    of.readings.shift()?.(offering("new"));
    await all;
    expect([of.readings.length, of.changes]).toEqual([0, [true, true]]);
  });

  it("are not read in the pause after a failed reading, and a reading that finds the same is no change", async () => {
    const of = bench();
    await known(of);
    const same = of.snapshots.refresh("a");
    while (of.readings.length === 0) await Promise.resolve();
    of.readings.shift()?.(offering("old"));
    await same;
    const failing = of.snapshots.refresh("a");
    while (of.readings.length === 0) await Promise.resolve();
    of.readings.shift()?.(refuse("UPSTREAM_UNREACHABLE"));
    await failing;
    await of.snapshots.refresh("a");
    expect([of.readings.length, of.changes]).toEqual([0, [true, false, false]]);
  });
});
