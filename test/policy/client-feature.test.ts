import { describe, expect, it } from "vitest";
import { clientFeatures } from "../../src/model/client-feature.ts";
import { decide, decideServer, listing } from "../../src/policy/decide.ts";
import { deny, load, question, rule } from "./given.ts";
import type { Asked } from "./given.ts";

const form: Asked = { kind: "clientFeature", name: "elicitation" };
const page: Asked = { kind: "clientFeature", name: "elicitation_url", args: { url: "https://crm.example.com/x" } };
const forms = { upstream: "crm", clientFeature: ["elicitation"] };

describe("what an upstream asks of a client", () => {
  const cases: readonly [law: string, rules: unknown[], asked: Asked, expected: object][] = [
    ["is denied when no rule speaks of it", [], form, { effect: "deny", reason: "no-rule-allows", read: [] }],
    ["is allowed by a rule that names it", [rule("a", { what: forms })], form, { effect: "allow", rule: "a" }],
    ["is allowed by `*`", [rule("a", { what: { clientFeature: "*" } })], form, { effect: "allow", rule: "a" }],
    ["is allowed by a rule of its upstream", [rule("a", { what: { upstream: "crm" } })], form, { effect: "allow" }],
    ["is allowed by a rule of anything", [rule("a")], form, { effect: "allow" }],
    ["is allowed by a rule of its server", [rule("a", { what: { server: "support" } })], form, { effect: "allow" }],
    ["is not allowed by every tool", [rule("a", { what: { upstream: "crm", tool: "*" } })], form, { effect: "deny" }],
    ["is not allowed by a tool of its name", [rule("a", { what: { tool: "elicitation" } })], form, { effect: "deny" }],
    ["is not allowed by every resource", [rule("a", { what: { resource: "**" } })], form, { effect: "deny" }],
    [
      "is not allowed for another upstream",
      [rule("a", { what: forms })],
      { ...form, upstream: "tickets" },
      { effect: "deny" },
    ],
    [
      "is not allowed by another feature",
      [rule("a", { what: forms })],
      page,
      { effect: "deny", reason: "no-rule-allows" },
    ],
    [
      "is denied although it is allowed",
      [rule("a"), deny("d", { what: forms })],
      form,
      { effect: "deny", rule: "d", reason: "denied-by-rule" },
    ],
    [
      "is denied by a deny of its upstream",
      [rule("a", { what: forms }), deny("d", { what: { upstream: "crm" } })],
      form,
      { effect: "deny", rule: "d" },
    ],
    ["is not denied by a deny of tools", [rule("a"), deny("d", { what: { tool: "*" } })], form, { effect: "allow" }],
    [
      "is for the principals that the rule names",
      [rule("a", { what: forms, who: { kind: "service" } })],
      form,
      { effect: "deny" },
    ],
    [
      "is judged by its parameters",
      [
        rule("a", {
          what: { clientFeature: "elicitation_url" },
          when: 'has(args.url) && args.url.startsWith("https://crm.example.com/")',
        }),
      ],
      page,
      { effect: "allow", rule: "a", read: ["/url"] },
    ],
    [
      "says which rule its parameters failed",
      [
        rule("a", {
          what: { clientFeature: "elicitation_url" },
          when: 'has(args.url) && args.url.startsWith("https://hr.example.com/")',
        }),
      ],
      page,
      { effect: "deny", rule: "a", reason: "condition-false", read: ["/url"] },
    ],
    [
      "is known to conditions by its kind and name",
      [rule("a", { when: 'item.kind == "clientFeature" && item.name == "elicitation" && item.upstream == "crm"' })],
      form,
      { effect: "allow" },
    ],
  ];
  it.each(cases)("%s", (_law, rules, asked, expected) => {
    expect(decide(load(rules), question(asked))).toMatchObject(expected);
  });

  it.each(clientFeatures.map((feature) => [feature]))("%s is covered by its own word alone", (name) => {
    const allowing = clientFeatures.filter((feature) => {
      const policy = load([rule("a", { what: { upstream: "crm", clientFeature: feature } })]);
      return decide(policy, question({ kind: "clientFeature", name })).effect === "allow";
    });
    expect(allowing).toEqual([name]);
  });

  it("is no word about tools", () => {
    const policy = load([rule("a", { what: { upstream: "crm", clientFeature: "*" } })]);
    expect(decide(policy, question({ kind: "tool", name: "elicitation" })).effect).toBe("deny");
  });

  it("does not close a server", () => {
    const { principal, server, request } = question();
    const policy = load([deny("d", { what: { clientFeature: "*" } })]);
    expect(decideServer(policy, { principal, server, request }).effect).toBe("allow");
  });
});

describe("a feature is declared to an upstream", () => {
  const cases: readonly [law: string, rules: unknown[], expected: string][] = [
    ["not without a rule", [], "hidden"],
    ["when a rule allows it", [rule("a", { what: forms })], "listed"],
    ["when some parameters would be allowed", [rule("a", { what: forms, when: "has(args.message)" })], "listed"],
    ["when some parameters would be denied", [rule("a"), deny("d", { what: forms, when: "has(args.url)" })], "listed"],
    ["when only a scope is missing", [rule("a", { what: forms, stepUp: { scopes: { all: ["x"] } } })], "listed"],
    ["not when it is surely denied", [rule("a"), deny("d", { what: forms })], "hidden"],
    ["not when only tools are allowed", [rule("a", { what: { upstream: "crm", tool: "*" } })], "hidden"],
  ];
  it.each(cases)("%s", (_law, rules, expected) => {
    expect(listing(load(rules), question(form))).toBe(expected);
  });
});
