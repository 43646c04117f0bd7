import { describe, expect, it } from "vitest";
import type { RecordKey } from "../../src/model/records.ts";
import type { Store } from "../../src/store/store.ts";

export interface StoreUnderTest {
  /** A store on its own connection over the same records, or the same store where there is one process. */
  readonly open: () => Store | Promise<Store>;
  /** Lets time pass for the store: the memory store's clock moves, Redis' is waited for. */
  readonly pass: (ms: number) => Promise<void>;
  /** A life that certainly lasts through a few operations, and that `pass` outlasts cheaply. */
  readonly shortMs: number;
}

const longMs = 600_000;
let serial = 0;

/** A key that no other test uses, of the kind named. */
function freshKey(kind = "session"): RecordKey {
  serial += 1;
  return [kind, "acme", `${process.pid}-${serial}`];
}

/** The laws that every store keeps. */
export function describeStoreContract(name: string, start: () => StoreUnderTest): void {
  describe(`${name}: records`, () => {
    it("get returns what set wrote, whatever the text, and undefined for what is not there", async () => {
      const { open } = start();
      const store = await open();
      for (const value of [
        "",
        "text",
        "0",
        '{"a":1}',
        "line\nbreak\u0000nul",
        "ünïcödé \u{1f600}",
        "x".repeat(100_000),
      ]) {
        const key = freshKey();
        expect(await store.get(key)).toBeUndefined();
        await store.set(key, value, longMs);
        expect(await store.get(key)).toBe(value);
      }
    });

    it("a record is gone when its life is over, and not before", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const [brief, long] = [freshKey(), freshKey()];
      await store.set(brief, "v", shortMs);
      await store.set(long, "v", longMs);
      expect(await store.get(brief)).toBe("v");
      await pass(shortMs);
      expect(await store.get(brief)).toBeUndefined();
      expect(await store.get(long)).toBe("v");
    });

    it("set replaces value and life", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey();
      await store.set(key, "first", shortMs);
      await store.set(key, "second", longMs);
      await pass(shortMs);
      expect(await store.get(key)).toBe("second");
    });

    it("setIfAbsent writes only where nothing is, and again once that expired", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey();
      expect(await store.setIfAbsent(key, "first", shortMs)).toBe(true);
      expect(await store.setIfAbsent(key, "second", shortMs)).toBe(false);
      expect(await store.get(key)).toBe("first");
      await pass(shortMs);
      expect(await store.setIfAbsent(key, "third", longMs)).toBe(true);
      expect(await store.get(key)).toBe("third");
    });

    it("of many callers on two connections, setIfAbsent lets one win", async () => {
      const { open } = start();
      const stores = [await open(), await open()];
      const key = freshKey();
      const won = await Promise.all(
        Array.from({ length: 50 }, (_, n) => stores[n % 2]!.setIfAbsent(key, String(n), longMs)),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await stores[0]!.get(key)).toBe(String(won.indexOf(true)));
    });

    it("replace writes only over the expected value, and takes the new life", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey();
      expect(await store.replace(key, "", "v", longMs)).toBe(false);
      expect(await store.get(key)).toBeUndefined();
      await store.set(key, "a", shortMs);
      expect(await store.replace(key, "b", "c", longMs)).toBe(false);
      expect(await store.replace(key, "a", "b", longMs)).toBe(true);
      await pass(shortMs);
      expect(await store.get(key)).toBe("b");
    });

    it("of many callers that saw the same value, replace lets one win", async () => {
      const { open } = start();
      const stores = [await open(), await open()];
      const key = freshKey();
      await stores[0]!.set(key, "seen", longMs);
      const won = await Promise.all(
        Array.from({ length: 50 }, (_, n) => stores[n % 2]!.replace(key, "seen", `by ${n}`, longMs)),
      );
      expect(won.filter(Boolean)).toHaveLength(1);
    });

    it("touch extends a life and revives nothing", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const [kept, left] = [freshKey(), freshKey()];
      await store.set(kept, "v", shortMs);
      await store.set(left, "v", shortMs);
      expect(await store.touch(kept, longMs)).toBe(true);
      await pass(shortMs);
      expect(await store.get(kept)).toBe("v");
      expect(await store.touch(left, longMs)).toBe(false);
      expect(await store.get(left)).toBeUndefined();
    });

    it("delete says whether something was removed", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const [key, expired] = [freshKey(), freshKey()];
      await store.set(key, "v", longMs);
      await store.set(expired, "v", shortMs);
      await pass(shortMs);
      expect(await store.delete(key)).toBe(true);
      expect(await store.delete(key)).toBe(false);
      expect(await store.delete(expired)).toBe(false);
      expect(await store.get(key)).toBeUndefined();
    });

    it("of many callers, take gives the value to one", async () => {
      const { open } = start();
      const stores = [await open(), await open()];
      const key = freshKey();
      await stores[0]!.set(key, "", longMs);
      const taken = await Promise.all(Array.from({ length: 50 }, (_, n) => stores[n % 2]!.take(key)));
      expect(taken.filter((value) => value === "")).toHaveLength(1);
      expect(taken.filter((value) => value === undefined)).toHaveLength(49);
    });

    it("a life of zero or less is over at once, and one that is no number is our bug", async () => {
      const { open, pass } = start();
      const store = await open();
      for (const ttlMs of [0, -1, 0.2]) {
        const key = freshKey();
        await store.set(key, "v", ttlMs);
        await pass(2);
        expect(await store.get(key)).toBeUndefined();
      }
      for (const ttlMs of [Number.NaN, Infinity, 2e12]) {
        await expect(store.set(freshKey(), "v", ttlMs)).rejects.toBeInstanceOf(RangeError);
      }
    });

    it("tenants and kinds do not meet, nor do parts that contain the separator", async () => {
      const { open } = start();
      const store = await open();
      const keys: RecordKey[] = [
        ["session", "acme", "a:b"],
        ["session", "acme", "a", "b"],
        ["session", "other", "a:b"],
        ["denied-token", "acme", "a:b"],
        ["session", "acme:a", "b"],
        ["session", "acme", "A:B"],
      ];
      for (const [n, key] of keys.entries()) await store.set(key, String(n), longMs);
      expect(await Promise.all(keys.map((key) => store.get(key)))).toEqual(keys.map((_, n) => String(n)));
    });
  });

  describe(`${name}: sets`, () => {
    it("count live members once each, with a life of their own", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey("session-set");
      expect(await store.addMember(key, "brief", shortMs)).toBe(1);
      expect(await store.addMember(key, "long", longMs)).toBe(2);
      expect(await store.addMember(key, "long", longMs)).toBe(2);
      expect([...(await store.members(key))].sort()).toEqual(["brief", "long"]);
      await pass(shortMs);
      expect(await store.members(key)).toEqual(["long"]);
      expect(await store.addMember(key, "third", longMs)).toBe(2);
    });

    it("a set lives as long as its longest-lived member, also when a briefer one comes later", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey("session-set");
      await store.addMember(key, "long", longMs);
      await store.addMember(key, "brief", shortMs);
      await pass(shortMs);
      expect(await store.members(key)).toEqual(["long"]);
    });

    it("a member that is added again takes the new life", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey("session-set");
      await store.addMember(key, "m", shortMs);
      await store.addMember(key, "m", longMs);
      await pass(shortMs);
      expect(await store.members(key)).toEqual(["m"]);
    });

    it("removing the last member, or one that is not there, leaves an empty set", async () => {
      const { open } = start();
      const store = await open();
      const key = freshKey("session-set");
      await store.removeMember(key, "nobody");
      await store.addMember(key, "only", longMs);
      await store.removeMember(key, "only");
      expect(await store.members(key)).toEqual([]);
      expect(await store.addMember(key, "next", longMs)).toBe(1);
    });

    it.each([
      { keepMax: 2, takeMax: 9, taken: ["first", "second"], left: ["last", "third"] },
      { keepMax: 2, takeMax: 1, taken: ["first"], left: ["last", "second", "third"] },
      { keepMax: 4, takeMax: 9, taken: [], left: ["first", "last", "second", "third"] },
      { keepMax: 9, takeMax: 9, taken: [], left: ["first", "last", "second", "third"] },
      { keepMax: 0, takeMax: 9, taken: ["first", "last", "second", "third"], left: [] },
    ])("beyond $keepMax, at most $takeMax that expire first are taken: $taken", async ({ taken, left, ...bounds }) => {
      const { open } = start();
      const store = await open();
      const key = freshKey("session-set");
      expect(await store.takeExcess(key, bounds)).toEqual([]);
      const members = { last: 4, second: 2, first: 1, third: 3 };
      for (const [member, lives] of Object.entries(members)) await store.addMember(key, member, lives * longMs);
      expect([...(await store.takeExcess(key, bounds))].sort()).toEqual(taken);
      expect([...(await store.members(key))].sort()).toEqual(left);
      expect(await store.addMember(key, "next", longMs)).toBe(left.length + 1);
    });

    it("members that have expired are no excess", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey("session-set");
      await store.addMember(key, "brief", shortMs);
      await store.addMember(key, "long", longMs);
      await pass(shortMs);
      expect(await store.takeExcess(key, { keepMax: 1, takeMax: 9 })).toEqual([]);
      expect(await store.takeExcess(key, { keepMax: 0, takeMax: 9 })).toEqual(["long"]);
    });

    it("of many callers on two connections, each member of the excess goes to one", async () => {
      const { open } = start();
      const stores = [await open(), await open()];
      const key = freshKey("session-set");
      for (let n = 0; n < 30; n += 1) await stores[0]!.addMember(key, String(n), longMs);
      const bounds = { keepMax: 10, takeMax: 3 };
      const taken = await Promise.all(Array.from({ length: 12 }, (_, n) => stores[n % 2]!.takeExcess(key, bounds)));
      expect(new Set(taken.flat()).size).toBe(20);
      expect(taken.flat()).toHaveLength(20);
      expect(await stores[1]!.members(key)).toHaveLength(10);
    });
  });

  describe(`${name}: counters`, () => {
    it("count from one, and every caller gets a number of its own", async () => {
      const { open } = start();
      const stores = [await open(), await open()];
      const key = freshKey("counter");
      const counts = await Promise.all(Array.from({ length: 40 }, (_, n) => stores[n % 2]!.increment(key, longMs)));
      expect([...counts].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    });

    it("the first count sets the window; later ones do not move its end", async () => {
      const { open, pass, shortMs } = start();
      const store = await open();
      const key = freshKey("counter");
      expect(await store.increment(key, shortMs)).toBe(1);
      expect(await store.increment(key, longMs)).toBe(2);
      await pass(shortMs);
      expect(await store.increment(key, longMs)).toBe(1);
    });
  });

  describe(`${name}: as a whole`, () => {
    it("answers ping, and after close nothing", async () => {
      const { open } = start();
      const store = await open();
      await store.ping();
      const key = freshKey();
      await store.set(key, "v", longMs);
      await store.close();
      await expect(store.ping()).rejects.toMatchObject({ name: "StoreUnavailable" });
      await expect(store.get(key)).rejects.toMatchObject({ name: "StoreUnavailable" });
      await expect(store.set(key, "v", longMs)).rejects.toMatchObject({ name: "StoreUnavailable" });
    });

    it("a record of the wrong kind is a failure of the store, not an empty answer", async () => {
      const { open } = start();
      const store = await open();
      const [set, text] = [freshKey("session-set"), freshKey()];
      await store.addMember(set, "m", longMs);
      await store.set(text, "no number", longMs);
      const failure = { name: "StoreUnavailable" };
      await expect(store.get(set)).rejects.toMatchObject(failure);
      await expect(store.take(set)).rejects.toMatchObject(failure);
      await expect(store.members(text)).rejects.toMatchObject(failure);
      await expect(store.addMember(text, "m", longMs)).rejects.toMatchObject(failure);
      await expect(store.takeExcess(text, { keepMax: 0, takeMax: 1 })).rejects.toMatchObject(failure);
      await expect(store.increment(text, longMs)).rejects.toMatchObject(failure);
    });

    it("a value beyond its bound is refused before it is sent", async () => {
      const { open } = start();
      const store = await open();
      const key = freshKey();
      const large = "x".repeat(1_048_577);
      await expect(store.set(key, large, longMs)).rejects.toBeInstanceOf(RangeError);
      await expect(store.replace(key, "", large, longMs)).rejects.toBeInstanceOf(RangeError);
      await store.set(key, large.slice(1), longMs);
      expect((await store.get(key))?.length).toBe(1_048_576);
    });
  });
}
