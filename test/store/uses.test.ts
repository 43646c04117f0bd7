import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import type { RedisStore } from "../../src/store/redis.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { describeUsesContract, expectBounded, rates } from "./uses-contract.ts";

let redis: RedisUnderTest;
let opened: RedisStore[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()));
  opened = [];
});
afterAll(() => redis.stop());

async function ready(): Promise<RedisStore> {
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: 10_000 });
  opened.push(store);
  await store.ping();
  return store;
}

describeUsesContract("Redis store", () => ({
  open: ready,
  pass: (ms) => new Promise((resume) => setTimeout(resume, ms + 20)),
  shortMs: 400,
}));

describeUsesContract("memory store", () => {
  let now = 1_800_000_000_000;
  const store = createMemoryStore({ now: () => now });
  return {
    open: () => store,
    pass: (ms) => {
      now += ms;
      return Promise.resolve();
    },
    shortMs: 1_000,
  };
});

describe("a rate in the memory store", () => {
  const moments = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 60 });

  it("never lets more through than its burst and what comes back, in any stretch of time", async () => {
    await fc.assert(
      fc.asyncProperty(rates, moments, async (limit, pauses) => {
        let now = 1_800_000_000_000;
        const store = createMemoryStore({ now: () => now });
        const uses: { at: number; taken: boolean }[] = [];
        for (const pause of pauses) {
          now += pause;
          const { taken } = await store.takeUse("acme", [limit], { id: "a", lifeMs: 1 });
          uses.push({ at: now, taken });
        }
        expectBounded(uses, limit);
      }),
    );
  });

  it("lets a use through exactly after the wait that it named, and not a millisecond before", async () => {
    await fc.assert(
      fc.asyncProperty(rates, async (limit) => {
        let now = 1_800_000_000_000;
        const store = createMemoryStore({ now: () => now });
        const take = () => store.takeUse("acme", [limit], { id: "a", lifeMs: 1 });
        let refused = await take();
        while (refused.taken) refused = await take();
        now += refused.waitMs - 1;
        expect(await take()).toMatchObject({ taken: false });
        now += 1;
        expect(await take()).toEqual({ taken: true });
      }),
    );
  });

  it("gains nothing from a clock that goes back", async () => {
    let now = 1_800_000_000_000;
    const store = createMemoryStore({ now: () => now });
    const limit = { name: ["r"], kind: "rate", count: 1, perMs: 1_000, burst: 1 } as const;
    const take = () => store.takeUse("acme", [limit], { id: "a", lifeMs: 1 });
    expect(await take()).toEqual({ taken: true });
    now -= 10_000;
    expect(await take()).toMatchObject({ taken: false });
  });
});

describe("a quota", () => {
  it("begins anew at midnight UTC, and not before", async () => {
    let now = Date.UTC(2026, 10, 29, 23, 59, 59, 0);
    const store = createMemoryStore({ now: () => now });
    const take = () => store.takeUse("acme", [{ name: ["q"], kind: "quota", count: 1 }], { id: "a", lifeMs: 1 });
    expect(await take()).toEqual({ taken: true });
    expect(await take()).toEqual({ taken: false, at: 0, waitMs: 1_000 });
    now += 999;
    expect(await take()).toMatchObject({ taken: false, waitMs: 1 });
    now += 1;
    expect(await take()).toEqual({ taken: true });
  });
});

describe("a memory store that is full", () => {
  it("refuses a use whose counters have no room, and takes from none of them", async () => {
    const store = createMemoryStore({ now: () => 1_800_000_000_000, entriesMax: 2 });
    const known = { name: ["known"], kind: "quota", count: 2 } as const;
    const other = { name: ["other"], kind: "quota", count: 2 } as const;
    await store.takeUse("acme", [known], { id: "a", lifeMs: 1 });
    await store.takeUse("acme", [{ ...other, name: ["third"] }], { id: "a", lifeMs: 1 });
    await expect(store.takeUse("acme", [known, other], { id: "a", lifeMs: 1 })).rejects.toMatchObject({
      name: "StoreUnavailable",
    });
    expect(await store.takeUse("acme", [known], { id: "a", lifeMs: 1 })).toEqual({ taken: true });
  });
});

describe("a rate that two connections take from under load", () => {
  it("lets through what its burst and the time bring, to within 2 %, and never more", async () => {
    const stores = [await ready(), await ready()];
    const limit = { name: ["load", "0", "rate"], kind: "rate", count: 500, perMs: 1_000, burst: 500 } as const;
    const begun = Date.now();
    const [first] = stores;
    await first!.takeUse("load", [limit], { id: "a", lifeMs: 1 });
    const counted = Date.now();
    let allowed = 1;
    let last = counted;
    while (last - counted < 1_500) {
      const asked = stores.flatMap((store) =>
        Array.from({ length: 20 }, () => store.takeUse("load", [limit], { id: "a", lifeMs: 1 })),
      );
      last = Date.now();
      allowed += (await Promise.all(asked)).filter(({ taken }) => taken).length;
    }
    // The server took its times between these.
    const mostMs = Date.now() - begun;
    expect(allowed).toBeLessThanOrEqual(500 + (500 * (mostMs + 1)) / 1_000);
    expect(allowed).toBeGreaterThanOrEqual((500 + (500 * (last - counted)) / 1_000) * 0.98);
  });
});

describe("what Redis holds of limits", () => {
  const limits = [
    { name: ["r", "0", "rate"], kind: "rate", count: 10, perMs: 1_000, burst: 20 },
    { name: ["r", "1", "quota"], kind: "quota", count: 10 },
    { name: ["r", "2", "concurrency"], kind: "concurrency", count: 10 },
  ] as const;
  const keys = limits.map(({ name }) => `sallyport:{limit:kept}:${name.join(":")}`);
  const livesMs = async (key: string): Promise<number> => Number((await redis.command(`PTTL ${key}`)).slice(1));

  it("ends by itself: a bucket when it is full again, a quota with its day, leases with the last of them", async () => {
    const store = await ready();
    await store.takeUse("kept", limits, { id: "a", lifeMs: 5_000 });
    await store.takeUse("kept", limits, { id: "b", lifeMs: 3_000 });
    const [rate, quota, concurrency] = await Promise.all(keys.map(livesMs));
    expect(rate).toBeGreaterThan(0);
    expect(rate).toBeLessThanOrEqual(200);
    expect(quota).toBeGreaterThan(0);
    expect(quota).toBeLessThanOrEqual(86_400_000);
    expect(concurrency).toBeGreaterThan(3_000);
    expect(concurrency).toBeLessThanOrEqual(5_000);
  });

  it("never lives longer than the bound, whatever a rate says", async () => {
    const store = await ready();
    const slow = { name: ["r", "3", "rate"], kind: "rate", count: 1, perMs: 3_600_000, burst: 999_999_999 } as const;
    // A small bucket leaves little in it, so that the large one has long to fill.
    await store.takeUse("kept", [{ ...slow, burst: 2 }], { id: "a", lifeMs: 1 });
    expect(await store.takeUse("kept", [slow], { id: "a", lifeMs: 1 })).toEqual({ taken: true });
    const lifeMs = await livesMs("sallyport:{limit:kept}:r:3:rate");
    expect(lifeMs).toBeGreaterThan(86_400_000);
    expect(lifeMs).toBeLessThanOrEqual(34_560_000_000);
  });

  it("is a failure of the store where somebody else wrote something there", async () => {
    const store = await ready();
    await redis.command("SET sallyport:{limit:foreign}:x nonsense");
    for (const kind of ["quota", "concurrency"] as const)
      await expect(
        store.takeUse("foreign", [{ name: ["x"], kind, count: 5 }], { id: "a", lifeMs: 1 }),
      ).rejects.toMatchObject({ name: "StoreUnavailable" });
    const rate = { name: ["x"], kind: "rate", count: 1, perMs: 1_000, burst: 1 } as const;
    await expect(store.takeUse("foreign", [rate], { id: "a", lifeMs: 1 })).rejects.toMatchObject({
      name: "StoreUnavailable",
    });
  });
});
