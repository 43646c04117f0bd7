import { describe, expect, it } from "vitest";
import { noFacts } from "../../../src/model/item-facts.ts";
import { decide, listing } from "../../../src/policy/decide.ts";
import { noObligations, noShaping, obligationsOf, shapingOf } from "../../../src/policy/obligations.ts";
import { load, question } from "../given.ts";
import { golden } from "./golden.ts";

describe("hard cases", () => {
  it.each(golden.map((one) => [one.about, one] as const))("%s", (_about, one) => {
    const { facts, asked } = one;
    const policy = load(one.rules, facts === undefined ? {} : { factsOf: () => ({ ...noFacts, ...facts }) });
    const plain = question(asked);
    const whole = { ...plain, item: { ...plain.item, digest: asked.digest } };
    expect({
      listed: listing(policy, whole),
      decision: decide(policy, whole),
      obligations: obligationsOf(policy, whole),
      shaping: shapingOf(policy, whole),
    }).toEqual({
      listed: one.listed,
      decision: one.decision,
      obligations: one.obligations ?? noObligations,
      shaping: one.shaping ?? noShaping,
    });
  });

  it("are forty and more", () => {
    expect(golden.length).toBeGreaterThanOrEqual(40);
  });
});
