import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createRedisStore } from "../../../src/store/redis.ts";
import type { Store } from "../../../src/store/store.ts";
import { startRedis, type RedisUnderTest } from "../../setup/redis.ts";
import {
  ada,
  approve,
  asAda,
  benchFor,
  closeAfter,
  connect,
  outcome,
  provider,
  redirectUri,
  valueOf,
} from "./bench.ts";
import type { ProcessOrders } from "./grants-process.ts";
import { sealerOf } from "./making.ts";

let redis: RedisUnderTest;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(async () => {
  await redis.stop();
});

async function openStore(): Promise<Store> {
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: 5_000, onFailure: () => undefined });
  closeAfter(() => store.close());
  await vi.waitFor(() => store.ping());
  return store;
}

async function startProcess(orders: ProcessOrders): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL("grants-process.ts", import.meta.url)), [JSON.stringify(orders)], {
    execArgv: ["--import", "tsx"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  closeAfter(async () => {
    const gone = once(child, "exit");
    if (child.kill("SIGKILL")) await gone;
  });
  await once(child, "message");
  return child;
}

async function ask(child: ChildProcess, count: number): Promise<readonly string[]> {
  const answered = once(child, "message") as Promise<[readonly string[]]>;
  child.send(count);
  return (await answered)[0];
}

it("fifty parallel calls at the moment of expiry on two processes come to one refresh and fifty successes", async () => {
  const key = randomBytes(32).toString("hex");
  const at = await provider({ expiresIn: 100 });
  const store = await openStore();
  const bench = benchFor(at.url, { store, sealer: sealerOf(key) });
  valueOf(await connect(bench));
  const now = bench.clock.now + 100_000;
  const orders: ProcessOrders = { redisUrl: redis.url, upstreamUrl: at.url, key, now, caller: asAda };
  const processes = await Promise.all([startProcess(orders), startProcess(orders)]);

  const tokens = (await Promise.all(processes.map((child) => ask(child, 25)))).flat();

  expect(tokens).toHaveLength(50);
  expect(tokens.filter((token) => !at.live.has(token))).toEqual([]);
  expect(new Set(tokens).size).toBe(1);
  expect(at.refreshes()).toBe(1);
}, 60_000);

it("of two answers to one attempt that meet at two replicas at once, exactly one is taken, in each of ten rounds", async () => {
  const at = await provider();
  const sealer = sealerOf(randomBytes(32).toString("hex"));
  const upstream = { issuer: at.issuer };
  const replicas = [await openStore(), await openStore()].map((store) => benchFor(at.url, { store, sealer, upstream }));
  const [first] = replicas;
  for (let round = 1; round <= 10; round += 1) {
    const { url, attempt } = valueOf(await first!.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
    const params = await approve(url);
    const finished = await Promise.all(
      replicas.flatMap(({ grants }) =>
        [1, 2].map(async () => outcome(await grants.pages.finish({ person: ada, attempt, params }))),
      ),
    );
    expect(finished.filter((one) => typeof one === "object")).toEqual([{ upstream: "up" }]);
    expect(finished.filter((one) => one === "UPSTREAM_CONNECTION_REFUSED attempt-unknown")).toHaveLength(3);
    const exchanged = at.seen.filter(({ path, params: sent }) => path === "/token" && sent["code"] !== undefined);
    expect(exchanged).toHaveLength(round);
  }
}, 60_000);
