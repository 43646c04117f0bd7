import { describe, expect, it } from "vitest";
import { createBrokeredPeople, type BrokeredPeople } from "../../src/authserver/brokered-people.ts";
import type { ProviderRechecked } from "../../src/authserver/port.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createFakeProvider, createTestSealer, grace, type FakeProvider } from "./fake-provider.ts";

/** What the provider signed, as far as it is looked at here. */
function idToken(name: string, exp: number): string {
  return ["e30", Buffer.from(JSON.stringify({ name, exp })).toString("base64url"), "c2ln"].join(".");
}

interface Bench {
  readonly people: BrokeredPeople;
  readonly provider: FakeProvider;
  readonly clock: { now: number };
}

function bench(regrantSeconds = 43_200): Bench {
  const clock = { now: 1_000_000 };
  const now = (): number => clock.now;
  const provider = createFakeProvider();
  const parts = { provider, records: createMemoryStore({ now }), sealer: createTestSealer(), regrantSeconds };
  const people = createBrokeredPeople({ ...parts, scopesByGroup: undefined, now, log: () => undefined });
  return { people, provider, clock };
}

const first = idToken("first", 1_600);
const second = idToken("second", 9_000);

function answered(more: object): ProviderRechecked {
  return { kind: "there", person: { ...grace, ...more } };
}

describe("the ID token of somebody who signed in at the provider", () => {
  it("is the one of the sign-in until shortly before it expires", async () => {
    const { people, provider, clock } = bench();
    await people.remember({ ...grace, idToken: first });
    clock.now = 1_569_999;
    expect(await people.idTokenOf(grace.subject)).toBe(first);
    expect(provider.rechecks).toEqual([]);
    provider.rechecked = answered({ idToken: second });
    clock.now += 1;
    expect(await people.idTokenOf(grace.subject)).toBe(second);
    expect(provider.rechecks).toEqual(["provider-refresh-1"]);
    expect(await people.idTokenOf(grace.subject)).toBe(second);
    expect(provider.rechecks).toHaveLength(1);
  });

  it("outlives a recheck that brings none", async () => {
    const { people, provider } = bench();
    await people.remember({ ...grace, idToken: first });
    provider.rechecked = answered({});
    await people.findAnew(grace.subject);
    expect(await people.idTokenOf(grace.subject)).toBe(first);
  });

  it.each([
    ["nobody of that name signed in", undefined, answered({})],
    ["it expired and the provider gives no other", { ...grace, idToken: idToken("old", 1_000) }, answered({})],
    [
      "it expired and there is nothing to ask with",
      { ...grace, refresh: undefined, idToken: idToken("old", 1_000) },
      answered({ idToken: second }),
    ],
    [
      "the provider says that the person is gone",
      { ...grace, idToken: idToken("old", 1_000) },
      { kind: "gone" } as const,
    ],
    ["what was kept is no token", { ...grace, refresh: undefined, idToken: "sesame" }, answered({})],
  ])("is not to be had where %s", async (_name, remembered, rechecked) => {
    const { people, provider } = bench();
    if (remembered !== undefined) await people.remember(remembered);
    provider.rechecked = rechecked;
    expect(await people.idTokenOf(grace.subject)).toBeUndefined();
  });

  it("is not shown once the sign-in itself vouches for nobody any more", async () => {
    const { people, clock, provider } = bench(60);
    await people.remember({ ...grace, idToken: second });
    provider.rechecked = { kind: "unavailable" };
    clock.now += 60_000;
    expect(await people.idTokenOf(grace.subject)).toBeUndefined();
  });
});
