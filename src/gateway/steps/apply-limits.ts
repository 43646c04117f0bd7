import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Sets `release`: one of the principal's slots for calls under way, given back when the outcome is recorded. What
 * serves recovery needs none (design, decision 7): with all slots taken, one can still look at a task and cancel it.
 */
export function applyLimits(x: Exchange, g: Gateway): Refusal | undefined {
  if (x.target === undefined || recovery.includes(methodOf(x))) return undefined;
  x.release = g.slots.take(given(x.principal, "a principal").key);
  return x.release === undefined ? refuse("CONCURRENCY_LIMITED").refusal : undefined;
}

const recovery: readonly string[] = ["tasks/get", "tasks/cancel"];
