import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newCandidates } from "../../src/policy/candidates.ts";
import type { Candidate } from "../../src/policy/candidates.ts";

const values = fc.subarray(["a", "b", "c"], { minLength: 1 });
const long = "x".repeat(70);
const beginning = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 4 }),
  fc.constantFrom(`${long}a`, `${long}b`, long),
);
const candidate: fc.Arbitrary<Candidate> = fc
  .record({
    tenant: fc.option(values, { nil: undefined, freq: 2 }),
    server: fc.option(values, { nil: undefined, freq: 2 }),
    beginnings: fc.array(beginning, { minLength: 1, maxLength: 2 }),
  })
  .map(({ beginnings, ...traits }) => ({
    beginnings,
    traits: new Map(Object.entries(traits).flatMap(([name, list]) => (list === undefined ? [] : [[name, list]]))),
  }));

function mayMeet(one: Candidate, other: Candidate): boolean {
  const shares = [...one.traits].every(
    ([name, own]) => other.traits.get(name)?.some((value) => own.includes(value)) ?? true,
  );
  const begins = one.beginnings.some((text) =>
    other.beginnings.some((against) => text.startsWith(against) || against.startsWith(text)),
  );
  return shares && begins;
}

describe("candidates", () => {
  it("are found whenever one of them may meet what is looked for, and only then", () => {
    fc.assert(
      fc.property(fc.array(candidate, { maxLength: 12 }), candidate, (all, wanted) => {
        const kept = newCandidates<Candidate>();
        for (const one of all) kept.add(one);
        const found = kept.find(wanted, (one) => mayMeet(one, wanted));
        expect(found !== undefined).toBe(all.some((one) => mayMeet(one, wanted)));
      }),
      { numRuns: 3_000 },
    );
  });

  it.each([
    ["of other tenants", (index: number) => ({ traits: new Map([["tenant", [`t${index}`]]]), beginnings: [""] })],
    ["of other names", (index: number) => ({ traits: new Map<string, string[]>(), beginnings: [`${index}_`] })],
  ])("%s are not looked at", (_of, make) => {
    const kept = newCandidates<Candidate>();
    for (let index = 0; index < 1_000; index += 1) kept.add(make(index));
    let looked = 0;
    kept.find(make(1_000), () => {
      looked += 1;
      return false;
    });
    expect(looked).toBeLessThanOrEqual(3);
  });
});
