import { describe, expect, it } from "vitest";
import { itemFactsOf } from "../../src/cli/item-facts.ts";
import { labelsKnown, noteFaults, notesOf } from "../../src/cli/item-notes.ts";
import type { Config } from "../../src/config/types.ts";
import { compiled, writtenLock } from "../catalog/lock/lock-bench.ts";
import type { Change } from "../config/built-in-laws.ts";
import { changed, loadText } from "../config/load-text.ts";

function configOf(...changes: readonly Change[]): Config {
  const loaded = loadText(changed(...changes));
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}

describe("what is said of an item", () => {
  it.each([
    ["the entry that names it", [{ tool: ["get"], labels: ["a"] }], ["tool", "get"], ["a"]],
    ["an entry with a pattern", [{ tool: ["g*"], labels: ["a"] }], ["tool", "get"], ["a"]],
    [
      "every entry that names it, once",
      [
        { tool: ["get"], labels: ["a", "b"] },
        { tool: ["*"], labels: ["b", "c"] },
      ],
      ["tool", "get"],
      ["a", "b", "c"],
    ],
    ["no entry for another kind", [{ tool: ["get"], labels: ["a"] }], ["prompt", "get"], []],
    ["no entry for another name", [{ tool: ["get"], labels: ["a"] }], ["tool", "Get"], []],
    ["nothing where nothing is said", [], ["tool", "get"], []],
  ] as const)("comes from %s", (_law, items, [kind, name], labels) => {
    expect(notesOf(items)(kind, name).labels).toEqual(labels);
  });

  it("is the later word where two differ, word by word", () => {
    const notes = notesOf([
      { tool: ["*"], annotations: { readOnly: true, destructive: false }, title: "First" },
      { tool: ["get"], annotations: { readOnly: false }, labels: ["a"] },
      { tool: ["other"], title: "Last" },
    ]);
    expect(notes("tool", "get")).toEqual({
      labels: ["a"],
      annotations: { readOnly: false, destructive: false },
      title: "First",
    });
  });

  it.each([
    "docs://secret/plan",
    "DOCS://secret/plan",
    "docs://secret/public/../plan",
    "docs://%73ecret/plan",
    "docs://secret//plan",
    "docs://secret/plan?x=1",
    "docs://secret/%zz",
  ])("holds for %s, which a lenient upstream may read as the resource that was meant", (uri) => {
    expect(notesOf([{ resource: ["docs://secret/*"], labels: ["inner"] }])("resource", uri).labels).toEqual(["inner"]);
  });

  it("does not hold for a resource that nobody reads so", () => {
    const notes = notesOf([{ resource: ["docs://secret/*"], labels: ["inner"] }]);
    expect(notes("resource", "docs://public/plan").labels).toEqual([]);
  });
});

describe("patterns over items", () => {
  it("that can match nothing as they are meant are faults, each with its place", () => {
    const config = configOf([
      "upstreams.crm.items",
      [
        { tool: ["get", "a**b"], labels: ["a"] },
        { resource: ["docs://a/../b"], labels: ["b"] },
      ],
    ]);
    expect(noteFaults(config).map(({ path }) => path)).toEqual([
      "upstreams.crm.items[0].tool[1]",
      "upstreams.crm.items[1].resource[0]",
    ]);
    expect(labelsKnown(config)).toEqual(["a", "b"]);
  });
});

describe("what policy is told", () => {
  const noted = ["upstreams.crm.items", [{ tool: ["get"], labels: ["a"], annotations: { readOnly: true } }]] as const;
  const asked = { upstream: "crm", kind: "tool" } as const;

  it("is what the operator says, and that everything counts as locked without a lock", () => {
    const facts = itemFactsOf(configOf(noted), undefined);
    expect(facts({ ...asked, name: "get" })).toMatchObject({
      labels: ["a"],
      annotations: { readOnly: true },
      locked: true,
    });
    expect(facts({ ...asked, name: "drop" })).toMatchObject({ labels: [], annotations: {}, locked: true });
  });

  it.each([
    ["enforce", "get", true],
    ["enforce", "drop", false],
    ["observe", "drop", true],
    ["off", "drop", true],
  ] as const)("with a lock in mode %s is that %s counts as locked: %s", async (mode, name, locked) => {
    const lock = compiled(await writtenLock({ crm: { tool: [{ name: "get", inputSchema: { type: "object" } }] } }));
    const config = configOf(["catalogLock", "./catalog.lock.json"], ["upstreams.crm.lock", mode]);
    expect(itemFactsOf(config, lock)({ ...asked, name }).locked).toBe(locked);
  });
});
