import { describe, expect, it } from "vitest";
import { reaches } from "../../src/policy/decide.ts";
import { load, principal, rule } from "./given.ts";

const allow = (what: Record<string, unknown>, more: Record<string, unknown> = {}): unknown =>
  rule("allow", { effect: "allow", what, ...more });
const deny = (what: Record<string, unknown>, more: Record<string, unknown> = {}): unknown =>
  rule("deny", { effect: "deny", what, ...more });
const crm = { upstream: "crm" };
const group = (name: string): Record<string, unknown> => ({ who: { groups: { any: [`corp:${name}`] } } });

describe("an upstream whose items nobody knows yet", () => {
  it.each<[string, unknown[], boolean]>([
    ["by a rule about one of its tools", [allow({ ...crm, tool: "get_*" })], true],
    ["by a rule about everything", [allow({ anything: true })], true],
    ["by a rule about a server", [allow({ server: "support" })], true],
    ["by a rule whose condition nobody can tell yet", [allow(crm, { when: "has(args.id) && args.id == 1" })], true],
    ["although one of its tools is denied", [allow(crm), deny({ ...crm, tool: "delete_*" })], true],
    ["although a condition denies", [allow(crm), deny(crm, { when: "has(args.id) && args.id == 1" })], true],
    ["although others are denied", [allow(crm), deny(crm, group("interns"))], true],
    ["not without a rule", [], false],
    ["not by a rule about another upstream", [allow({ upstream: "tickets" })], false],
    ["not by a rule about another server", [allow({ server: "data" })], false],
    ["not by a rule for others", [allow(crm, group("interns"))], false],
    ["not by what it may ask of clients", [allow({ ...crm, clientFeature: "*" })], false],
    ["not where all of it is denied", [allow(crm), deny(crm)], false],
    ["not where everything is denied", [allow(crm), deny({ anything: true })], false],
  ])("is reached, %s", (_name, rules, reached) => {
    expect(reaches(load(rules), { principal: principal(), server: "support", upstream: "crm" })).toBe(reached);
  });

  it("is reached by a token that is bound to an item of it, and by none that is bound to others", () => {
    const policy = load([allow({ anything: true })]);
    const boundTo = (upstream: string): boolean => {
      const bound = principal({ boundTo: [{ upstream, kind: "tool", name: "x" }] });
      return reaches(policy, { principal: bound, server: "support", upstream: "crm" });
    };
    expect([boundTo("crm"), boundTo("tickets")]).toEqual([true, false]);
  });
});
