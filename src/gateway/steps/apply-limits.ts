import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Sets `release`: one of the principal's slots for calls under way, given back when the outcome is recorded. What
 * serves recovery takes one of its own kind (design, decision 7): with all slots for calls taken, one can still look
 * at a task and cancel it, and who does nothing else is bounded too. `tasks/result` waits for the end of its task, as
 * a call does, and counts as one.
 */
export function applyLimits(x: Exchange, g: Gateway): Refusal | undefined {
  const isRecovery = recovery.has(methodOf(x));
  if (x.target === undefined && !isRecovery) return undefined;
  const slots = isRecovery ? g.recoverySlots : g.slots;
  x.release = slots.take(given(x.principal, "a principal").key);
  if (x.release !== undefined) return undefined;
  return refuse("CONCURRENCY_LIMITED", { kind: isRecovery ? "recovery" : "calls" }).refusal;
}

const recovery: ReadonlySet<string> = new Set(["tasks/get", "tasks/cancel", "tasks/list"]);
