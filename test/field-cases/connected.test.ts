import { describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../src/model/records.ts";
import type { RecordKey } from "../../src/model/records.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import { createBrowser } from "../authserver/browser.ts";
import { createFakeProvider, createTestSealer } from "../authserver/fake-provider.ts";
import { authorizationUrl, registerPublic, startHarness } from "../authserver/harness.ts";
import { createMemoryRecords } from "../authserver/memory-records.ts";
import { ada, approve, asAda, benchFor, provider, redirectUri, tokenOf, valueOf } from "../upstream/grants/bench.ts";
import type { Bench } from "../upstream/grants/bench.ts";

/** A store that takes its time over each write, of which `writing` is one. */
function withWrites(store: Store, writing: (key: RecordKey) => Promise<void>): Store {
  return {
    ...store,
    set: async (key, value, ttlMs) => {
      await writing(key);
      await store.set(key, value, ttlMs);
    },
    addMember: async (key, member, ttlMs) => {
      await writing(key);
      return store.addMember(key, member, ttlMs);
    },
  };
}

/** Ada agrees at the provider, and her browser comes back. */
async function comeBack(bench: Bench): Promise<() => Promise<unknown>> {
  const { url, attempt } = valueOf(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
  const params = await approve(url);
  return async () => valueOf(await bench.grants.pages.finish({ person: ada, attempt, params }));
}

describe("somebody who is told that an upstream is connected", () => {
  it("has its tokens in the same moment, at every replica, however slow the store is", async () => {
    const at = await provider();
    const store = createMemoryStore({ now: () => 1_800_000_000_000 });
    const slow = withWrites(store, () => new Promise((resolve) => setTimeout(resolve, 100)));
    const [bench, replica] = [benchFor(at.url, { store: slow }), benchFor(at.url, { store })];
    const finish = await comeBack(bench);
    // What was looked for and not found before is looked for again.
    expect(await tokenOf(replica)).toMatch(/^UPSTREAM_CONNECTION_REQUIRED/);
    await finish();
    const tokens = await Promise.all(
      Array.from({ length: 100 }, (_, index) => tokenOf(index % 2 === 0 ? bench : replica)),
    );
    expect(new Set(tokens)).toEqual(new Set([...at.live]));
  });

  it.each(["grant", "grant-set"])("is not told so when the record %j could not be written", async (kind) => {
    const at = await provider();
    const met: string[] = [];
    const store = createMemoryStore({ now: () => 1_800_000_000_000 });
    const failing = withWrites(store, ([written]) => {
      met.push(written);
      return written === kind ? Promise.reject(new StoreUnavailable("down")) : Promise.resolve();
    });
    const bench = benchFor(at.url, { store: failing });
    const finish = await comeBack(bench);
    await expect(finish()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(met).toContain(kind);
    expect(await tokenOf(benchFor(at.url, { store }))).toMatch(/^UPSTREAM_CONNECTION_REQUIRED/);
  });
});

describe("somebody whom the company's provider signed in", () => {
  it("gets no code while what the provider said could not be written", async () => {
    const records = createMemoryRecords();
    const lost: string[] = [];
    const failing: typeof records = {
      ...records,
      set: async (key, value, ttlMs) => {
        if (key[0] === "oauthPeople") {
          lost.push(key[0]);
          throw new StoreUnavailable("down");
        }
        await records.set(key, value, ttlMs);
      },
    };
    const broker = {
      issuer: "https://idp.test",
      provider: createFakeProvider(),
      sealer: createTestSealer(),
      regrantSeconds: 43_200,
    };
    const harness = await startHarness({ users: [], broker, records: failing });
    const browser = createBrowser();
    const { left } = await browser.open(authorizationUrl(harness, await registerPublic(harness)));
    const state = left?.searchParams.get("state") ?? "";
    const page = await browser.open(`${harness.origin}/oauth/callback?state=${state}&code=abc`);
    expect([page.status, page.left, lost]).toEqual([503, undefined, ["oauthPeople"]]);
    await harness.close();
  });
});
