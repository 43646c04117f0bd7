import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findByRef } from "../../src/audit/find.ts";
import { createStreamSink, readStream } from "../../src/audit/sinks/redis-stream.ts";
import { verifyChain } from "../../src/audit/verify.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import type { RedisStore } from "../../src/store/redis.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { draft, recorderOn, until } from "./sinks-under-test.ts";

let redis: RedisUnderTest;
const opened: RedisStore[] = [];
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await redis.stop();
});

async function openStore(commandTimeoutMs: number): Promise<RedisStore> {
  const store = createRedisStore({ url: redis.url, commandTimeoutMs, reconnectMsMax: 50 });
  opened.push(store);
  await store.ping();
  return store;
}

describe("the Redis stream", () => {
  it("holds the chains of all replicas, verifiable and searchable", async () => {
    const store = await openStore(10_000);
    const sink = createStreamSink({ writer: store.streams, stream: "audit" });
    for (const replica of ["a", "b"]) {
      const { recorder } = recorderOn([{ sink, required: true }], { replica });
      for (let n = 1; n <= 1_100; n += 1) recorder.record(draft(n));
      expect(await recorder.settled()).toBe(true);
      await recorder.close();
    }
    const report = await verifyChain(readStream(store.streams, "audit"));
    expect(report).toMatchObject({ ok: true, lines: 2_200, replicas: [{ replica: "a" }, { replica: "b" }] });
    expect(await findByRef(readStream(store.streams, "audit"), "ref0000042")).toHaveLength(2);
  });

  it("that is required and unreachable refuses, and after its return the chain is whole", async () => {
    const store = await openStore(500);
    const sink = createStreamSink({ writer: store.streams, stream: "outage" });
    const { recorder, lost } = recorderOn([{ sink, required: true }], { retryMs: 20 });
    recorder.record(draft(1));
    expect(await recorder.settled()).toBe(true);
    redis.pause();
    recorder.record(draft(2));
    expect(await recorder.settled()).toBe(false);
    expect(recorder.record(draft(3))).toBe(false);
    redis.resume();
    await until(() => recorder.depth() === 0);
    expect(recorder.record(draft(4))).toBe(true);
    expect(await recorder.settled()).toBe(true);
    await recorder.close();
    const report = await verifyChain(readStream(store.streams, "outage"));
    expect(report).toMatchObject({ ok: true, replicas: [{ events: 4, head: { seq: 4 } }] });
    expect(lost.size).toBe(0);
  });
});
