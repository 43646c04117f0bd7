import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { personKey } from "../../src/authserver/person-key.ts";
import { offboard } from "../../src/cli/offboard.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { limits } from "../../src/model/limits.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import { startConnectionBench } from "../journey/connection-bench.ts";
import type { ConnectionBench } from "../journey/connection-bench.ts";
import { startIssuer } from "../journey/gateway-under-test.ts";
import type { IssuerUnderTest } from "../journey/gateway-under-test.ts";
import { modernCall, openSession } from "../journey/wire-client.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
/** People may come by tokens of an issuer and by signing in here. */
let bench: ConnectionBench;

beforeAll(async () => {
  [redis, issuer] = [await startRedis(), await startIssuer()];
  bench = await startConnectionBench({ redisUrl: redis.url, issuer });
});

afterAll(async () => {
  await bench.close();
  await issuer.close();
  await redis.stop();
});

/** What `sallyport offboard` says of somebody's other name. */
async function offboarded(subject: string, alias: string): Promise<string[]> {
  const said: string[] = [];
  const { folder, env } = bench.gateway;
  const order = { config: join(folder, "sallyport.yaml"), subject, issuer: alias, tenant: undefined, days: 1 };
  const output = { out: (line: string) => void said.push(line), err: (line: string) => void said.push(line) };
  expect(await offboard(order, env, output, openOffboarding)).toBe(0);
  return said.filter((line) => line.includes("sallyport offboard"));
}

async function statusOf(token: string): Promise<number> {
  return (await modernCall({ gateway: bench.gateway, server: "s", token }, "tools/list")).status;
}

it("whoever has two names is let in by the other until that is offboarded too, and the command says so", async () => {
  const resource = bench.gateway.resource("s");
  const [byIssuer, bySignIn] = [await issuer.mint(resource, { sub: "ada" }), await bench.tokenOf("ada")];
  expect(await offboarded("ada", "corp")).toEqual([
    "ada of own is let in still; if that is the same person: sallyport offboard ada --issuer own",
  ]);
  expect([await statusOf(byIssuer), await statusOf(bySignIn)]).toEqual([401, 200]);
  expect(await offboarded("ada", "own")).toEqual([]);
  expect([await statusOf(byIssuer), await statusOf(bySignIn)]).toEqual([401, 401]);
});

it("a session is enough to be found by, and whoever nothing is known of may be there all the same", async () => {
  const token = await issuer.mint(bench.gateway.resource("s"), { sub: "bob" });
  await openSession({ gateway: bench.gateway, server: "s", token });
  expect(await offboarded("bob", "own")).toEqual([
    "bob of corp is let in still; if that is the same person: sallyport offboard bob --issuer corp",
  ]);
  expect(await offboarded("nobody", "own")).toEqual([
    "If corp knows them as well, by this name or another: sallyport offboard SUBJECT --issuer corp",
  ]);
});

it("what the company's provider said of somebody is enough as well", async () => {
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: limits.storeCommandTimeoutMs });
  await store.connection.ready(limits.storeConnectTimeoutMs);
  await store.set(personKey("cleo"), "sealed", 60_000);
  await store.close();
  expect(await offboarded("cleo", "corp")).toEqual([
    "cleo of own is let in still; if that is the same person: sallyport offboard cleo --issuer own",
  ]);
});
