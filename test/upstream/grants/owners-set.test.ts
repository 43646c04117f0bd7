import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../../src/model/records.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";
import type { Store } from "../../../src/store/store.ts";
import { ada, benchFor, bob, connect, provider, tokenOf, valueOf, type Bench } from "./bench.ts";
import type { Provider, ProviderWays } from "./provider.ts";

const dayMs = 86_400_000;

async function connected(ways: ProviderWays = {}): Promise<{ readonly at: Provider; readonly bench: Bench }> {
  const at = await provider(ways);
  const bench = benchFor(at.url);
  valueOf(await connect(bench));
  return { at, bench };
}

describe("a grant that is in use for longer than an idle one is kept", () => {
  it.each<[string, ProviderWays, stepMs: number]>([
    ["is renewed twice a day", { expiresIn: 3_600 }, dayMs / 2],
    ["is renewed every eighty days", { expiresIn: 3_600 }, 80 * dayMs],
    ["is never renewed and used daily", { expiresIn: undefined }, dayMs],
    ["is never renewed and used every eighty days", { expiresIn: undefined }, 80 * dayMs],
  ])("and that %s is its owner's to end, here and at the server", async (_name, ways, stepMs) => {
    const { at, bench } = await connected(ways);
    // Longer than which server the upstream was found with is known without use, too.
    const until = bench.clock.now + bench.options.limits.upstreamIssuerIdleMs + 2 * dayMs;
    while (bench.clock.now < until) {
      bench.clock.now += stepMs;
      expect(at.live).toContain(await tokenOf(bench));
    }
    expect(await bench.grants.pages.revokeAll(ada)).toEqual({ ended: 1, revokedAtProvider: 1 });
    expect(at.refreshTokens()).toBe(0);
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });
});

describe("a grant that is made while the one before is revoked", () => {
  /** Has the person connect again once, just before or just after this operation of the revocation. */
  function meeting(store: Store, operation: "take" | "removeMember", again: () => Promise<unknown>): Store[] {
    let left = 1;
    const once = async (): Promise<void> => {
      if (left-- > 0) await again();
    };
    const take = store.take.bind(store);
    const removeMember = store.removeMember.bind(store);
    const before: Partial<Store> = {
      take: async (key) => (operation === "take" && key[0] === "grant" && (await once()), take(key)),
      removeMember: async (...of) => (operation === "removeMember" && (await once()), removeMember(...of)),
    };
    const after: Partial<Store> = {
      take: async (key) => {
        const taken = await take(key);
        if (operation === "take" && key[0] === "grant") await once();
        return taken;
      },
      removeMember: async (...of) => {
        await removeMember(...of);
        if (operation === "removeMember") await once();
      },
    };
    return [
      { ...store, ...before },
      { ...store, ...after },
    ];
  }

  it.each([
    ["before the record goes", "take", 0, 0],
    ["after the record went", "take", 1, 1],
    ["before its name goes", "removeMember", 0, 1],
    ["after its name went", "removeMember", 1, 1],
  ] as const)("%s is known to its owner as long as it is there", async (_name, operation, when, left) => {
    const { at, bench } = await connected();
    const slow = meeting(bench.store, operation, async () => valueOf(await connect(bench)))[when];
    if (slow === undefined) throw new Error("no such moment");
    valueOf(await benchFor(at.url, { ...bench, store: slow }).grants.pages.revoke(ada, "up"));
    expect(at.live.has(await tokenOf(bench))).toBe(left === 1);
    expect(await bench.grants.pages.revokeAll(ada)).toMatchObject({ ended: left });
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it("is known also where its name was remembered before, and its record written after, that revocation", async () => {
    const { at, bench } = await connected();
    const set = bench.store.set.bind(bench.store);
    const revokedFirst: Store["set"] = async (key, ...rest) => {
      if (key[0] === "grant") valueOf(await bench.grants.pages.revoke(ada, "up"));
      await set(key, ...rest);
    };
    const slow = benchFor(at.url, { ...bench, store: { ...bench.store, set: revokedFirst } });
    valueOf(await connect(slow));
    expect(await bench.grants.pages.revokeAll(ada)).toMatchObject({ ended: 1 });
  });
});

it("a grant whose writer died right after writing it is known to its owner", async () => {
  const at = await provider();
  const bench = benchFor(at.url);
  const set = bench.store.set.bind(bench.store);
  const addMember = bench.store.addMember.bind(bench.store);
  let isDead = false;
  const dying: Pick<Store, "set" | "addMember"> = {
    set: async (key, ...rest) => {
      await set(key, ...rest);
      isDead ||= key[0] === "grant";
    },
    addMember: (...of) => (isDead ? Promise.reject(new StoreUnavailable("died")) : addMember(...of)),
  };
  await expect(connect(benchFor(at.url, { ...bench, store: { ...bench.store, ...dying } }))).rejects.toThrow("died");
  expect(at.live).toContain(await tokenOf(bench));
  expect(await bench.grants.pages.revokeAll(ada)).toMatchObject({ ended: 1 });
});

it("what is counted as ended is what there was to end: a name without a record is none", async () => {
  const clock = { now: 1_800_000_000_000 };
  const store = createMemoryStore({ now: () => clock.now });
  const at = await provider();
  const bench = benchFor(at.url, { clock, store: { ...store, removeMember: () => Promise.resolve() } });
  valueOf(await connect(bench));
  expect(await bench.grants.pages.revokeAll(ada)).toEqual({ ended: 1, revokedAtProvider: 1 });
  expect(await bench.grants.pages.revokeAll(ada)).toEqual({ ended: 0, revokedAtProvider: 0 });
  expect(await bench.grants.pages.revokeAll(bob)).toEqual({ ended: 0, revokedAtProvider: 0 });
});
