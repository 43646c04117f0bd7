import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { hasEnded } from "../../src/authserver/ended-sign-ins.ts";
import { offboard, readmit } from "../../src/cli/offboard.ts";
import { openOffboarding } from "../../src/compose-offboarding.ts";
import { limits } from "../../src/model/limits.ts";
import type { Subject } from "../../src/model/principal.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { createBrowser } from "../authserver/browser.ts";
import { signInOnPages, startConnectionBench } from "./connection-bench.ts";
import type { ConnectionBench } from "./connection-bench.ts";
import { startIssuer } from "./gateway-under-test.ts";
import type { IssuerUnderTest } from "./gateway-under-test.ts";
import { modernCall, refusalIn } from "./wire-client.ts";

let redis: RedisUnderTest;
let issuer: IssuerUnderTest;
let bench: ConnectionBench;

beforeAll(async () => {
  redis = await startRedis();
  issuer = await startIssuer();
  bench = await startConnectionBench({ redisUrl: redis.url, issuer });
});

afterAll(async () => {
  await bench.close();
  await issuer.close();
  await redis.stop();
});

async function run(command: typeof offboard, subject: string, alias = "own"): Promise<number> {
  const { folder, env } = bench.gateway;
  const order = { config: join(folder, "sallyport.yaml"), subject, issuer: alias, tenant: undefined, days: 400 };
  return command(order, env, { out: () => undefined, err: () => undefined }, openOffboarding);
}

/** Whether what somebody began at `since` has ended, as every replica reads it. */
async function isOver(who: Subject, since: number): Promise<boolean> {
  const store = createRedisStore({ url: redis.url, commandTimeoutMs: limits.storeCommandTimeoutMs });
  try {
    await store.connection.ready(limits.storeConnectTimeoutMs);
    return await hasEnded(store, who, since);
  } finally {
    await store.close();
  }
}

it("whoever is let in again finds every sign-in of before ended, and nobody else does", async () => {
  const token = await bench.tokenOf("ada");
  const before = Date.now();
  expect(await run(offboard, "ada")).toBe(0);
  const refused = await modernCall({ gateway: bench.gateway, server: "s", token }, "tools/list");
  expect(refusalIn(refused).code).toBe("AUTH_TOKEN_REVOKED");
  expect(await run(readmit, "ada")).toBe(0);
  const ada = { tenant: "default", issuer: bench.gateway.publicUrl, subject: "ada" };
  expect(await isOver(ada, before)).toBe(true);
  expect(await isOver({ ...ada, subject: "bob" }, before)).toBe(false);
  expect(await isOver({ ...ada, issuer: issuer.origin }, before)).toBe(false);
});

it("so do people of an issuer elsewhere, whose sign-ins here are those on the connect pages", async () => {
  const before = Date.now();
  expect(await run(offboard, "cleo", "corp")).toBe(0);
  expect(await run(readmit, "cleo", "corp")).toBe(0);
  expect(await isOver({ tenant: "default", issuer: issuer.origin, subject: "cleo" }, before)).toBe(true);
  expect(await isOver({ tenant: "default", issuer: bench.gateway.publicUrl, subject: "cleo" }, before)).toBe(false);
});

it("on the connect pages too: a browser that was signed in before has to sign in again, and then stays so", async () => {
  const home = `${bench.gateway.publicUrl}/connect`;
  const [adas, bobs] = [createBrowser(), createBrowser()];
  expect((await signInOnPages(adas, home, "ada")).text).toContain("Your connections");
  await signInOnPages(bobs, home, "bob");
  expect(await run(offboard, "ada")).toBe(0);
  expect(await run(readmit, "ada")).toBe(0);
  expect((await adas.open(home)).text).toContain("<h1>Sign in</h1>");
  expect((await bobs.open(home)).text).toContain("Your connections");
  await signInOnPages(adas, home, "ada");
  expect((await adas.open(home)).text).toContain("Your connections");
});
