import { expect, it } from "vitest";
import { gradeOf } from "../../src/policy/matrix.ts";
import { deny, load, question, rule } from "./given.ts";

const some = "has(args.x)";
const scopes = { stepUp: { scopes: { all: ["s"] } } };

it.each<[string, readonly unknown[], object]>([
  ["no rule", [], { grade: "deny", rule: undefined, missing: [] }],
  ["a deny", [rule("a"), deny("d")], { grade: "deny", rule: "d" }],
  ["an allow", [rule("a")], { grade: "allow", rule: "a", missing: [] }],
  ["an allow for some arguments", [rule("a", { when: some })], { grade: "allow-if", rule: "a" }],
  ["an allow with a deny of some arguments", [rule("a"), deny("d", { when: some })], { grade: "allow-if", rule: "a" }],
  ["a condition that is false", [rule("a", { when: "false" })], { grade: "deny", rule: "a" }],
  ["a step-up", [rule("a", scopes)], { grade: "step-up", rule: "a", missing: ["s"] }],
  ["a step-up for some arguments", [rule("a", { ...scopes, when: some })], { grade: "step-up-if", missing: ["s"] }],
  [
    "a step-up, and without one for some arguments",
    [rule("a", scopes), rule("b", { when: some })],
    { grade: "allow-if", rule: "b", missing: [] },
  ],
])("%s is graded by the most that some arguments allow", (_law, rules, expected) => {
  expect(gradeOf(load(rules), question())).toMatchObject(expected);
});
