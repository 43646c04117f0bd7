// Whoever has not signed in must not be able to fill the store that everybody's sessions are in.
import { describe, expect, it } from "vitest";
import { createGrantAdapter } from "../../src/authserver/grant-adapter.ts";
import { limits } from "../../src/model/limits.ts";
import { StoreUnavailable } from "../../src/model/records.ts";
import { createMemoryStore } from "../../src/store/memory.ts";

describe.each([
  ["Interaction", limits.oauthInteractionsMax],
  ["Client", limits.oauthRegistrationsUnusedMax],
])("records of the model %s", (model, max) => {
  it("find no room beyond strangers' share, and those that are there live on", async () => {
    let now = 1_000_000;
    const records = createMemoryStore({ now: () => now });
    const adapter = createGrantAdapter(model, { records, now: () => now, refreshGraceMs: 0 });
    const live = ["oauthStrangers", "default", model] as const;
    for (let index = 0; index < max - 1; index += 1) await records.addMember(live, `other ${index}`, 10_000);
    await adapter.upsert("last", { kind: model }, 10);
    await expect(adapter.upsert("beyond", { kind: model }, 10)).rejects.toThrow(StoreUnavailable);
    await expect(adapter.upsert("last", { kind: model }, 10)).resolves.toBeUndefined();
    expect(await adapter.find("beyond")).toBeUndefined();
    expect(await adapter.find("last")).toMatchObject({ kind: model });

    await adapter.destroy("last");
    await expect(adapter.upsert("next", { kind: model }, 10)).resolves.toBeUndefined();
    now += 10_001;
    await expect(adapter.upsert("later", { kind: model }, 10)).resolves.toBeUndefined();
  });
});

it("a registration that somebody signed in with leaves its room to the next stranger's", async () => {
  const records = createMemoryStore({ now: () => 0 });
  const adapterOf = (model: string): ReturnType<typeof createGrantAdapter> =>
    createGrantAdapter(model, { records, now: () => 0, refreshGraceMs: 0 });
  await adapterOf("Client").upsert("used", { clientId: "used" }, 10);
  await adapterOf("Client").upsert("unused", { clientId: "unused" }, 10);
  await adapterOf("Grant").upsert("g", { kind: "Grant", clientId: "used" }, 10);
  expect(await records.members(["oauthStrangers", "default", "Client"])).toHaveLength(1);
  expect(await adapterOf("Client").find("used")).toBeDefined();
});

it("grants and sessions are no strangers' records, and are not counted among them", async () => {
  const records = createMemoryStore({ now: () => 0 });
  const adapter = createGrantAdapter("Grant", { records, now: () => 0, refreshGraceMs: 0 });
  await adapter.upsert("g", { kind: "Grant" }, 10);
  expect(await records.members(["oauthStrangers", "default", "Grant"])).toEqual([]);
});
