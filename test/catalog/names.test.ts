import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { connectEntry } from "../../src/catalog/connect-entry.ts";
import { fitName } from "../../src/catalog/names.ts";
import { colliding } from "../../src/catalog/table.ts";
import type { ItemIdentity, ItemKind } from "../../src/model/item.ts";
import type { NameRules } from "../../src/model/shown-name.ts";
import { itemOf, partOf, tableOf, toolOf } from "./parts.ts";

const usual: NameRules = { maxChars: 64, characters: "providers" };
const wide: NameRules = { maxChars: 128, characters: "protocol" };

function fitted(name: string, rules: NameRules = usual, of: Partial<ItemIdentity> = {}): string {
  return fitName(name, { upstream: "crm", kind: "tool", name, ...of }, rules);
}

describe("a name that fits", () => {
  it.each(["get_ticket", "Get-Ticket", "_x", "a", "x".repeat(64)])("%s is shown as it is", (name) => {
    expect(fitted(name)).toBe(name);
  });

  it.each(["3d.render", "-x", "a.b", "x".repeat(128)])("%s is, where the protocol's characters do", (name) => {
    expect(fitted(name, wide)).toBe(name);
  });
});

describe("a name that does not fit", () => {
  // These stand in people's notes, in agents' prompts and in evidence: they may never change.
  it.each([
    ["search files", "search_files_srth8rjm"],
    ["files/search", "files_search_ehxfq2p0"],
    ["a.b", "a_b_s5dpfgsn"],
    ["3d_render", "_3d_render_ehsjz7af"],
    ["Übersicht", "_bersicht_zrb9q78b"],
    ["💥", "__9ahjvy67"],
    ["x".repeat(65), `${"x".repeat(55)}_gjsp67mr`],
    ["", "_5n2f84yy"],
  ])("%j is shown as %s at every replica, of every version", (name, shown) => {
    expect(fitted(name)).toBe(shown);
  });

  it("is another for another upstream, another kind and another name of one beginning", () => {
    const long = "x".repeat(80);
    const all = [
      fitted(long),
      fitted(long, usual, { upstream: "tickets" }),
      fitted(long, usual, { kind: "prompt" }),
      fitted(`${long.slice(1)}y`),
    ];
    expect(new Set(all).size).toBe(4);
  });

  it("follows from whose it is, whatever stands before it here and is cut with it", () => {
    const of = { upstream: "crm", kind: "tool", name: "x".repeat(80) } as const;
    const suffixes = ["", "a_", "another_prefix_"].map((prefix) => fitName(prefix + of.name, of, usual).slice(-9));
    expect(new Set(suffixes).size).toBe(1);
  });
});

const rules = fc.record({
  maxChars: fc.integer({ min: 16, max: 128 }),
  characters: fc.constantFrom("providers", "protocol"),
});
const odd = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 200 }),
  fc.string({ unit: fc.constantFrom("a", "B", "9", "_", "-", ".", "/", " ", "é"), minLength: 1, maxLength: 200 }),
);
const identities = fc.record({
  upstream: fc.constantFrom("crm", "tickets"),
  kind: fc.constantFrom<ItemKind>("tool", "prompt"),
  name: odd,
});

describe("names of whatever upstreams call their items", () => {
  it("have characters and a length that are accepted, and stay what they are when they are fitted again", () => {
    fc.assert(
      fc.property(identities, rules, (of, by) => {
        const shown = fitName(of.name, of, by);
        expect(shown).toMatch(by.characters === "providers" ? /^[A-Za-z_][A-Za-z0-9_-]*$/ : /^[A-Za-z0-9_.-]+$/);
        expect(shown.length).toBeLessThanOrEqual(by.maxChars);
        expect(fitName(shown, of, by)).toBe(shown);
      }),
      { numRuns: 2_000 },
    );
  });

  it("are each other's only where two items are called the same", () => {
    const many = fc.uniqueArray(identities, { selector: (of) => JSON.stringify(of), minLength: 2, maxLength: 40 });
    fc.assert(
      fc.property(many, rules, (items, by) => {
        const parts = ["crm", "tickets"].map((upstream) => partOf(upstream, { prefix: `${upstream}_`, names: by }));
        const table = tableOf(
          parts,
          items.map(({ upstream, kind, name }) => itemOf(upstream, kind, name)),
        );
        expect(colliding(table.entries)).toEqual([]);
      }),
    );
  });

  it("are the same in whatever order upstreams list them, and whatever else they list", () => {
    const many = fc.uniqueArray(odd, { minLength: 1, maxLength: 20 });
    const namesOf = (names: readonly string[]): ReadonlyMap<string, string> => {
      const table = tableOf(
        [partOf("crm")],
        names.map((name) => toolOf("crm", name)),
      );
      return new Map(table.entries.map(({ item, exposed }) => [item.name, exposed]));
    };
    fc.assert(
      fc.property(many, fc.nat(), (names, seed) => {
        const all = namesOf(names);
        const [turned, kept] = [names.toReversed(), names.filter((_, at) => (seed >> (at % 30)) % 2 === 0)];
        for (const some of [namesOf(turned), namesOf(kept)])
          for (const [name, exposed] of some) expect(exposed).toBe(all.get(name));
      }),
    );
  });
});

describe("an item that is shown under a fitted name", () => {
  const [entry] = tableOf([partOf("crm")], [toolOf("crm", "search files")]).entries;

  it("keeps its own, by which policy judges it and the upstream knows it, and is not withheld", () => {
    expect(entry).toMatchObject({
      item: { name: "search files", definition: { name: "search files" } },
      withheld: undefined,
      shown: { name: entry?.exposed },
    });
  });
});

describe("names of resources", () => {
  it("are addresses, and stay as they are", () => {
    const uri = `https://files.example/${"x".repeat(200)}?a=b c`;
    expect(tableOf([partOf("crm")], [itemOf("crm", "resource", uri)]).entries[0]?.exposed).toBe(uri);
  });
});

describe("the gateway's own tool", () => {
  it("has a name that fits, whatever its upstream is called", () => {
    const long = "x".repeat(63);
    expect(connectEntry("crm", usual).exposed).toBe("connect_crm");
    expect(connectEntry(long, usual).exposed).toMatch(/^connect_x{47}_[0-9a-z]{8}$/);
    expect(connectEntry(long, usual).shown["name"]).toBe(connectEntry(long, usual).exposed);
  });
});
