import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/** Sets `release`: one of the principal's slots for calls under way, given back when the outcome is recorded. */
export function applyLimits(x: Exchange, g: Gateway): Refusal | undefined {
  if (x.target === undefined) return undefined;
  x.release = g.slots.take(given(x.principal, "a principal").key);
  return x.release === undefined ? refuse("CONCURRENCY_LIMITED").refusal : undefined;
}
