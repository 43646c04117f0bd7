import type { Decision } from "../model/decision.ts";

/**
 * What becomes of a decision under another policy. `gain`: more is possible, `lose`: less, `changed`: as much, on other
 * terms (other scopes, other obligations). Which rule decides counts for nothing.
 */
export type Change = "same" | "gain" | "lose" | "changed";

const rank = { deny: 0, "step-up": 1, allow: 2 } as const;

export function changeBetween(before: Decision, after: Decision): Change {
  const more = rank[after.effect] - rank[before.effect];
  if (more !== 0) return more > 0 ? "gain" : "lose";
  if (before.effect !== "step-up" || after.effect !== "step-up") return "same";
  return sameWords(before.scopes, after.scopes) ? "same" : "changed";
}

function sameWords(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((word) => other.includes(word));
}
