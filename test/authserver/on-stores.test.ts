import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import type { Store } from "../../src/store/store.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";
import { createBrowser } from "./browser.ts";
import { createFakeProvider, createTestSealer } from "./fake-provider.ts";
import {
  ada,
  authorizationUrl,
  exchange,
  obtainCode,
  redirectUri,
  refresh,
  register,
  startHarness,
} from "./harness.ts";
import type { Harness } from "./harness.ts";
import type { MemoryRecords } from "./memory-records.ts";

let redis: RedisUnderTest;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

interface Opened {
  readonly records: MemoryRecords;
  readonly dump: () => Promise<string>;
  readonly close: () => Promise<void>;
}

interface Kind {
  readonly name: string;
  readonly open: () => Promise<Opened>;
}

/** A real store in the place of the one in the tests' hands. */
function recordsOf(store: Store): MemoryRecords {
  const none = (): void => undefined;
  return { ...store, dump: () => "", keysOf: () => [], clear: none, setDown: none };
}

/** What was ever handed to a store in memory, which is more than what lies in it. */
function openMemory(): Promise<Opened> {
  const store = createMemoryStore({ now: Date.now });
  const seen: string[] = [];
  const watched = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        seen.push(JSON.stringify(given));
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
  const dump = (): Promise<string> => Promise.resolve(seen.join("\n"));
  return Promise.resolve({ records: recordsOf(watched), dump, close: () => store.close() });
}

async function openRedis(): Promise<Opened> {
  const store = createRedisStore({ url: redis.url });
  await store.ping();
  return { records: recordsOf(store), dump: dumpRedis, close: () => store.close() };
}

async function dumpRedis(): Promise<string> {
  const client = new Redis(redis.url);
  const parts: string[] = [];
  for (const key of await client.keys("*")) {
    const type = await client.type(key);
    parts.push(
      key,
      type === "string" ? ((await client.get(key)) ?? "") : JSON.stringify(await client.zrange(key, 0, "-1")),
    );
  }
  await client.quit();
  return parts.join("\n");
}

const kinds: readonly Kind[] = [
  { name: "memory", open: openMemory },
  { name: "Redis", open: openRedis },
];

describe.each(kinds)("the authorization server on $name", ({ open }) => {
  it("lets one of two parallel exchanges of a code win, in each of ten rounds, at two replicas", async () => {
    const { records, close } = await open();
    const first = await startHarness({ records });
    const second = await startHarness({ records, publicUrl: first.server.issuer });
    for (let round = 0; round < 10; round += 1) {
      const flow = await obtainCode(first);
      const answers = await Promise.all([exchange(first, flow), exchange(second, flow)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    }
    await first.close();
    await second.close();
    await close();
  });

  it("leaves nothing in the store that presents to anybody: no code, token, secret, state or cookie", async () => {
    const { records, dump, close } = await open();
    const secrets = await everySecretOf(records);
    const text = await dump();
    expect(text).toContain("RefreshToken");
    expect(text).toContain("oauthPeople");
    expect(secrets.length).toBeGreaterThan(10);
    expect(secrets.filter((secret) => secret.length < 8)).toEqual([]);
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    await close();
  });
});

/** Whole sign-ins by password and at a provider, with all that was handed out or typed on the way. */
async function everySecretOf(records: MemoryRecords): Promise<readonly string[]> {
  const own = await startHarness({ records });
  const { body: client } = await register(own, { redirect_uris: [redirectUri] });
  const flow = await obtainCode(own, {}, String(client["client_id"]));
  const first = await exchange(own, flow, { client_secret: String(client["client_secret"]) });
  const second = await refresh(own, flow.clientId, first.body["refresh_token"], {
    client_secret: String(client["client_secret"]),
  });
  const tokens = [first, second].flatMap(({ body }) => [body["access_token"], body["refresh_token"]].map(String));
  await own.close();
  const fromProvider = await secretsOfProviderSignIn(records, own);
  return [...tokens, flow.code, flow.verifier, String(client["client_secret"]), ada.password, ...fromProvider];
}

async function secretsOfProviderSignIn(records: MemoryRecords, own: Harness): Promise<readonly string[]> {
  const broker = {
    issuer: "https://idp.test",
    provider: createFakeProvider(),
    sealer: createTestSealer(),
    regrantSeconds: 600,
  };
  const brokered = await startHarness({ records, publicUrl: own.server.issuer, users: [], broker });
  const { body } = await register(brokered, { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" });
  const browser = createBrowser();
  const there = async (): Promise<string> => {
    const local = new URL(authorizationUrl(brokered, String(body["client_id"])));
    return (await browser.open(local)).left?.searchParams.get("state") ?? "";
  };
  const [waiting, state] = [await there(), await there()];
  const consent = await browser.open(`${brokered.origin}/oauth/callback?code=provider-code&state=${state}`);
  await browser.submit(consent, {});
  await brokered.close();
  // What these two carry is the name of a page and stands in its address; the signature beside it is what counts.
  const signed = /^sallyport_(?:interaction|resume);/;
  const cookies = [...browser.cookies].filter(([name]) => !signed.test(name)).map(([, value]) => value);
  return [waiting, state, ...cookies, "provider-refresh-1", "verifier-1", "provider-code"];
}
