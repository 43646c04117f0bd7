import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { noFacts } from "../../src/model/item-facts.ts";
import type { ItemFacts } from "../../src/model/item-facts.ts";
import type { Policy } from "../../src/policy/compile.ts";
import { decide } from "../../src/policy/decide.ts";
import { obligationsOf, shapingOf } from "../../src/policy/obligations.ts";
import { load, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

const text = readFileSync(new URL("../../docs/policy.md", import.meta.url), "utf8");
const examples = [...text.matchAll(/```yaml\n([^]*?)```/g)].map(([, yaml = ""]) => {
  const value = parse(yaml) as unknown[] | { rules: unknown[] };
  return Array.isArray(value) ? value : value.rules;
});

/** The policy of the example that holds a rule, with `more` beside it. */
function example(id: string, more: readonly unknown[] = [], facts: Partial<ItemFacts> = {}): Policy {
  const rules = examples.find((one) => one.some((written) => (written as { id?: string }).id === id));
  return load([...(rules ?? []), ...more], { factsOf: () => ({ ...noFacts, ...facts }) });
}

const reviewed = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
const finance = { groups: ["corp:finance"] };

describe("what the manual says of its examples", () => {
  const decided: readonly [law: string, policy: Policy, asked: Asked & { digest?: string }, expected: object][] = [
    [
      "exports-are-small: two ids are few",
      example("exports-are-small"),
      { args: { ids: ["1", "2"] } },
      { effect: "allow" },
    ],
    [
      "exports-are-small: all are too many",
      example("exports-are-small"),
      {},
      { reason: "condition-false", message: "Ask for at most 100 ids." },
    ],
    [
      "reading-is-open: a tool that operators call read-only",
      example("reading-is-open", [], { annotations: { readOnly: true } }),
      {},
      { effect: "allow", rule: "reading-is-open" },
    ],
    ["reading-is-open: a tool of which they say nothing", example("reading-is-open"), {}, { reason: "no-rule-allows" }],
    [
      "personal-data-stays-with-humans: a service, and a labelled tool of another upstream",
      example("reading-is-open", [rule("all")], { labels: ["personal"] }),
      { upstream: "tickets", who: { kind: "service" } },
      { effect: "deny", rule: "personal-data-stays-with-humans" },
    ],
    [
      "transfers-as-reviewed: the definition that was reviewed",
      example("transfers-as-reviewed"),
      { name: "transfer", who: finance, digest: reviewed },
      { effect: "allow" },
    ],
    [
      "transfers-as-reviewed: any other definition",
      example("transfers-as-reviewed"),
      { name: "transfer", who: finance, digest: "0".repeat(64) },
      { effect: "deny" },
    ],
    [
      "support-reads-tickets: tomorrow's tool, under a lock",
      example("support-reads-tickets", [], { locked: false }),
      { upstream: "tickets", name: "get_credentials" },
      { effect: "deny" },
    ],
    [
      "support-reads-tickets: a tool that the lock holds",
      example("support-reads-tickets", [], { locked: true }),
      { upstream: "tickets", name: "get_ticket" },
      { effect: "allow" },
    ],
  ];
  it.each(decided)("%s", (_law, policy, { digest, ...asked }, expected) => {
    const plain = question(asked);
    expect(decide(policy, { ...plain, item: { ...plain.item, digest } })).toMatchObject(expected);
  });

  it("exports-are-few: limits every export, and says why", () => {
    expect(obligationsOf(example("exports-are-few"), question()).limits).toEqual([
      {
        rule: "exports-are-few",
        at: 0,
        per: ["principal"],
        message: "Exports are limited; ask for a report instead.",
        kind: "rate",
        count: 10,
        perMs: 60_000,
        burst: 3,
      },
      {
        rule: "exports-are-few",
        at: 1,
        per: ["client", "item"],
        message: "Exports are limited; ask for a report instead.",
        kind: "quota",
        count: 1_000,
      },
    ]);
  });

  it.each([
    [{ ids: Array.from({ length: 21 }, String) }, true],
    [{ ids: ["1"] }, false],
    [{ ids: 7 }, true],
  ])("large-exports-leave-traces: %j: %s", (args, isLarge) => {
    const { auditRequired, deadlineMs, replayFields } = obligationsOf(example("exports-are-few"), question({ args }));
    expect({ auditRequired, deadlineMs, replayFields }).toEqual(
      isLarge
        ? { auditRequired: true, deadlineMs: 30_000, replayFields: ["/ids"] }
        : { auditRequired: false, deadlineMs: undefined, replayFields: ["/ids"] },
    );
  });

  it.each(["acme", "globex"])("%s sees its own, and no bank accounts", (tenant) => {
    const found = shapingOf(example("acme-sees-acme"), question({ name: "search_customers", who: { tenant } }));
    expect(found).toEqual({
      rules: [`${tenant}-sees-${tenant}`, "numbers-stay-here"],
      presets: new Map([["owner", tenant]]),
      unknownArguments: "reject",
      removeFields: ["/customers/*/bank", "/customers/*/ssn"],
    });
  });
});
