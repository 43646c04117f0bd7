import type { Decision } from "../model/decision.ts";
import { outcomeKey, type PossibleOutcome } from "./appraise.ts";

/**
 * What another policy makes of a decision. `changed`: a step-up where there was none, none where there was one, or one
 * for other scopes. Which rule decides counts for nothing.
 */
export type Change = "same" | "gain" | "lose" | "changed";

export function changeBetween(before: PossibleOutcome, after: PossibleOutcome): Change {
  if (outcomeKey(before) === outcomeKey(after)) return "same";
  if (before.effect === "deny" && after.effect === "allow") return "gain";
  return before.effect === "allow" && after.effect === "deny" ? "lose" : "changed";
}

/** A decision that was made is the one outcome it has. */
export function asOutcome(decision: Decision): PossibleOutcome {
  const missing = decision.effect === "step-up" ? decision.missing : [];
  return { effect: decision.effect, rule: decision.rule, missing };
}
