import { afterEach, describe, expect, it } from "vitest";
import { StoreUnavailable } from "../../src/model/records.ts";
import type { RecordKey } from "../../src/model/records.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import type { RedisStore, RedisStoreOptions } from "../../src/store/redis.ts";
import type { StoreFailure } from "../../src/store/redis-failure.ts";
import type { Store } from "../../src/store/store.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startToxicProxy } from "../setup/toxic-proxy.ts";
import type { ToxicProxy } from "../setup/toxic-proxy.ts";

const commandTimeoutMs = 500;
const key: RecordKey = ["session", "acme", "s"];
const operations: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ["get", (store) => store.get(key)],
  ["set", (store) => store.set(key, "canary-value", 60_000)],
  ["setIfAbsent", (store) => store.setIfAbsent(key, "canary-value", 60_000)],
  ["replace", (store) => store.replace(key, "canary-value", "canary-value", 60_000)],
  ["touch", (store) => store.touch(key, 60_000)],
  ["delete", (store) => store.delete(key)],
  ["take", (store) => store.take(key)],
  ["addMember", (store) => store.addMember(["session-set", "acme", "p"], "canary-value", 60_000)],
  ["removeMember", (store) => store.removeMember(["session-set", "acme", "p"], "canary-value")],
  ["members", (store) => store.members(["session-set", "acme", "p"])],
  ["increment", (store) => store.increment(["counter", "acme", "c"], 60_000)],
  ["ping", (store) => store.ping()],
];

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Bench {
  readonly redis: RedisUnderTest;
  readonly store: RedisStore;
  readonly failures: StoreFailure[];
}

async function bench(redisArguments: readonly string[] = []): Promise<Bench> {
  const redis = await startRedis(redisArguments);
  cleanups.push(() => redis.stop());
  const failures: StoreFailure[] = [];
  const store = createRedisStore({
    url: redis.url,
    commandTimeoutMs,
    connectTimeoutMs: 300,
    reconnectMsMax: 100,
    onFailure: (failure) => failures.push(failure),
  });
  cleanups.push(() => store.close());
  await store.ping();
  return { redis, store, failures };
}

async function toxicBench(more: Partial<RedisStoreOptions> = {}): Promise<Bench & { proxy: ToxicProxy }> {
  const redis = await startRedis();
  cleanups.push(() => redis.stop());
  const proxy = await startToxicProxy(redis.port);
  cleanups.push(() => proxy.close());
  const failures: StoreFailure[] = [];
  const store = createRedisStore({
    url: `redis://127.0.0.1:${proxy.port}`,
    commandTimeoutMs,
    connectTimeoutMs: 300,
    reconnectMsMax: 100,
    onFailure: (failure) => failures.push(failure),
    ...more,
  });
  cleanups.push(() => store.close());
  await store.ping();
  return { redis, store, failures, proxy };
}

async function failureOf(operation: Promise<unknown>): Promise<unknown> {
  return operation.then(
    () => "no failure",
    (error: unknown) => error,
  );
}

async function expectAllUnavailable(store: Store): Promise<void> {
  const failures = await Promise.all(operations.map(([, operate]) => failureOf(operate(store))));
  for (const [n, failure] of failures.entries()) {
    expect(failure, operations[n]![0]).toBeInstanceOf(StoreUnavailable);
    expect((failure as Error).cause, "a cause would carry the command's arguments").toBeUndefined();
    expect(JSON.stringify(failure) + String(failure) + String((failure as Error).stack)).not.toContain("canary-value");
  }
}

/** Waits for recovery in the background; the test's own time limit is the bound. */
async function untilRecovered(store: Store): Promise<void> {
  while ((await failureOf(store.ping())) !== "no failure") await new Promise((resume) => setTimeout(resume, 20));
}

describe("a Redis store whose server", () => {
  it("died fails every operation, and recovers without a restart of the gateway", async () => {
    const { redis, store } = await bench();
    await store.set(key, "v", 60_000);
    await redis.kill();
    await expectAllUnavailable(store);
    await expectAllUnavailable(store);
    await redis.restart();
    await untilRecovered(store);
    await store.set(key, "v", 60_000);
    expect(await store.get(key)).toBe("v");
  });

  it("stands still (no answer, connections up) fails every operation, and recovers", async () => {
    const { redis, store, failures } = await bench();
    await store.set(key, "v", 60_000);
    redis.pause();
    await expectAllUnavailable(store);
    expect(failures).toContain("timed-out");
    await expectAllUnavailable(store);
    redis.resume();
    await untilRecovered(store);
    await store.set(key, "v", 60_000);
  });

  it("is not there at the start does not keep the gateway from starting, and is found later", async () => {
    const { redis } = await bench();
    await redis.kill();
    const store = createRedisStore({ url: redis.url, commandTimeoutMs, reconnectMsMax: 100 });
    cleanups.push(() => store.close());
    await expectAllUnavailable(store);
    await redis.restart();
    await untilRecovered(store);
    await store.set(key, "v", 60_000);
  });

  it("is full refuses writes, still answers reads, and says why", async () => {
    const { redis, store, failures } = await bench(["--maxmemory-policy", "noeviction"]);
    await store.set(key, "canary-value", 60_000);
    await redis.command("CONFIG SET maxmemory 1");
    for (const name of ["set", "setIfAbsent", "replace", "addMember", "increment"]) {
      const operate = operations.find(([known]) => known === name)![1];
      expect(await failureOf(operate(store)), name).toBeInstanceOf(StoreUnavailable);
    }
    expect(await failureOf(store.streams.append("full", ["1"], 10))).toBeInstanceOf(StoreUnavailable);
    expect(new Set(failures)).toEqual(new Set(["full"]));
    expect(await store.get(key)).toBe("canary-value");
    await redis.command("CONFIG SET maxmemory 0");
    await store.set(key, "w", 60_000);
  });

  it("turned read-only refuses writes, is looked for anew, and is written to once it may be", async () => {
    const { redis, store, failures, proxy } = await toxicBench();
    await store.set(key, "v", 60_000);
    await redis.command("REPLICAOF 127.0.0.1 1");
    expect(await failureOf(store.set(key, "w", 60_000))).toBeInstanceOf(StoreUnavailable);
    expect(failures).toContain("read-only");
    // A managed failover moves the address: only a new connection finds the node that writes.
    await untilRecovered(store);
    expect(proxy.accepted()).toBe(2);
    expect(await store.get(key)).toBe("v");
    await redis.command("REPLICAOF NO ONE");
    await store.set(key, "w", 60_000);
    expect(await store.get(key)).toBe("w");
  });

  it("stays read-only does not make the gateway connect anew for every write", async () => {
    const { redis, store, proxy } = await toxicBench({ readonlyReconnectMsMin: 600_000 });
    await redis.command("REPLICAOF 127.0.0.1 1");
    for (let n = 0; n < 10; n += 1) {
      await failureOf(store.set(key, "w", 60_000));
      await untilRecovered(store);
    }
    expect(proxy.accepted()).toBe(2);
  });

  it("wants a password that the gateway has not got fails, and says so", async () => {
    const { redis } = await bench();
    await redis.command("CONFIG SET requirepass s3cret");
    const failures: StoreFailure[] = [];
    const store = createRedisStore({
      url: redis.url,
      commandTimeoutMs,
      onFailure: (failure) => failures.push(failure),
    });
    cleanups.push(() => store.close());
    await expectAllUnavailable(store);
    expect(failures).toContain("unauthorized");
    const withPassword = createRedisStore({ url: `redis://:s3cret@127.0.0.1:${redis.port}`, commandTimeoutMs });
    cleanups.push(() => withPassword.close());
    await withPassword.ping();
  });
});

describe("a Redis store behind a network that", () => {
  it("swallows everything replaces its socket, so recovery needs no restart", async () => {
    const { store, proxy } = await toxicBench();
    const before = proxy.accepted();
    proxy.swallow();
    await expectAllUnavailable(store);
    // The old socket is never heard of again, even once the network passes bytes: only a new one helps.
    while (proxy.accepted() === before) await new Promise((resume) => setTimeout(resume, 20));
    await expectAllUnavailable(store);
    proxy.heal();
    await untilRecovered(store);
    await store.set(key, "v", 60_000);
    expect(await store.get(key)).toBe("v");
  });

  it("is slower than the deadline fails, and never answers one command with another's reply", async () => {
    const { store, proxy } = await toxicBench();
    for (const id of ["a", "b", "c"]) await store.set(["session", "acme", id], id, 60_000);
    proxy.delay(commandTimeoutMs + 50);
    expect(await failureOf(store.get(["session", "acme", "a"]))).toBeInstanceOf(StoreUnavailable);
    proxy.heal();
    await untilRecovered(store);
    for (const id of ["b", "c", "a"]) expect(await store.get(["session", "acme", id])).toBe(id);
  });

  it("resets connections fails what was on its way, sends nothing twice, and recovers", async () => {
    const { redis, store, proxy } = await toxicBench({ commandTimeoutMs: 20_000 });
    const counter: RecordKey = ["counter", "acme", "reset"];
    expect(await store.increment(counter, 60_000)).toBe(1);
    // The command reaches Redis; its answer is lost with the connection.
    proxy.swallowAnswers();
    const lost = failureOf(store.increment(counter, 60_000));
    while ((await redis.command("INCRBY sallyport:acme:counter:reset 0")) !== ":2");
    proxy.reset();
    proxy.heal();
    expect(await lost).toBeInstanceOf(StoreUnavailable);
    await untilRecovered(store);
    expect(await store.increment(counter, 60_000)).toBe(3);
  });
});

describe("a Redis store under load", () => {
  it("refuses the command beyond its bound of unanswered ones, and takes commands again after", async () => {
    const redis = await startRedis();
    cleanups.push(() => redis.stop());
    const failures: StoreFailure[] = [];
    const store = createRedisStore({
      url: redis.url,
      commandTimeoutMs: 10_000,
      inFlightMax: 5,
      onFailure: (failure) => failures.push(failure),
    });
    cleanups.push(() => store.close());
    await store.ping();
    const results = await Promise.all(Array.from({ length: 6 }, () => failureOf(store.get(key))));
    expect(results.filter((result) => result === "no failure")).toHaveLength(5);
    expect(failures).toEqual(["overloaded"]);
    expect(await store.get(key)).toBeUndefined();
  });

  it("is refused an address that is no Redis URL, without the address in the message", () => {
    expect(() => createRedisStore({ url: "http://user:s3cret@host" })).toThrow(TypeError);
    expect(() => createRedisStore({ url: "http://user:s3cret@host" })).not.toThrow(/s3cret/u);
  });
});
