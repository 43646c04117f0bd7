import { createHash, randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { createAead } from "../../src/gateway/aead.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { createMemoryCourier } from "../../src/store/courier-local.ts";
import type { ClosableCourier } from "../../src/store/courier-local.ts";
import { createRedisCourier } from "../../src/store/courier-redis.ts";
import type { CourierLimits, Envelope } from "../../src/store/courier-redis.ts";
import { earlier } from "../../src/store/courier-streams.ts";
import { courierKey } from "../../src/store/keys.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import type { RedisStore } from "../../src/store/redis.ts";
import { until } from "../journey/gateway-under-test.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startToxicProxy } from "../setup/toxic-proxy.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const quick: CourierLimits = { ...limits, courierBlockMs: 200, courierRetryMs: 20, storeCommandTimeoutMs: 1_000 };

function envelope(secret = "shared"): Envelope {
  const key = { kid: "k", key: createHash("sha256").update(secret).digest() };
  const aead = createAead({ current: key, previous: [] }, randomBytes);
  return {
    close: (about, text) => aead.encrypt(JSON.stringify(about), Buffer.alloc(0), text),
    open: (about, closed) => {
      const opened = aead.decrypt(JSON.stringify(about), 0, closed);
      return opened.ok ? opened.text : undefined;
    },
  };
}

interface Replica {
  readonly courier: ClosableCourier;
  readonly store: RedisStore;
  /** What arrived under `answer` and `cancel`, in order. */
  readonly answers: string[];
  readonly cancels: string[];
  /** What arrived under `session`: only whether anything does. */
  readonly heard: string[];
  readonly faults: unknown[];
}

async function replica(
  url: string,
  more: { limits?: CourierLimits; envelope?: Envelope; readUrl?: string } = {},
): Promise<Replica> {
  const faults: unknown[] = [];
  const store = createRedisStore({ url, commandTimeoutMs: 1_000, reconnectMsMax: 50 });
  await store.ping();
  const courier = createRedisCourier({
    url: more.readUrl ?? url,
    reconnectMsMax: 50,
    address: randomBytes(16).toString("hex"),
    sendOver: store.connection,
    envelope: more.envelope ?? envelope(),
    limits: more.limits ?? quick,
    onFault: (error) => faults.push(error),
  });
  cleanups.push(async () => {
    await courier.close();
    await store.close();
  });
  return { courier, store, faults, ...receiving(courier) };
}

function receiving(courier: ClosableCourier): Pick<Replica, "answers" | "cancels" | "heard"> {
  const answers: string[] = [];
  const cancels: string[] = [];
  const heard: string[] = [];
  courier.receive("answer", (text) => answers.push(text));
  courier.receive("cancel", (text) => cancels.push(text));
  courier.receive("session", (text) => heard.push(text));
  return { answers, cancels, heard };
}

async function redis(): Promise<RedisUnderTest> {
  const server = await startRedis();
  cleanups.push(() => server.stop());
  return server;
}

/** What is said to all reaches whoever listens already. */
async function untilListening(...replicas: readonly Replica[]): Promise<void> {
  const [one, two] = replicas;
  for (const to of replicas) {
    const from = to === one ? two! : one!;
    await until(async () => {
      await from.courier.broadcast("session", "listening?");
      return to.heard.length > 0;
    });
  }
}

describe.each([
  ["in memory", () => Promise.resolve(createMemoryCourier({ address: "here", onFault: () => undefined }))],
  ["over Redis", async () => replicaWithoutReceivers((await redis()).url)],
] as const)("a courier %s", (_kind, open) => {
  it("delivers what is sent to its own address here, after `send` has returned", async () => {
    const courier = await open();
    const { answers } = receiving(courier);
    const sending = courier.send(courier.address, "answer", "mine");
    expect(answers).toEqual([]);
    await sending;
    expect(answers).toEqual(["mine"]);
  });

  it("gives a topic to its one receiver alone, and a second receiver is our bug", async () => {
    const courier = await open();
    const { answers, cancels } = receiving(courier);
    await courier.send(courier.address, "cancel", "c");
    expect([answers, cancels]).toEqual([[], ["c"]]);
    expect(() => {
      courier.receive("answer", () => undefined);
    }).toThrow();
  });

  it("drops a topic that nobody receives, and what is sent to nobody", async () => {
    const courier = await open();
    await courier.send(courier.address, "stream", "s");
    await courier.send("0".repeat(32), "answer", "s");
  });
});

async function replicaWithoutReceivers(url: string): Promise<ClosableCourier> {
  const store = createRedisStore({ url });
  await store.ping();
  const courier = createRedisCourier({
    url,
    address: randomBytes(16).toString("hex"),
    sendOver: store.connection,
    envelope: envelope(),
    limits: quick,
    onFault: () => undefined,
  });
  cleanups.push(async () => {
    await courier.close();
    await store.close();
  });
  return courier;
}

it("in memory nobody hears what is said to all others, as there are none", async () => {
  const courier = createMemoryCourier({ address: "here", onFault: () => undefined });
  const { cancels } = receiving(courier);
  await courier.broadcast("cancel", "to others");
  await courier.send("here", "cancel", "to myself");
  expect(cancels).toEqual(["to myself"]);
});

it("a receiver that throws in memory is reported and ends nothing", async () => {
  const faults: unknown[] = [];
  const courier = createMemoryCourier({ address: "here", onFault: (fault) => faults.push(fault) });
  const bug = new Error("ours");
  courier.receive("answer", () => {
    throw bug;
  });
  await courier.send("here", "answer", "a");
  expect(faults).toEqual([bug]);
});

describe("replicas on one Redis", () => {
  it("send to each other and to all, each message once and in order", async () => {
    const { url } = await redis();
    const [one, two, three] = [await replica(url), await replica(url), await replica(url)];
    await untilListening(one, two, three);
    const texts = Array.from({ length: 100 }, (_, n) => `answer ${n} \u{1f9ff}`);
    for (const text of texts) await one.courier.send(two.courier.address, "answer", text);
    await one.courier.broadcast("cancel", "all");
    await until(() => two.answers.length >= 100 && two.cancels.length > 0 && three.cancels.length > 0);
    expect(two.answers).toEqual(texts);
    expect([one.cancels, two.cancels, three.cancels]).toEqual([[], ["all"], ["all"]]);
    expect([one.answers, three.answers]).toEqual([[], []]);
    // What comes back stands behind its own message in the stream that all read.
    await two.courier.broadcast("cancel", "back");
    await until(() => one.cancels.length > 0);
    expect(one.cancels).toEqual(["back"]);
  });

  it("are not told of what was said to all before they came", async () => {
    const { url } = await redis();
    const [one, two] = [await replica(url), await replica(url)];
    await untilListening(one, two);
    await one.courier.broadcast("cancel", "early");
    await until(() => two.cancels.length === 1);
    const late = await replica(url);
    await untilListening(one, late);
    expect(late.cancels).toEqual([]);
    await one.courier.broadcast("cancel", "late");
    await until(() => late.cancels.length === 1);
    expect(late.cancels).toEqual(["late"]);
  });

  it("receive what was sent while their connection was down", async () => {
    const server = await redis();
    const proxy = await startToxicProxy(server.port);
    cleanups.push(() => proxy.close());
    const [one, two] = [
      await replica(server.url),
      await replica(server.url, { readUrl: `redis://127.0.0.1:${proxy.port}` }),
    ];
    await untilListening(one, two);
    proxy.swallow();
    proxy.reset();
    await one.courier.send(two.courier.address, "answer", "while it was down");
    await one.courier.broadcast("cancel", "to all, while one was down");
    proxy.heal();
    proxy.reset();
    await until(() => two.answers.length > 0 && two.cancels.length > 0);
    expect([two.answers, two.cancels]).toEqual([["while it was down"], ["to all, while one was down"]]);
  });

  it("receive what comes after a black hole, on a new socket", async () => {
    const server = await redis();
    const proxy = await startToxicProxy(server.port);
    cleanups.push(() => proxy.close());
    const [one, two] = [
      await replica(server.url),
      await replica(server.url, { readUrl: `redis://127.0.0.1:${proxy.port}` }),
    ];
    await untilListening(one, two);
    const before = proxy.accepted();
    proxy.swallow();
    await one.courier.send(two.courier.address, "answer", "into the hole");
    await until(() => proxy.accepted() > before);
    proxy.heal();
    proxy.reset();
    await until(() => two.answers.length > 0);
    expect(two.answers).toEqual(["into the hole"]);
  });

  it("go on after the server died and came back empty, and nothing arrives twice", async () => {
    const server = await redis();
    const [one, two] = [await replica(server.url), await replica(server.url)];
    await untilListening(one, two);
    await one.courier.send(two.courier.address, "answer", "before");
    await until(() => two.answers.length === 1);
    await server.kill();
    await expect(one.courier.send(two.courier.address, "answer", "lost")).rejects.toThrow(StoreUnavailable);
    await expect(one.courier.broadcast("cancel", "lost")).rejects.toThrow(StoreUnavailable);
    await server.restart();
    await until(() =>
      one.courier.send(two.courier.address, "answer", "after").then(
        () => true,
        () => false,
      ),
    );
    await until(() => two.answers.includes("after"));
    expect(new Set(two.answers)).toEqual(new Set(["before", "after"]));
    expect(two.answers.filter((text) => text === "before")).toHaveLength(1);
  });

  it("reject at once while the server stands still, except what they send to themselves", async () => {
    const server = await redis();
    const one = await replica(server.url);
    await one.store.ping();
    server.pause();
    await expect(one.courier.send("0".repeat(32), "answer", "x")).rejects.toThrow(StoreUnavailable);
    await one.courier.send(one.courier.address, "answer", "mine");
    expect(one.answers).toEqual(["mine"]);
    server.resume();
  });

  it("read nothing that no key of theirs vouches for, nor what was meant for another topic or address", async () => {
    const { url } = await redis();
    const [one, two] = [await replica(url), await replica(url)];
    const stranger = await replica(url, { envelope: envelope("another secret") });
    await untilListening(one, two);
    await stranger.courier.send(two.courier.address, "answer", "forged");
    const key = courierKey(two.courier.address);
    const copied = envelope().close([two.courier.address, one.courier.address, "answer"], "copied");
    const { connection } = one.store;
    const fields = (from: string, topic: string): string[] => ["from", from, "topic", topic, "text", copied];
    await connection.call("XADD", key, "*", ...fields(one.courier.address, "cancel"));
    await connection.call("XADD", key, "*", ...fields("0".repeat(32), "answer"));
    await connection.call("XADD", courierKey("all"), "*", ...fields(one.courier.address, "answer"));
    await connection.call("XADD", key, "*", "other", "fields");
    await one.courier.send(two.courier.address, "answer", "genuine");
    await until(() => two.answers.length > 0);
    expect([two.answers, two.cancels, two.faults]).toEqual([["genuine"], [], []]);
  });

  it("leave nothing readable in the store, and nothing that stays", async () => {
    const { url } = await redis();
    const one = await replica(url, { limits: { ...quick, courierMessageMs: 60_000, courierMessagesMax: 100 } });
    const nobody = "f".repeat(32);
    for (let n = 0; n < 1_000; n += 1) await one.courier.send(nobody, "answer", "a canary");
    const { connection } = one.store;
    expect(Number(await connection.call("XLEN", courierKey(nobody)))).toBeLessThanOrEqual(300);
    expect(Number(await connection.call("PTTL", courierKey(nobody)))).toBeGreaterThan(0);
    expect(JSON.stringify(await connection.call("XRANGE", courierKey(nobody), "-", "+"))).not.toContain("canary");
  });

  it("delete what they have read, and their inbox when they go", async () => {
    const { url } = await redis();
    const [one, two] = [await replica(url), await replica(url)];
    await one.courier.send(two.courier.address, "answer", "read me");
    await until(() => two.answers.length === 1);
    const key = courierKey(two.courier.address);
    await until(async () => (await one.store.connection.call("XLEN", key)) === 0);
    await two.courier.close();
    expect(await one.store.connection.call("EXISTS", key)).toBe(0);
  });

  it("take as many as there are, whatever one reading holds", async () => {
    const { url } = await redis();
    const [one, two] = [await replica(url), await replica(url, { limits: { ...quick, courierMessagesPerReadMax: 3 } })];
    await Promise.all(Array.from({ length: 50 }, (_, n) => one.courier.send(two.courier.address, "answer", String(n))));
    await until(() => two.answers.length === 50);
    expect(two.answers.map(Number)).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  it("hold a text to its bound: the longest arrives, one character more is our bug", async () => {
    const { url } = await redis();
    const one = await replica(url, { limits: { ...quick, courierTextCharsMax: 10 } });
    const two = await replica(url);
    await one.courier.send(two.courier.address, "answer", "0123456789");
    await until(() => two.answers.length === 1);
    await expect(one.courier.send(two.courier.address, "answer", "0123456789a")).rejects.toThrow(RangeError);
  });
});

describe("ids of stream entries", () => {
  it.each([
    ["1-0", "1-1", "1-0"],
    ["9-5", "10-0", "9-5"],
    ["10-0", "9-5", "9-5"],
    ["1700000000000-12", "1700000000000-9", "1700000000000-9"],
    ["0-0", "1-0", "0-0"],
  ])("%s and %s: %s comes first, by number", (one, other, first) => {
    expect(earlier(one, other)).toBe(first);
  });
});
