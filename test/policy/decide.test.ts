import { describe, expect, it } from "vitest";
import { decide, decideServer, listing } from "../../src/policy/decide.ts";
import { deny, load, principal, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

const errs = "has(args.list) && args.list > 1";
const listArgs = { args: { list: [] } };

describe("a principal that is bound to items", () => {
  const boundTo = [{ upstream: "crm", kind: "tool", name: "export_all" }] as const;
  const policy = load([rule("a", { what: { anything: true } })]);

  it.each<[string, Asked, boolean]>([
    ["the item itself", {}, true],
    ["another name", { name: "export_some" }, false],
    ["the name in capitals", { name: "Export_all" }, false],
    ["another kind", { kind: "prompt" }, false],
    ["another upstream", { upstream: "tickets" }, false],
    ["what an upstream asks of the client", { kind: "clientFeature", name: "sampling" }, false],
  ])("reaches of what rules allow: %s", (_, asked, reaches) => {
    const bound = question({ ...asked, who: { boundTo } });
    const outside = { effect: "deny", reason: "outside-token", read: [] };
    if (reaches) expect(decide(policy, bound).effect).toBe("allow");
    else expect(decide(policy, bound)).toEqual(outside);
    expect(listing(policy, bound)).toBe(reaches ? "listed" : "hidden");
    if (asked.kind !== "clientFeature") expect(decide(policy, question(asked)).effect).toBe("allow");
  });

  it("is not allowed by that what rules do not allow", () => {
    expect(decide(load([]), question({ who: { boundTo } }))).toMatchObject({ reason: "no-rule-allows" });
    expect(decide(load([rule("a"), deny("d")]), question({ who: { boundTo } })).effect).toBe("deny");
  });

  it("to none reaches nothing", () => {
    expect(decide(policy, question({ who: { boundTo: [] } }))).toMatchObject({ reason: "outside-token" });
  });
});

describe("a decision", () => {
  const cases: readonly [law: string, rules: unknown[], asked: Asked, expected: object][] = [
    ["no rules deny", [], {}, { effect: "deny", reason: "no-rule-allows", read: [] }],
    ["an allow that matches allows", [rule("a")], {}, { effect: "allow", rule: "a", read: [] }],
    ["the first allow by id is the one named", [rule("b"), rule("a")], {}, { effect: "allow", rule: "a" }],
    ["deny wins over allow", [rule("a"), deny("d")], {}, { effect: "deny", rule: "d", reason: "denied-by-rule" }],
    [
      "a deny for others does not deny",
      [rule("a"), deny("d", { who: { groups: ["corp:else"] } })],
      {},
      { effect: "allow" },
    ],
    [
      "a deny whose condition is false does not deny",
      [rule("a"), deny("d", { when: "false" })],
      {},
      { effect: "allow" },
    ],
    [
      "a deny that errs denies, with its message",
      [rule("a"), deny("d", { when: errs, message: "No." })],
      listArgs,
      { effect: "deny", rule: "d", reason: "condition-error", message: "No." },
    ],
    [
      "an allow that errs does not allow",
      [rule("a", { when: errs })],
      listArgs,
      { effect: "deny", rule: "a", reason: "condition-error" },
    ],
    ["another allow still allows", [rule("a", { when: errs }), rule("b")], listArgs, { effect: "allow", rule: "b" }],
    [
      "a false allow explains itself",
      [rule("a", { when: "false" }), rule("b", { when: "1 > 2", message: "Two." })],
      {},
      { effect: "deny", rule: "b", reason: "condition-false", message: "Two." },
    ],
    [
      "a condition on unknown arguments does not allow",
      [rule("a", { when: "has(args.x)" })],
      { args: undefined },
      { effect: "deny", rule: "a", reason: "condition-error", read: [] },
    ],
    [
      "a deny on unknown arguments denies",
      [rule("a"), deny("d", { when: "has(args.x)" })],
      { args: undefined },
      { effect: "deny", rule: "d", reason: "condition-error" },
    ],
  ];
  it.each(cases)("%s", (_law, rules, asked, expected) => {
    expect(decide(load(rules), question(asked))).toMatchObject(expected);
  });
});

describe("step-up", () => {
  const needs = (id: string, ...all: string[]): unknown => rule(id, { stepUp: { scopes: { all } } });
  const cases: readonly [law: string, rules: unknown[], scopes: string[], expected: object][] = [
    [
      "names every scope of the rule, sorted",
      [needs("a", "w", "r")],
      ["r"],
      { effect: "step-up", rule: "a", scopes: ["r", "w"], missing: ["w"] },
    ],
    ["is over once the scopes are there", [needs("a", "r", "w")], ["w", "r"], { effect: "allow", rule: "a" }],
    ["takes the rule that lacks fewest", [needs("a", "x", "y"), needs("b", "z")], [], { rule: "b", scopes: ["z"] }],
    ["of equals takes the first by id", [needs("b", "y"), needs("a", "x")], [], { rule: "a", scopes: ["x"] }],
    ["gives way to a plain allow", [needs("a", "x"), rule("b")], [], { effect: "allow", rule: "b" }],
    ["gives way to a deny", [needs("a", "x"), deny("d")], [], { effect: "deny", rule: "d" }],
    [
      "needs the condition to hold",
      [rule("a", { when: "false", stepUp: { scopes: { all: ["x"] } } })],
      [],
      { effect: "deny", reason: "condition-false" },
    ],
  ];
  it.each(cases)("%s", (_law, rules, scopes, expected) => {
    expect(decide(load(rules), question({ who: { scopes } }))).toMatchObject(expected);
  });
});

describe("a listing", () => {
  const cases: readonly [law: string, rules: unknown[], expected: string][] = [
    ["hides what no rule allows", [], "hidden"],
    ["shows what is allowed", [rule("a")], "listed"],
    ["shows what some arguments would allow", [rule("a", { when: "has(args.x)" })], "listed"],
    ["shows what only lacks a scope", [rule("a", { stepUp: { scopes: { all: ["x"] } } })], "listed"],
    ["hides what is surely denied", [rule("a"), deny("d")], "hidden"],
    ["shows what some arguments would deny", [rule("a"), deny("d", { when: "has(args.x)" })], "listed"],
    [
      "hides what a deny denies whatever the arguments",
      [rule("a"), deny("d", { when: "has(args.x) || true" })],
      "hidden",
    ],
    ["hides what a deny denies by erring", [rule("a"), deny("d", { when: "1 / 0 == 1" })], "hidden"],
    ["hides what an allow never allows", [rule("a", { when: "has(args.x) && false" })], "hidden"],
    ["hides what an allow errs on", [rule("a", { when: "1 / 0 == 1" })], "hidden"],
  ];
  it.each(cases)("%s", (_law, rules, expected) => {
    expect(listing(load(rules), question())).toBe(expected);
  });
});

describe("an exchange without an item", () => {
  const cases: readonly [law: string, rules: unknown[], effect: string][] = [
    ["is allowed although no rule allows anything", [], "allow"],
    ["is denied by a deny of everything", [deny("d")], "deny"],
    ["is denied by a deny of its server", [deny("d", { what: { server: "support" } })], "deny"],
    ["is allowed by a deny of another server", [deny("d", { what: { server: "data" } })], "allow"],
    ["is allowed by a deny of an upstream", [deny("d", { what: { upstream: "crm" } })], "allow"],
    ["is allowed by a deny of a tool", [deny("d", { what: { tool: "*" } })], "allow"],
    ["is allowed by a deny for others", [deny("d", { who: { kind: "service" } })], "allow"],
    ["is allowed when the condition is false", [deny("d", { when: 'principal.kind == "service"' })], "allow"],
    ["is denied when the condition errs", [deny("d", { when: "1 / 0 == 1" })], "deny"],
    ["is no concern of a condition on arguments", [deny("d", { when: "has(args.x)" })], "allow"],
    ["is no concern of a condition on the item", [deny("d", { when: 'item.name == "x"' })], "allow"],
  ];
  it.each(cases)("%s", (_law, rules, effect) => {
    const { principal: who, server, request } = question();
    expect(decideServer(load(rules), { principal: who, server, request }).effect).toBe(effect);
  });
});

describe("a decision about one principal", () => {
  it("leaves nothing behind for another", () => {
    const policy = load([rule("a", { when: 'has(principal.claims.team) && principal.claims.team == "x"' })]);
    const asked = question();
    const [one, other] = [principal({ claims: { team: "x" } }), principal({ claims: { team: "y" } })];
    const effects = [one, other, one].map((who) => decide(policy, { ...asked, principal: who }).effect);
    expect(effects).toEqual(["allow", "deny", "allow"]);
  });
});
