import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { presentationFor, type Presentation } from "../../src/catalog/presentation.ts";
import type { TextsByKind } from "../../src/catalog/shape.ts";
import type { Entry } from "../../src/catalog/table.ts";
import { createViews, type View } from "../../src/catalog/views.ts";
import { compilePolicies, type Policy } from "../../src/policy/compile.ts";
import { decide, listing } from "../../src/policy/decide.ts";
import { principal } from "../policy/given.ts";
import { itemOf, nothingNamed, partOf, tableOf, toolOf } from "./parts.ts";

function presentation(id: string, renames: Partial<TextsByKind> = {}, more: Partial<Presentation> = {}): Presentation {
  const upstreams = [partOf("crm", { renames: { ...nothingNamed, ...renames } })];
  return { id, matches: () => true, instructions: undefined, upstreams, ...more };
}

describe("the presentation of a principal", () => {
  const never = presentation("never", {}, { matches: () => false });
  const ada = presentation("ada", {}, { matches: ({ subject }) => subject === "ada" });
  const all = presentation("all");

  it.each([
    ["the first that is for them", [never, ada, all], "ada", "ada"],
    ["the first for whoever it is not for is a later one", [never, ada, all], "bob", "all"],
    ["none where none is for them", [never, ada], "bob", undefined],
    ["none where there is none", [], "ada", undefined],
  ] as const)("is %s", (_law, ordered, subject, id) => {
    expect(presentationFor(ordered, { ...principal(), subject })?.id).toBe(id);
  });
});

const names = ["get", "drop", "list", "move"];
const items = [...names.map((name) => toolOf("crm", name)), ...names.map((name) => itemOf("crm", "prompt", name))];

const rules = fc.array(
  fc.record({
    effect: fc.constantFrom("allow", "deny"),
    kind: fc.constantFrom("tool", "prompt"),
    name: fc.constantFrom(...names, "*", "g*", "crm_*"),
  }),
  { minLength: 1, maxLength: 5 },
);

function policyOf(written: readonly { effect: string; kind: string; name: string }[]): Policy {
  const compiled = compilePolicies(
    [
      {
        path: "a.yaml",
        value: {
          policy: "a",
          rules: written.map(({ effect, kind, name }, at) => ({
            id: `r${at}`,
            effect,
            who: { anyone: true },
            what: { upstream: "crm", [kind]: name },
          })),
        },
      },
    ],
    { issuerAliases: ["corp"], upstreams: ["crm"], servers: ["s"] },
  );
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.policy;
}

const request = { now: 0, transport: "http", era: "modern", revision: "" } as const;

function viewUnder(policy: Policy, shown?: Presentation): View {
  const table = tableOf([partOf("crm")], items, shown);
  const visible = ({ item }: Entry): boolean =>
    listing(policy, { principal: principal(), server: "s", item, request }) === "listed";
  const views = createViews({ viewsMax: 1, viewAgeMsMax: 1_000, now: () => 0 });
  return views.of({ table, principal: principal(), policy: policy.digest, revision: "r", visible });
}

/** What becomes of a use of the item, as far as policy says. */
function outcome(policy: Policy, { item }: Entry): string {
  return JSON.stringify([item, decide(policy, { principal: principal(), server: "s", item, args: {}, request })]);
}

/** Other names for all tools and prompts, each of which another item may have at its upstream. */
const renames = fc
  .tuple(
    fc.shuffledSubarray([...names, "other", "crm_get"], { minLength: 4, maxLength: 4 }),
    fc.shuffledSubarray([...names, "other", "crm_get"], { minLength: 4, maxLength: 4 }),
  )
  .map(([tools, prompts]) => ({
    tool: new Map(names.map((name, at) => [name, tools[at] ?? name])),
    prompt: new Map(names.map((name, at) => [name, prompts[at] ?? name])),
  }));

describe("a presentation that gives items other names, even each other's", () => {
  it("changes no decision, hides nothing, and shows nothing that was hidden", () => {
    fc.assert(
      fc.property(rules, renames, (written, given) => {
        const policy = policyOf(written);
        const [plain, renamed] = [viewUnder(policy), viewUnder(policy, presentation("p", given))];
        const all = (view: View): readonly string[] => [...view.visible].map((entry) => outcome(policy, entry)).sort();
        expect(all(renamed)).toEqual(all(plain));
      }),
    );
  });

  it("leads from every name that is shown to the item that is shown under it, and to no other", () => {
    fc.assert(
      fc.property(rules, renames, (written, given) => {
        const { visible, byName } = viewUnder(policyOf(written), presentation("p", given));
        for (const entry of visible) {
          const { kind, name } = entry.item;
          expect(entry.exposed).toBe(given[kind as "tool" | "prompt"].get(name));
          expect(entry.shown["name"]).toBe(entry.exposed);
          expect(byName[kind].get(entry.exposed)).toEqual([entry]);
        }
      }),
    );
  });
});
