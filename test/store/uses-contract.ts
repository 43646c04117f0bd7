import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { UseLimit, UseTaken } from "../../src/model/records.ts";
import type { StoreUnderTest } from "./contract.ts";

const lease = (id: string, lifeMs = 600_000): { id: string; lifeMs: number } => ({ id, lifeMs });
const taken: UseTaken = { taken: true };
let serial = 0;

/** A counter that no other test uses. */
function freshName(): string[] {
  serial += 1;
  return ["rule", "0", `${process.pid}-${serial}`];
}

const rate = (count: number, burst = count, perMs = 3_600_000): UseLimit & { kind: "rate" } => ({
  name: freshName(),
  kind: "rate",
  count,
  perMs,
  burst,
});
const quota = (count: number): UseLimit => ({ name: freshName(), kind: "quota", count });
const concurrency = (count: number): UseLimit => ({ name: freshName(), kind: "concurrency", count });

const kinds: readonly (readonly [string, (count: number) => UseLimit])[] = [
  ["rate", (count) => rate(1, count)],
  ["quota", quota],
  ["concurrency", concurrency],
];

/** The laws of limits that every store keeps. */
export function describeUsesContract(name: string, start: () => StoreUnderTest): void {
  describe(`${name}: limits`, () => {
    it.each(kinds)("%s: so many uses are taken, and not one more", async (_kind, make) => {
      const store = await start().open();
      const limit = make(3);
      for (const id of ["a", "b", "c"]) expect(await store.takeUse("acme", [limit], lease(id))).toEqual(taken);
      expect(await store.takeUse("acme", [limit], lease("d"))).toMatchObject({ taken: false, at: 0 });
    });

    it.each(kinds)("%s: of many callers on two connections, so many take one", async (_kind, make) => {
      const { open } = start();
      const stores = [await open(), await open()];
      const limit = make(10);
      const all = await Promise.all(
        Array.from({ length: 40 }, (_, n) => stores[n % 2]!.takeUse("acme", [limit], lease(String(n)))),
      );
      expect(all.filter((one) => one.taken)).toHaveLength(10);
    });

    it.each(kinds)("%s: a use that another limit refuses takes nothing from it", async (_kind, make) => {
      const store = await start().open();
      const [free, full] = [make(1), quota(1)];
      await store.takeUse("acme", [full], lease("x"));
      for (const order of [
        [free, full],
        [full, free],
      ])
        expect(await store.takeUse("acme", order, lease("a"))).toMatchObject({ taken: false, at: order.indexOf(full) });
      expect(await store.takeUse("acme", [free], lease("b"))).toEqual(taken);
    });

    it.each(kinds)("%s: tenants and names are counted apart", async (_kind, make) => {
      const store = await start().open();
      const limit = make(1);
      expect(await store.takeUse("acme", [limit], lease("a"))).toEqual(taken);
      expect(await store.takeUse("other", [limit], lease("b"))).toEqual(taken);
      expect(await store.takeUse("acme", [{ ...limit, name: freshName() }], lease("c"))).toEqual(taken);
      expect(await store.takeUse("acme", [limit], lease("d"))).toMatchObject({ taken: false });
    });

    it("the limit is named whose next use is farthest off", async () => {
      const store = await start().open();
      const limits = [concurrency(1), rate(3_600, 1), quota(1)];
      await store.takeUse("acme", limits, lease("a"));
      expect(await store.takeUse("acme", limits, lease("b"))).toMatchObject({ taken: false, at: 2 });
      expect(await store.takeUse("acme", limits.slice(0, 2), lease("b"))).toMatchObject({ taken: false, at: 1 });
      expect(await store.takeUse("acme", limits.slice(0, 1), lease("b"))).toEqual({ taken: false, at: 0, waitMs: 0 });
    });

    it("a rate says how long to wait, and lets a use through after that", async () => {
      const { open, pass } = start();
      const store = await open();
      const limit = rate(4, 2, 1_000);
      await store.takeUse("acme", [limit], lease("a"));
      await store.takeUse("acme", [limit], lease("b"));
      const refused = await store.takeUse("acme", [limit], lease("c"));
      const waitMs = refused.taken ? 0 : refused.waitMs;
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(250);
      await pass(waitMs);
      expect(await store.takeUse("acme", [limit], lease("d"))).toEqual(taken);
    });

    it("a quota says how long the day lasts", async () => {
      const store = await start().open();
      const limit = quota(1);
      await store.takeUse("acme", [limit], lease("a"));
      const refused = await store.takeUse("acme", [limit], lease("b"));
      expect(refused.taken ? 0 : refused.waitMs).toBeGreaterThan(0);
      expect(refused.taken ? 0 : refused.waitMs).toBeLessThanOrEqual(86_400_000);
    });

    it("a larger number goes on from what is used up", async () => {
      const store = await start().open();
      for (const make of [quota, concurrency]) {
        const limit = make(2);
        for (const id of ["a", "b", "c"]) await store.takeUse("acme", [limit], lease(id));
        const raised = { ...limit, count: 3 };
        expect(await store.takeUse("acme", [raised], lease("d"))).toEqual(taken);
        expect(await store.takeUse("acme", [raised], lease("e"))).toMatchObject({ taken: false });
      }
    });

    it("a lease ends with its use, or with its life, and lives longer when it is kept", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const limit = concurrency(2);
      const names = [limit.name];
      await store.takeUse("acme", [limit], lease("brief", shortMs));
      await store.takeUse("acme", [limit], lease("kept", shortMs));
      await store.keepLease("acme", names, lease("kept"));
      expect(await store.takeUse("acme", [limit], lease("c"))).toMatchObject({ taken: false });
      await pass(shortMs);
      expect(await store.takeUse("acme", [limit], lease("d"))).toEqual(taken);
      expect(await store.takeUse("acme", [limit], lease("e"))).toMatchObject({ taken: false });
      await store.endLease("acme", names, "kept");
      await store.endLease("acme", names, "nobody");
      expect(await store.takeUse("acme", [limit], lease("f"))).toEqual(taken);
      expect(await store.takeUse("acme", [limit], lease("g"))).toMatchObject({ taken: false });
    });

    it("a lease that the store has lost counts again once it is kept", async () => {
      const store = await start().open();
      const limit = concurrency(1);
      await store.keepLease("acme", [limit.name], lease("lost"));
      expect(await store.takeUse("acme", [limit], lease("a"))).toMatchObject({ taken: false });
    });

    it("the largest rate that a policy may name is counted exactly", async () => {
      const store = await start().open();
      const limit = rate(1, 999_999_999, 3_600_000);
      expect(await store.takeUse("acme", [limit], lease("a"))).toEqual(taken);
      expect(await store.takeUse("acme", [{ ...limit, burst: 1 }], lease("b"))).toEqual(taken);
      expect(await store.takeUse("acme", [{ ...limit, burst: 1 }], lease("c"))).toMatchObject({ taken: false });
    });

    it("after close nothing is taken", async () => {
      const store = await start().open();
      await store.close();
      const failure = { name: "StoreUnavailable" };
      await expect(store.takeUse("acme", [quota(1)], lease("a"))).rejects.toMatchObject(failure);
      await expect(store.endLease("acme", [freshName()], "a")).rejects.toMatchObject(failure);
    });
  });
}

/** Uses at moments: how many a rate lets through in any stretch of time is bounded by its burst and what comes back. */
export function expectBounded(
  uses: readonly { at: number; taken: boolean }[],
  limit: UseLimit & { kind: "rate" },
): void {
  const moments = uses.filter(({ taken }) => taken).map(({ at }) => at);
  for (let first = 0; first < moments.length; first += 1) {
    for (let last = first; last < moments.length; last += 1) {
      const elapsedMs = moments[last]! - moments[first]!;
      const allowed = Math.floor(limit.burst + (limit.count * elapsedMs) / limit.perMs);
      expect(last - first + 1).toBeLessThanOrEqual(allowed);
    }
  }
}

export const rates: fc.Arbitrary<UseLimit & { kind: "rate" }> = fc
  .record({
    count: fc.integer({ min: 1, max: 50 }),
    perMs: fc.constantFrom(1_000, 60_000, 3_600_000),
    burst: fc.integer({ min: 1, max: 20 }),
  })
  .map((numbers) => ({ name: freshName(), kind: "rate", ...numbers }));
