import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasEnded } from "../../src/authserver/ended-sign-ins.ts";
import { offboard, readmit } from "../../src/cli/offboard.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { limits } from "../../src/model/limits.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { startConnectionBench } from "./connection-bench.ts";
import type { ConnectionBench } from "./connection-bench.ts";
import { modernCall, refusalIn } from "./wire-client.ts";

let redis: RedisUnderTest;
let bench: ConnectionBench;

beforeAll(async () => {
  redis = await startRedis();
  bench = await startConnectionBench({ redisUrl: redis.url });
});

afterAll(async () => {
  await bench.close();
  await redis.stop();
});

async function run(command: typeof offboard, subject: string): Promise<number> {
  const { folder, env } = bench.gateway;
  const order = { config: join(folder, "sallyport.yaml"), subject, issuer: "own", tenant: undefined, days: 400 };
  return command(order, env, { out: () => undefined, err: () => undefined }, openOffboarding);
}

it("whoever is let in again finds every sign-in of before ended, and nobody else does", async () => {
  const token = await bench.tokenOf("ada");
  const before = Math.floor(Date.now() / 1_000);
  expect(await run(offboard, "ada")).toBe(0);
  const refused = await modernCall({ gateway: bench.gateway, server: "s", token }, "tools/list");
  expect(refusalIn(refused).code).toBe("AUTH_TOKEN_REVOKED");
  expect(await run(readmit, "ada")).toBe(0);
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: limits.storeCommandTimeoutMs });
  try {
    await store.connection.ready(limits.storeConnectTimeoutMs);
    expect(await hasEnded(store, "ada", before)).toBe(true);
    expect(await hasEnded(store, "bob", before)).toBe(false);
  } finally {
    await store.close();
  }
});
