import type { Refusal } from "../../model/refusal.ts";
import { cleanError, cleanResult } from "../../sanitize/clean-result.ts";
import { noteFindings, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Cleans every string an upstream sent, in results and in errors, and notes what was found. Where the
 * operator only observes, results keep their bytes and the findings say what would have gone.
 */
export function sanitizeResult(x: Exchange, g: Gateway): Refusal | undefined {
  if (x.target === undefined) return undefined;
  if (x.error !== undefined) {
    const cleaned = cleanError(x.error);
    x.error = cleaned.error;
    noteFindings(x, cleaned.findings);
  }
  if (x.result !== undefined) {
    const cleaned = cleanResult(methodOf(x), x.result);
    if (g.cleanResults) x.result = cleaned.value;
    noteFindings(x, cleaned.findings);
  }
  return undefined;
}
