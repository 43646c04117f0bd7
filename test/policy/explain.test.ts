import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limits } from "../../src/model/limits.ts";
import { appraise, outcomeKey, possibleOutcomes } from "../../src/policy/appraise.ts";
import { compilePolicies } from "../../src/policy/compile.ts";
import { decide, listing } from "../../src/policy/decide.ts";
import { explain } from "../../src/policy/explain.ts";
import type { Explanation } from "../../src/policy/explain.ts";
import { ruleSources } from "../../src/policy/rule-source.ts";
import { noFacts } from "../../src/model/item-facts.ts";
import { anyArgs, anyContext, anyQuestion, anyRules, numbered } from "./arbitrary.ts";
import { context, deny, load, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

function explained(rules: readonly unknown[], asked: Asked, more: Parameters<typeof load>[1] = {}): Explanation {
  const documents = [{ path: "p.yaml", value: { policy: "p", rules } }];
  const compiled = compilePolicies(documents, { ...context, ...more });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return explain(compiled.policy, ruleSources(documents), question(asked));
}

const keysOf = (outcomes: ReturnType<typeof possibleOutcomes>): readonly string[] => [
  ...new Set(outcomes.map(outcomeKey)),
];

describe("an explanation", () => {
  it("says of decision and listing what deciding and listing say, and of known arguments that one outcome", () => {
    fc.assert(
      fc.property(anyRules, anyQuestion, anyContext, (rules, asked, more) => {
        const policy = load(numbered(rules), more);
        const sources = ruleSources([{ path: "p.yaml", value: { rules: numbered(rules) } }]);
        const { decision, listed, possible } = explain(policy, sources, asked);
        expect(decision).toEqual(decide(policy, asked));
        expect(listed).toBe(listing(policy, asked));
        const missing = decision.effect === "step-up" ? decision.missing : [];
        expect(keysOf(possible)).toEqual([outcomeKey({ effect: decision.effect, missing })]);
      }),
    );
  });

  it("of unknown arguments names whatever any arguments lead to", () => {
    fc.assert(
      fc.property(anyRules, anyQuestion, anyContext, anyArgs, (rules, asked, more, args) => {
        const policy = load(numbered(rules), more);
        const possible = keysOf(possibleOutcomes(appraise(policy, { ...asked, args: undefined })));
        const decision = decide(policy, { ...asked, args });
        const missing = decision.effect === "step-up" ? decision.missing : [];
        expect(possible).toContain(outcomeKey({ effect: decision.effect, missing }));
      }),
    );
  });

  it.each<[string, readonly unknown[], Asked, string, object]>([
    ["decides", [rule("a")], {}, "a", { is: "decides" }],
    ["a deny decides over an allow", [rule("a"), deny("d")], {}, "a", { is: "holds" }],
    ["false", [rule("a", { when: "has(args.x)" })], {}, "a", { is: "condition-false" }],
    [
      "errs",
      [rule("a", { when: "1 / 0 == 1" })],
      {},
      "a",
      { is: "condition-error", because: expect.stringMatching(/zero/) as string },
    ],
    [
      "costs too much",
      [rule("a", { when: 'has(args.l) && args.l.all(e, args.l.all(f, f != "x"))' })],
      { args: { l: Array.from({ length: 1_000 }, () => "y") } },
      "a",
      { is: "condition-error", because: `it costs more than ${limits.conditionStepsMax} steps` },
    ],
    [
      "unknown",
      [rule("a", { when: "has(args.x)" })],
      { args: undefined },
      "a",
      { is: "condition-unknown", because: "it depends on what is not known" },
    ],
    [
      "scopes",
      [rule("a", { stepUp: { scopes: { all: ["s", "t"] } } })],
      { who: { scopes: ["t"] } },
      "a",
      { is: "scopes-missing", missing: ["s"] },
    ],
    [
      "who",
      [rule("a", { who: { groups: ["corp:lead"], kind: "human", claims: { region: ["eu"] } } })],
      { who: { claims: { region: "us" } } },
      "a",
      {
        is: "elsewhere",
        mismatches: [
          { part: "who", field: "groups", wanted: ["corp:lead"], found: ["corp:support"] },
          { part: "who", field: "claims.region", wanted: ["eu"], found: "us" },
        ],
      },
    ],
    [
      "what",
      [rule("a", { what: { server: "data", upstream: "crm", tool: "get_*" } })],
      {},
      "a",
      {
        is: "elsewhere",
        mismatches: [
          { part: "what", field: "server", wanted: "data", found: "support" },
          { part: "what", field: "tool", wanted: "get_*", found: "tool export_all" },
        ],
      },
    ],
  ])("says how a rule stands: %s", (...[, rules, asked, id, standing]) => {
    expect(explained(rules, asked).rules.find((one) => one.id === id)?.standing).toEqual(standing);
  });

  it("says that only the lock keeps an allow by pattern from an item", () => {
    const factsOf = (): typeof noFacts => ({ ...noFacts, locked: false });
    const { rules } = explained([rule("a", { what: { upstream: "crm", tool: "export_*" } })], {}, { factsOf });
    expect(rules[0]?.standing).toEqual({
      is: "elsewhere",
      mismatches: [{ part: "what", field: "lock", wanted: "a locked item", found: "export_all" }],
    });
  });

  it("puts what decides first, then rules for others about this item before rules about something else", () => {
    const others = [
      rule("a", { what: { tool: "other" } }),
      rule("b", { who: { subject: "eve" } }),
      rule("c", { who: { subject: "eve" }, what: { tool: "other" } }),
      deny("d", { when: "true" }),
    ];
    expect(explained(others, {}).rules.map(({ id }) => id)).toEqual(["d", "b", "a"]);
  });

  it(`names at most ${limits.explainedRulesMax} rules`, () => {
    const many = Array.from({ length: 50 }, (_, at) => rule(`a${at}`, { who: { subject: "eve" } }));
    expect(explained(many, {}).rules).toHaveLength(limits.explainedRulesMax);
  });

  it("of a token that is bound to other items looks for no rules", () => {
    const boundTo = [{ upstream: "crm", kind: "tool", name: "other" }] as const;
    const { decision, rules } = explained([rule("a")], { who: { boundTo } });
    expect([decision, rules]).toEqual([{ effect: "deny", reason: "outside-token", read: [] }, []]);
  });

  it("names obligations and shape, and the rules they are from", () => {
    const what = { upstream: "crm", tool: "export_all" };
    const { obligations, shaping, rules } = explained(
      [
        rule("a"),
        rule("c", { effect: "constrain", what, deadlineMs: 5 }),
        rule("s", { effect: "constrain", what, presets: { owner: "acme" } }),
      ],
      {},
    );
    expect([obligations.deadlineMs, [...shaping.presets]]).toEqual([5, [["owner", "acme"]]]);
    expect(rules.map(({ id, standing }) => [id, standing.is])).toEqual([
      ["a", "decides"],
      ["c", "holds"],
      ["s", "holds"],
    ]);
  });
});
