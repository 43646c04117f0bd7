// Whoever has not signed in can neither fill the store that everybody's sessions are in, nor keep others from signing in.
import type { AdapterPayload } from "oidc-provider";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { digestOf } from "../../src/authserver/digest.ts";
import { createGrantAdapter } from "../../src/authserver/grant-adapter.ts";
import { limits } from "../../src/model/limits.ts";
import type { RecordKey } from "../../src/model/records.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createRedisStore } from "../../src/store/redis.ts";
import type { RedisStore } from "../../src/store/redis.ts";
import type { Store } from "../../src/store/store.ts";
import { startRedis } from "../setup/redis.ts";
import type { RedisUnderTest } from "../setup/redis.ts";

type Adapter = ReturnType<typeof createGrantAdapter>;

function adapterOf(records: Store, model: string): Adapter {
  return createGrantAdapter(model, { records, now: () => 0, refreshGraceMs: 0 });
}

function memory(): Store {
  return createMemoryStore({ now: () => 0 });
}

const strangers = (model: string): RecordKey => ["oauthStrangers", "default", model];
const ofPerson = (subject: string): RecordKey => ["oauthInteractions", "default", digestOf(subject)];

/** As many others of the same room, all of which expire after what lives for `seconds`, and before what lives longer. */
async function fill(records: Store, room: RecordKey, count: number, seconds = 100): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `other ${index}`);
  await Promise.all(names.map((name) => records.addMember(room, name, seconds * 1_000 + 60_000)));
}

const signedIn = (accountId: string): AdapterPayload => ({ session: { accountId }, params: { client_id: "chosen" } });

interface Room {
  readonly what: string;
  readonly model: "Interaction" | "Client";
  readonly room: RecordKey;
  readonly max: number;
  readonly payload: AdapterPayload;
}

const rooms: readonly Room[] = [
  {
    what: "authorizations of strangers",
    model: "Interaction",
    room: strangers("Interaction"),
    max: limits.oauthInteractionsMax,
    payload: { kind: "Interaction" },
  },
  {
    what: "registrations nobody signed in with",
    model: "Client",
    room: strangers("Client"),
    max: limits.oauthRegistrationsUnusedMax,
    payload: { clientId: "c" },
  },
  {
    what: "authorizations of one person",
    model: "Interaction",
    room: ofPerson("ada"),
    max: limits.oauthInteractionsPerPersonMax,
    payload: signedIn("ada"),
  },
];

describe.each(rooms)("$what", ({ model, room, max, payload }) => {
  it("stay within their room: the newest is let in, and the oldest leave, a few at a time", async () => {
    const records = memory();
    const adapter = adapterOf(records, model);
    await adapter.upsert("oldest", payload, 10);
    await fill(records, room, max - 2);
    await adapter.upsert("last that fits", payload, 1_000);
    expect(await adapter.find("oldest")).toBeDefined();
    await adapter.upsert("beyond", payload, 1_000);
    expect(await adapter.find("oldest")).toBeUndefined();
    expect(await adapter.find("last that fits")).toBeDefined();
    expect(await adapter.find("beyond")).toBeDefined();
    const left = (await records.members(room)).length;
    expect(left).toBeLessThanOrEqual(max);
    expect(left).toBeGreaterThanOrEqual(max - limits.oauthEvictedRecordsMax);
    expect(left).toBeGreaterThan(max / 2);
  });

  it("push nothing out by being written again, and leave their room when they end", async () => {
    const records = memory();
    const adapter = adapterOf(records, model);
    await adapter.upsert("oldest", payload, 10);
    await fill(records, room, max - 2);
    await adapter.upsert("last that fits", payload, 1_000);
    await adapter.upsert("last that fits", payload, 1_000);
    expect(await records.members(room)).toHaveLength(max);
    expect(await adapter.find("oldest")).toBeDefined();
  });
});

it.each(["Interaction", "Client"])("a %s that is destroyed leaves its room to the next", async (model) => {
  const records = memory();
  const adapter = adapterOf(records, model);
  await adapter.upsert("done", { kind: model }, 10);
  await adapter.destroy("done");
  expect(await records.members(strangers(model))).toEqual([]);
});

describe("no flood of strangers reaches", () => {
  const flood = async (records: Store): Promise<void> => {
    await fill(records, strangers("Interaction"), limits.oauthInteractionsMax);
    await fill(records, strangers("Client"), limits.oauthRegistrationsUnusedMax);
    for (let index = 0; index < 5; index += 1) {
      await adapterOf(records, "Interaction").upsert(`flood ${index}`, { kind: "Interaction" }, 1_000);
      await adapterOf(records, "Client").upsert(`flood ${index}`, { clientId: `flood ${index}` }, 1_000);
    }
  };

  it("an authorization in which somebody signed in, at its sign-in or before", async () => {
    const records = memory();
    const interactions = adapterOf(records, "Interaction");
    await interactions.upsert("by session", signedIn("ada"), 10);
    const begun = { kind: "Interaction", params: { client_id: "chosen" } };
    await interactions.upsert("by this sign-in", begun, 10);
    await interactions.upsert("by this sign-in", { ...begun, result: { login: { accountId: "ada" } } }, 10);
    await interactions.upsert("never signed in", { kind: "Interaction" }, 10);
    await flood(records);
    expect(await interactions.find("by session")).toBeDefined();
    expect(await interactions.find("by this sign-in")).toBeDefined();
    expect(await interactions.find("never signed in")).toBeUndefined();
  });

  it("a registration that somebody consented to", async () => {
    const records = memory();
    await adapterOf(records, "Client").upsert("used", { clientId: "used" }, 10);
    await adapterOf(records, "Client").upsert("unused", { clientId: "unused" }, 10);
    await adapterOf(records, "Grant").upsert("g", { kind: "Grant", clientId: "used" }, 10);
    await flood(records);
    expect(await adapterOf(records, "Client").find("used")).toBeDefined();
    expect(await adapterOf(records, "Client").find("unused")).toBeUndefined();
  });

  it("another person's authorizations, when it is a person's who signed in", async () => {
    const records = memory();
    const adapter = adapterOf(records, "Interaction");
    await adapter.upsert("bob's", signedIn("bob"), 10);
    await adapter.upsert("a stranger's", { kind: "Interaction" }, 10);
    for (let index = 0; index <= limits.oauthInteractionsPerPersonMax; index += 1)
      await adapter.upsert(`ada's ${index}`, signedIn("ada"), 100 + index);
    expect(await adapter.find("ada's 0")).toBeUndefined();
    expect(await adapter.find("bob's")).toBeDefined();
    expect(await adapter.find("a stranger's")).toBeDefined();
  });
});

it("registrations that somebody who signed in only opens stay strangers', however many they are", async () => {
  const records = memory();
  const beyond = limits.oauthRegistrationsUnusedMax + 50;
  for (let index = 0; index < beyond; index += 1) {
    const id = `opened ${index}`;
    await adapterOf(records, "Client").upsert(id, { clientId: id }, 10 + index);
    const opened = { session: { accountId: "ada" }, params: { client_id: id } };
    await adapterOf(records, "Interaction").upsert(id, opened, 10);
  }
  const ids = Array.from({ length: beyond }, (_, index) => `opened ${index}`);
  const found = await Promise.all(ids.map((id) => adapterOf(records, "Client").find(id)));
  expect(found.filter((one) => one !== undefined).length).toBeLessThanOrEqual(limits.oauthRegistrationsUnusedMax);
});

it("grants and sessions are no strangers' records, and are not counted among them", async () => {
  const records = memory();
  for (const model of ["Grant", "Session", "RefreshToken"]) {
    await adapterOf(records, model).upsert("g", { kind: model }, 10);
    expect(await records.members(strangers(model))).toEqual([]);
  }
});

describe("replicas that write at once", () => {
  let redis: RedisUnderTest;
  const opened: Store[] = [];

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await redis.stop();
  });

  const overRedis = async (): Promise<readonly Store[]> => {
    const stores: RedisStore[] = [1, 2].map(() => createRedisStore({ url: redis.url, commandTimeoutMs: 10_000 }));
    opened.push(...stores);
    await Promise.all(stores.map((store) => store.ping()));
    return stores;
  };
  const inMemory = (): Promise<readonly Store[]> => {
    const store = memory();
    return Promise.resolve([store, store]);
  };

  it.each([
    ["in memory", inMemory],
    ["over Redis", overRedis],
  ])("%s: stay within the room, and no record is left that nobody counts", async (_where, open) => {
    const [one, other] = await open();
    if (one === undefined || other === undefined) throw new Error("no store");
    const room = strangers("Client");
    await fill(one, room, limits.oauthRegistrationsUnusedMax - 10);
    const ids = Array.from({ length: 300 }, (_, index) => `client ${index}`);
    // Half of them expire before all others, so that the records of this very flood are among those that leave.
    const write = (id: string, index: number): Promise<unknown> =>
      adapterOf(index % 2 === 0 ? one : other, "Client").upsert(id, { clientId: id }, index < 150 ? 10 : 1_000);
    await Promise.all(ids.map(write));
    const counted = new Set(await one.members(room));
    expect(counted.size).toBeLessThanOrEqual(limits.oauthRegistrationsUnusedMax);
    const found = await Promise.all(ids.map((id) => adapterOf(one, "Client").find(id)));
    const left = ids.filter((_, index) => found[index] !== undefined);
    expect(left.filter((id) => !counted.has(digestOf(id)))).toEqual([]);
    expect(left).toEqual(expect.arrayContaining(ids.slice(150)));
  });
});
