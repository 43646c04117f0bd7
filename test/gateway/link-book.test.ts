import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createSealing } from "../../src/gateway/create-sealing.ts";
import { createLinkBook } from "../../src/gateway/link-book.ts";
import type { LinkBook, LinkOwner } from "../../src/gateway/link-book.ts";
import type { RecordKey } from "../../src/model/records.ts";

const alice: LinkOwner = { tenant: "acme", server: "s", principalKey: "alice" };
const uri = "test://made/7";

interface Bench {
  readonly book: LinkBook;
  readonly records: Map<string, string>;
  clock: number;
}

function bench(): Bench {
  const records = new Map<string, string>();
  const state = { records, clock: 1_000 };
  const now = (): number => state.clock;
  const keys = { current: { kid: "k", key: randomBytes(32) }, previous: [] };
  const limits = { linkProvenanceMs: 1_000, linksNotedPerPrincipalMax: 3, linkOwnersRememberedMax: 2 };
  const book = createLinkBook({
    records: {
      get: (key: RecordKey) => Promise.resolve(records.get(key.join(" "))),
      set: (key: RecordKey, value: string) => {
        records.set(key.join(" "), value);
        return Promise.resolve();
      },
    },
    sealing: createSealing({ keys, random: randomBytes, now, sealedHandleCharsMax: 10_000 }),
    now,
    limits,
  });
  return Object.assign(state, { book });
}

const others: readonly (readonly [string, LinkOwner, string, string])[] = [
  ["tenant", { ...alice, tenant: "other" }, uri, "a"],
  ["server", { ...alice, server: "other" }, uri, "a"],
  ["principal", { ...alice, principalKey: "bob" }, uri, "a"],
  ["resource", alice, "test://made/8", "a"],
  ["upstream", alice, uri, "b"],
];

describe("the record of a named resource", () => {
  it.each(others)("is no record of another %s, not even under its key", async (_, owner, other, upstream) => {
    const one = bench();
    await one.book.note(alice, "a", [uri]);
    expect(await one.book.namedBy(alice, uri, ["b", "a"])).toEqual(["a"]);
    expect(await one.book.namedBy(owner, other, [upstream])).toEqual([]);
    const [sealed = ""] = one.records.values();
    await one.book.note(owner, upstream, [other]);
    for (const key of one.records.keys()) one.records.set(key, sealed);
    expect(await one.book.namedBy(owner, other, [upstream])).toEqual([]);
    expect(await one.book.namedBy(alice, uri, ["a"])).toEqual(["a"]);
  });

  it.each(others)("stays when the same is noted of another %s", async (_, owner, other, upstream) => {
    const one = bench();
    await one.book.note(alice, "a", [uri]);
    await one.book.note(owner, upstream, [other]);
    expect(await one.book.namedBy(alice, uri, ["a"])).toEqual(["a"]);
    expect(await one.book.namedBy(owner, other, [upstream])).toEqual([upstream]);
  });

  it("holds neither principal nor URI in readable form", async () => {
    const one = bench();
    await one.book.note(alice, "a", [uri]);
    expect(JSON.stringify([...one.records])).not.toMatch(/alice|made/);
  });

  it("that a store writer made up is none", async () => {
    const one = bench();
    await one.book.note(alice, "a", [uri]);
    for (const key of one.records.keys()) one.records.set(key, "v1.k.AAAAAAAAAAAAAAAA.AAAA");
    expect(await one.book.namedBy(alice, uri, ["a"])).toEqual([]);
  });

  it("counts until linkProvenanceMs have passed, whatever the store still has", async () => {
    const one = bench();
    await one.book.note(alice, "a", [uri]);
    one.clock += 999;
    expect(await one.book.namedBy(alice, uri, ["a"])).toEqual(["a"]);
    one.clock += 1;
    expect(await one.book.namedBy(alice, uri, ["a"])).toEqual([]);
  });
});

describe("one principal", () => {
  it("has linksNotedPerPrincipalMax within linkProvenanceMs, at each server", async () => {
    const one = bench();
    expect(await one.book.note(alice, "a", ["1", "2"])).toBe(0);
    expect(await one.book.note(alice, "b", ["3", "4"])).toBe(1);
    expect(await one.book.note(alice, "a", ["5"])).toBe(1);
    expect(one.records.size).toBe(3);
    expect(await one.book.note({ ...alice, server: "t" }, "a", ["1", "2", "3"])).toBe(0);
    one.clock += 999;
    expect(await one.book.note(alice, "a", ["6"])).toBe(1);
    one.clock += 1;
    expect(await one.book.note(alice, "a", ["6", "7", "8"])).toBe(0);
  });

  it("begins anew when more than linkOwnersRememberedMax came after it", async () => {
    const one = bench();
    await one.book.note(alice, "a", ["1", "2", "3"]);
    await one.book.note({ ...alice, principalKey: "bob" }, "a", ["1"]);
    expect(await one.book.note(alice, "a", ["4"])).toBe(1);
    await one.book.note({ ...alice, principalKey: "eve" }, "a", ["1"]);
    expect(await one.book.note(alice, "a", ["4"])).toBe(0);
  });
});
