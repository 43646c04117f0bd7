import { describe, expect, it } from "vitest";
import { itemFactsOf } from "../../src/cli/item-facts.ts";
import { labelsKnown, noteFaults, notesOf } from "../../src/cli/item-notes.ts";
import type { Config } from "../../src/config/types.ts";
import { decide, listing } from "../../src/policy/decide.ts";
import { obligationsOf } from "../../src/policy/obligations.ts";
import { compiled, writtenLock } from "../catalog/lock/lock-bench.ts";
import type { Change } from "../config/built-in-laws.ts";
import { changed, loadText } from "../config/load-text.ts";
import { constrain, deny, load, question, rule } from "../policy/given.ts";

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
    "DOCS://secret/plan",
    "docs://secret/public/../plan",
    "docs://%73ecret/plan",
    "docs://secret//plan",
    "docs://secret./plan",
    "docs://secret/%zz",
  ])("may hold for %s, which a lenient upstream may read as the resource that was meant", (uri) => {
    for (const kind of ["resource", "template"] as const) {
      const { labels, possible } = notesOf([{ [kind]: ["docs://secret/*"], labels: ["inner"] }])(kind, uri);
      expect(labels).toEqual([]);
      expect(possible?.map((marks) => marks.labels)).toEqual(expect.arrayContaining([["inner"], []]));
    }
  });

  it.each(["docs://secret/plan", "docs://secret/plan?x=1"])("holds for %s, however it is read", (uri) => {
    expect(notesOf([{ resource: ["docs://secret/*"], labels: ["inner"] }])("resource", uri)).toEqual({
      labels: ["inner"],
      annotations: {},
    });
  });

  it("begins, where it differs by reading, with all that may be said", () => {
    const notes = notesOf([
      { resource: ["docs://h/**"], labels: ["any"] },
      { resource: ["docs://h/secret/**"], labels: ["inner"] },
      { resource: ["docs://h/public/**"], labels: ["open"] },
    ]);
    const { labels, possible } = notes("resource", "docs://h/public/../secret/plan");
    expect(labels).toEqual(["any"]);
    expect(possible?.map((marks) => marks.labels)).toEqual([
      ["any", "inner", "open"],
      ["any", "open"],
      ["any", "inner"],
    ]);
  });

  it("does not hold for a resource that nobody reads so", () => {
    const notes = notesOf([{ resource: ["docs://secret/*"], labels: ["inner"] }]);
    expect(notes("resource", "docs://public/plan")).toEqual({ labels: [], annotations: {} });
  });
});

describe("patterns over items", () => {
  it("that can match nothing as they are meant are faults, each with its place", () => {
    const config = configOf([
      "upstreams.crm.items",
      [
        { tool: ["get", "a**b"], labels: ["a"] },
        { resource: ["docs://a/../b"], labels: ["b"] },
        { template: ["docs://a%2f{x}"], labels: ["b"] },
      ],
    ]);
    expect(noteFaults(config).map(({ path }) => path)).toEqual([
      "upstreams.crm.items[0].tool[1]",
      "upstreams.crm.items[1].resource[0]",
      "upstreams.crm.items[2].template[0]",
    ]);
    expect(labelsKnown(config)).toEqual(["a", "b"]);
  });
});

describe("a rule about a label", () => {
  const facts = itemFactsOf(
    configOf([
      "upstreams.crm.items",
      [
        { resource: ["docs://h/public/**"], labels: ["public"] },
        { template: ["docs://h/public/**"], labels: ["public"] },
      ],
    ]),
    undefined,
  );
  const ways: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ["a label", { what: { upstream: "crm", labels: ["public"] } }],
    ["a label in `when`", { when: '"public" in item.labels' }],
  ];
  const twofold = [
    "docs://h/secret/%ff",
    "docs://h/public/../secret/plan",
    "docs://h/public/%2e%2e/secret/b",
    "docs://h/public/..%2fsecret/c",
    "docs://h/secret/../public/a",
    "docs://h/%70ublic/a",
  ];
  describe.each(["resource", "template"] as const)("about a %s", (kind) => {
    it.each(ways)(
      "that asks for %s: an allow matches what surely has it, all others what may have it",
      (_way, more) => {
        const concerned = (name: string): readonly boolean[] => {
          const one = question({ kind, name });
          const allow = load([rule("a", more)], { factsOf: facts });
          const others = load([rule("a"), deny("d", more), constrain("c", more)], { factsOf: facts });
          return [
            decide(allow, one).effect === "allow",
            listing(allow, one) === "listed",
            decide(others, one).effect === "deny",
            obligationsOf(others, one).rules.length > 0,
          ];
        };
        expect(concerned("docs://h/public/a")).toEqual([true, true, true, true]);
        expect(concerned("docs://h/secret/a")).toEqual([false, false, false, false]);
        for (const uri of twofold) expect([uri, ...concerned(uri)]).toEqual([uri, false, false, true, true]);
      },
    );

    it("that asks for the lack of one: an allow matches what surely lacks it, a deny what may lack it", () => {
      const when = '!("public" in item.labels)';
      const effects = (name: string): readonly string[] => {
        const policies = [[rule("a", { when })], [rule("a"), deny("d", { when })]];
        return policies.map((rules) => decide(load(rules, { factsOf: facts }), question({ kind, name })).effect);
      };
      expect(effects("docs://h/public/a")).toEqual(["deny", "allow"]);
      expect(effects("docs://h/secret/a")).toEqual(["allow", "deny"]);
      for (const uri of twofold) expect([uri, ...effects(uri)]).toEqual([uri, "deny", "deny"]);
    });
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
