import { describe, expect, it } from "vitest";
import { StoreUnavailable, type UseLimit } from "../../src/model/records.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { describeStoreContract } from "./contract.ts";

describeStoreContract("memory store", () => {
  let now = 1_000_000;
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

describe("getNow", () => {
  it("reads what get reads, until the record expires or the store is closed", async () => {
    let now = 0;
    const store = createMemoryStore({ now: () => now });
    const key = ["denied-token", "acme", "a"] as const;
    expect(store.getNow?.(key)).toBeUndefined();
    await store.set(key, "1", 10);
    now = 9;
    expect([store.getNow?.(key), await store.get(key)]).toEqual(["1", "1"]);
    now = 10;
    expect([store.getNow?.(key), await store.get(key)]).toEqual([undefined, undefined]);
    await store.close();
    expect(() => store.getNow?.(key)).toThrow(StoreUnavailable);
  });
});

describe("a memory store that is full", () => {
  function fullStore(): { store: ReturnType<typeof createMemoryStore>; pass: (ms: number) => void } {
    let now = 0;
    const store = createMemoryStore({ now: () => now, entriesMax: 3 });
    return {
      store,
      pass: (ms) => {
        now += ms;
      },
    };
  }

  it("refuses new records and forgets none", async () => {
    const { store } = fullStore();
    for (const id of ["a", "b", "c"]) await store.set(["denied-token", "acme", id], id, 10_000);
    await expect(store.set(["session", "acme", "d"], "d", 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(store.setIfAbsent(["session", "acme", "d"], "d", 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(store.increment(["counter", "acme", "d"], 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(store.addMember(["session-set", "acme", "d"], "m", 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
    for (const id of ["a", "b", "c"]) expect(await store.get(["denied-token", "acme", id])).toBe(id);
  });

  it("has room again for as many as were taken out of a set", async () => {
    const { store } = fullStore();
    const key = ["session-set", "acme", "d"] as const;
    for (const member of ["a", "b", "c"]) await store.addMember(key, member, 10_000);
    await store.takeExcess(key, { keepMax: 1, takeMax: 9 });
    for (const id of ["d", "e"]) await store.set(["session", "acme", id], id, 10_000);
    await expect(store.set(["session", "acme", "f"], "f", 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
  });

  it("still overwrites, touches and removes", async () => {
    const { store } = fullStore();
    for (const id of ["a", "b", "c"]) await store.set(["session", "acme", id], id, 10_000);
    await store.set(["session", "acme", "a"], "new", 10_000);
    expect(await store.touch(["session", "acme", "b"], 20_000)).toBe(true);
    expect(await store.delete(["session", "acme", "c"])).toBe(true);
    await store.set(["session", "acme", "d"], "d", 10_000);
    expect(await store.get(["session", "acme", "a"])).toBe("new");
  });

  it("counts the members of sets, and a member only once", async () => {
    const { store } = fullStore();
    await store.addMember(["session-set", "acme", "p"], "1", 10_000);
    await store.addMember(["session-set", "acme", "p"], "2", 10_000);
    await store.set(["session", "acme", "a"], "a", 10_000);
    await expect(store.addMember(["session-set", "acme", "p"], "3", 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await store.addMember(["session-set", "acme", "p"], "2", 10_000)).toBe(2);
    await store.removeMember(["session-set", "acme", "p"], "1");
    expect(await store.addMember(["session-set", "acme", "p"], "3", 10_000)).toBe(2);
  });

  it("takes new records as soon as old ones have expired", async () => {
    const { store, pass } = fullStore();
    await store.addMember(["session-set", "acme", "p"], "1", 1_000);
    await store.set(["session", "acme", "a"], "a", 1_000);
    await store.set(["session", "acme", "b"], "b", 1_000);
    await expect(store.set(["session", "acme", "c"], "c", 1_000)).rejects.toBeInstanceOf(StoreUnavailable);
    pass(1_000);
    for (const id of ["c", "d", "e"]) await store.set(["session", "acme", id], id, 1_000);
    await expect(store.set(["session", "acme", "f"], "f", 1_000)).rejects.toBeInstanceOf(StoreUnavailable);
  });
});

describe("a memory store whose counters are full", () => {
  const quota = (name: string): UseLimit => ({ name: ["rule", "0", name], kind: "quota", count: 1 });
  const lease = { id: "a", lifeMs: 1_000 };

  it("takes records as before, and no new counters", async () => {
    const store = createMemoryStore({ now: () => 0, entriesMax: 3 });
    for (const name of ["a", "b", "c"])
      expect(await store.takeUse("acme", [quota(name)], lease)).toEqual({ taken: true });
    await expect(store.takeUse("acme", [quota("d")], lease)).rejects.toBeInstanceOf(StoreUnavailable);
    for (const id of ["a", "b", "c"]) await store.set(["session", "acme", id], id, 10_000);
    await expect(store.set(["session", "acme", "d"], "d", 10_000)).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await store.takeUse("acme", [quota("a")], lease)).toMatchObject({ taken: false });
  });
});

describe("a memory store over time", () => {
  it("lets go of abandoned records without anybody reading them", async () => {
    let now = 0;
    const store = createMemoryStore({ now: () => now, entriesMax: 1_000 });
    // Far more records than fit, each abandoned; they leave by the sweep that writes do.
    for (let id = 0; id < 20_000; id += 1) {
      await store.set(["session", "acme", String(id)], "v", 100);
      now += 1;
    }
    expect(await store.get(["session", "acme", "19999"])).toBe("v");
    expect(await store.get(["session", "acme", "19000"])).toBeUndefined();
  });
});
