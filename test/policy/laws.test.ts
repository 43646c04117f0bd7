import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Obligations, Shaping } from "../../src/model/obligations.ts";
import { compilePolicies } from "../../src/policy/compile.ts";
import type { Policy, PolicyContext } from "../../src/policy/compile.ts";
import { decide, listing } from "../../src/policy/decide.ts";
import { obligationsOf, shapingOf } from "../../src/policy/obligations.ts";
import { targetOf, whatMatches } from "../../src/policy/what.ts";
import type { Rule } from "../../src/policy/rule.ts";
import { partOf, tableOf, toolOf } from "../catalog/parts.ts";
import { anyAllow, anyConstrain, anyContext, anyDeny, anyQuestion, anyRule, anyRules, numbered } from "./arbitrary.ts";
import type { Written } from "./arbitrary.ts";
import { context, faultsOf, load, question, rule } from "./given.ts";

const strength = { deny: 0, "step-up": 1, allow: 2 };
const given = { numRuns: 200 };

const policyOf = (rules: readonly Written[], more: Partial<PolicyContext>): Policy => load(numbered(rules), more);

describe("order", () => {
  it("of rules and of files changes no answer, not even what was read or which rule is named", () => {
    const spread = fc.record({ rules: anyRules, places: fc.array(fc.nat(2), { minLength: 7, maxLength: 7 }) });
    fc.assert(
      fc.property(spread, anyContext, anyQuestion, ({ rules, places }, more, asked) => {
        const written = numbered(rules);
        const files = [0, 1, 2].map((file) => ({
          path: `${file}.yaml`,
          value: { policy: `p${file}`, rules: [] as unknown[] },
        }));
        for (const [index, one] of written.toReversed().entries()) files[places[index] ?? 0]?.value.rules.push(one);
        const compiled = compilePolicies(files, { ...context, ...more });
        if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
        const inOne = load(written, more);
        expect(decide(compiled.policy, asked)).toEqual(decide(inOne, asked));
        expect(listing(compiled.policy, asked)).toEqual(listing(inOne, asked));
        expect(obligationsOf(compiled.policy, asked)).toEqual(obligationsOf(inOne, asked));
        expect(shapingOf(compiled.policy, asked)).toEqual(shapingOf(inOne, asked));
      }),
      given,
    );
  });
});

/** Whether `after` demands all that `before` does, on every axis. */
function holdsAll(after: Obligations, before: Obligations): boolean {
  const limits = new Set(after.limits.map((limit) => JSON.stringify(limit)));
  const atMost = (one: number | undefined, other: number | undefined): boolean =>
    (one ?? Infinity) <= (other ?? Infinity);
  return (
    before.limits.every((limit) => limits.has(JSON.stringify(limit))) &&
    atMost(after.resultBytesMax, before.resultBytesMax) &&
    atMost(after.deadlineMs, before.deadlineMs) &&
    (after.auditRequired || !before.auditRequired) &&
    before.replayFields.every((field) => after.replayFields.includes(field))
  );
}

const strictness = [undefined, "pass", "strip", "reject"];

function shapesAsMuch(after: Shaping, before: Shaping): boolean {
  return (
    [...before.presets].every(([name, value]) => after.presets.get(name) === value) &&
    strictness.indexOf(after.unknownArguments) >= strictness.indexOf(before.unknownArguments) &&
    before.removeFields.every((field) => after.removeFields.includes(field))
  );
}

/** What a policy says, before and after one rule is added to it. */
function adding(
  added: fc.Arbitrary<Written>,
  law: (before: Policy, after: Policy, asked: ReturnType<typeof question>) => void,
): void {
  fc.assert(
    fc.property(anyRules, added, anyContext, anyQuestion, (rules, one, more, asked) => {
      law(policyOf(rules, more), policyOf([...rules, one], more), asked);
    }),
    given,
  );
}

describe("adding", () => {
  const decided = (policy: Policy, asked: ReturnType<typeof question>): number =>
    strength[decide(policy, asked).effect];
  const isListed = (policy: Policy, asked: ReturnType<typeof question>): boolean => listing(policy, asked) === "listed";

  it("a deny never widens: nothing is decided, listed or obliged to less strictly", () => {
    adding(anyDeny, (before, after, asked) => {
      expect(decided(after, asked)).toBeLessThanOrEqual(decided(before, asked));
      expect(isListed(after, asked) && !isListed(before, asked)).toBe(false);
      expect(obligationsOf(after, asked)).toEqual(obligationsOf(before, asked));
      expect(shapingOf(after, asked)).toEqual(shapingOf(before, asked));
    });
  });

  it("a constrain never widens: decisions stay, and what is obliged to is tighter or equal on every axis", () => {
    adding(anyConstrain, (before, after, asked) => {
      expect(decide(after, asked)).toEqual(decide(before, asked));
      expect(listing(after, asked)).toEqual(listing(before, asked));
      expect(holdsAll(obligationsOf(after, asked), obligationsOf(before, asked))).toBe(true);
      expect(shapesAsMuch(shapingOf(after, asked), shapingOf(before, asked))).toBe(true);
    });
  });

  it("an allow never narrows", () => {
    adding(anyAllow, (before, after, asked) => {
      expect(decided(after, asked)).toBeGreaterThanOrEqual(decided(before, asked));
      expect(isListed(before, asked) && !isListed(after, asked)).toBe(false);
      expect(obligationsOf(after, asked)).toEqual(obligationsOf(before, asked));
      expect(shapingOf(after, asked)).toEqual(shapingOf(before, asked));
    });
  });
});

describe("listing and deciding", () => {
  it("agree: what is allowed or lacks only scopes under some arguments is listed, so what is not listed is denied", () => {
    fc.assert(
      fc.property(anyRules, anyContext, anyQuestion, (rules, more, asked) => {
        const policy = policyOf(rules, more);
        if (listing(policy, asked) === "hidden") expect(decide(policy, asked).effect).toBe("deny");
      }),
      { numRuns: 1_000 },
    );
  });

  it("agree on a deny that errs without a look at arguments: it hides, and denies", () => {
    const erring = fc.constantFrom(
      "1 / 0 == 1",
      "1 / 0 == 1 || has(principal.claims.x)",
      "timestamp(principal.subject) > request.now",
    );
    fc.assert(
      fc.property(anyRules, erring, anyContext, anyQuestion, (rules, when, more, asked) => {
        const denies = { effect: "deny", who: { anyone: true }, what: { anything: true }, when };
        const policy = policyOf([...rules, denies], more);
        expect(listing(policy, asked)).toBe("hidden");
        expect(decide(policy, asked).effect).toBe("deny");
      }),
      given,
    );
  });

  it("take no harm from errors: an erring allow is as none, an erring deny and constrain as unconditional ones", () => {
    fc.assert(
      fc.property(anyRules, anyRule, anyContext, anyQuestion, (rules, one, more, asked) => {
        fc.pre("when" in one);
        const unconditional = Object.fromEntries(Object.entries(one).filter(([name]) => name !== "when"));
        const erring = policyOf([...rules, { ...one, when: "1 / 0 == 1" }], more);
        const instead = policyOf(one["effect"] === "allow" ? rules : [...rules, unconditional], more);
        expect(decide(erring, asked).effect).toBe(decide(instead, asked).effect);
        expect(listing(erring, asked)).toBe(listing(instead, asked));
        expect(obligationsOf(erring, asked)).toEqual(obligationsOf(instead, asked));
      }),
      given,
    );
  });

  it("lay upon unknown arguments no less than upon any that come", () => {
    fc.assert(
      fc.property(anyRules, anyContext, anyQuestion, (rules, more, asked) => {
        const policy = policyOf(rules, more);
        const unknown = obligationsOf(policy, { ...asked, args: undefined });
        const known = obligationsOf(policy, asked);
        expect(unknown.rules).toEqual(expect.arrayContaining([...known.rules]));
      }),
      given,
    );
  });
});

describe("the index of rules", () => {
  it("never changes an answer: it finds the rules of each effect that match when tried one by one", () => {
    fc.assert(
      fc.property(anyRules, anyContext, anyQuestion, (rules, more, asked) => {
        const policy = policyOf(rules, more);
        const { allows, denies, constrains } = policy.itemRules;
        const target = targetOf(asked.server, asked.item, policy.factsOf);
        const matching = (all: readonly Rule[]): readonly string[] =>
          all
            .filter(({ who, what, effect }) => who.matches(asked.principal) && whatMatches(what, effect, target))
            .map(({ id }) => id);
        const found = (index: { matching: Policy["allows"]["matching"] }): readonly string[] =>
          index.matching(asked.principal, target).map(({ id }) => id);
        expect(found(policy.allows)).toEqual(matching(allows));
        expect(found(policy.denies)).toEqual(matching(denies));
        expect(found(policy.duties)).toEqual(matching(constrains.filter(({ duties }) => duties !== undefined)));
        expect(found(policy.shapes)).toEqual(matching(constrains.filter(({ shape }) => shape !== undefined)));
      }),
      { numRuns: 1_500 },
    );
  });
});

describe("presets", () => {
  /** Any of these values for the one argument, so that rules may disagree. */
  const disagreeing = fc
    .tuple(anyConstrain, fc.constantFrom(1, 2))
    .filter(([one]) => "presets" in one)
    .map(([one, value]): Written => ({ ...one, presets: { p: value } }));

  it("of a policy that loads never disagree, whoever asks for whatever", () => {
    fc.assert(
      fc.property(fc.array(disagreeing, { maxLength: 6 }), anyContext, anyQuestion, (rules, more, asked) => {
        const compiled = compilePolicies([{ path: "p", value: { policy: "p", rules: numbered(rules) } }], {
          ...context,
          ...more,
        });
        if (!compiled.ok) return;
        const { policy } = compiled;
        const values = policy.shapes
          .matching(asked.principal, targetOf(asked.server, asked.item, policy.factsOf))
          .map(({ shape }) => shape.presets.get("p"));
        expect(new Set(values).size).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1_000 },
    );
  });

  it("disagree in a policy when, and only when, two of its rules alone do", () => {
    fc.assert(
      fc.property(fc.array(disagreeing, { maxLength: 6 }), (rules) => {
        const written = numbered(rules);
        const pairs = written.flatMap((one, at) => written.slice(at + 1).map((other) => [one, other]));
        const alone = pairs.some((pair) => faultsOf(pair).length > 0);
        expect(faultsOf(written).length > 0).toBe(alone);
      }),
      { numRuns: 150 },
    );
  });
});

describe("the name that clients see", () => {
  it("changes no decision, as no question holds it: only the upstream's own name does", () => {
    const item = toolOf("crm", "export_all");
    const names = [partOf("crm"), partOf("crm", { prefix: "other_" })].map((part) => {
      const [entry] = tableOf([part], [item]).entries;
      return { shown: entry?.exposed, asked: entry?.item };
    });
    expect(new Set(names.map(({ shown }) => shown)).size).toBe(2);
    expect(names[0]?.asked).toEqual(names[1]?.asked);
  });

  it("cannot be asked for, and one that comes beside the question is not looked at", () => {
    expect(faultsOf([rule("a", { when: 'item.exposed == "x"' })])).toHaveLength(1);
    const policy = load([rule("a", { what: { upstream: "crm", tool: "export_all" } })]);
    for (const exposed of ["export_all", "other"]) {
      const asked = question({ name: "get" });
      expect(decide(policy, { ...asked, item: { ...asked.item, exposed } as typeof asked.item }).effect).toBe("deny");
    }
  });
});
