import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createRedisStore } from "../../src/store/redis.ts";
import type { RedisStore } from "../../src/store/redis.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { describeStoreContract } from "./contract.ts";

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

/** Without an offline queue, an operation before the connection stands is refused: the contract waits for it. */
async function ready(): Promise<RedisStore> {
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: 10_000 });
  opened.push(store);
  await store.ping();
  return store;
}

describeStoreContract("Redis store", () => ({
  open: ready,
  pass: (ms) => new Promise((resume) => setTimeout(resume, ms + 20)),
  shortMs: 400,
}));

describe("what Redis holds", () => {
  it("every key ends by itself", async () => {
    const store = await ready();
    await store.set(["session", "ttl", "a"], "v", 5_000);
    await store.addMember(["session-set", "ttl", "b"], "m", 5_000);
    await store.increment(["counter", "ttl", "c"], 5_000);
    for (const key of ["session:a", "session-set:b", "counter:c"]) {
      const answer = await redis.command(`PTTL sallyport:ttl:${key}`);
      const ttlMs = Number(answer.slice(1));
      expect(ttlMs).toBeGreaterThan(0);
      expect(ttlMs).toBeLessThanOrEqual(5_000);
    }
  });
});

describe("streams", () => {
  it("hold what was appended, in order, and are read in portions", async () => {
    const { streams } = await ready();
    await streams.append("order", ["1", "2"], 1_000);
    await streams.append("order", ["line\nbreak"], 1_000);
    const first = await streams.read("order", undefined, 2);
    expect(first.map(({ text }) => text)).toEqual(["1", "2"]);
    const rest = await streams.read("order", first.at(-1)?.id, 2);
    expect(rest.map(({ text }) => text)).toEqual(["line\nbreak"]);
    expect(await streams.read("order", rest.at(-1)?.id, 2)).toEqual([]);
  });

  it("are trimmed to about their length, oldest first", async () => {
    const { streams } = await ready();
    for (let batch = 0; batch < 20; batch += 1) {
      await streams.append(
        "trim",
        Array.from({ length: 100 }, (_, n) => String(batch * 100 + n)),
        300,
      );
    }
    const left = await streams.read("trim", undefined, 5_000);
    expect(left.length).toBeGreaterThanOrEqual(300);
    expect(left.length).toBeLessThan(600);
    expect(left.at(-1)?.text).toBe("1999");
  });

  it("show an entry that somebody else wrote as empty, not as evidence", async () => {
    const { streams } = await ready();
    await redis.command("XADD sallyport:foreign * other text");
    expect((await streams.read("foreign", undefined, 10)).map(({ text }) => text)).toEqual([""]);
  });
});
