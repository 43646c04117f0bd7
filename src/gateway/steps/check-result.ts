import { readOwn, type JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { codecFor } from "../../protocol/codec.ts";
import { writeJson } from "../../protocol/json/write.ts";
import type { Entry } from "../../catalog/table.ts";
import { given, methodOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { factsOf, noteViolations } from "./schema-check.ts";

/**
 * Holds the cleaned result to the tool's output schema and gives it the form of the client's era. What
 * is delivered is what was checked. The method's own shape was checked when the result came in.
 */
export function checkResult(x: Exchange, g: Gateway): Refusal | undefined {
  const entry = x.target?.entry;
  if (entry === undefined || x.result === undefined || x.asksInput || x.task?.is === "promised") {
    encode(x, g);
    return x.asksInput || x.task?.is === "promised" ? undefined : refuseOversized(x);
  }
  const refusal = checkStructured(x, g, { entry, result: x.result });
  if (refusal === undefined) {
    encode(x, g);
    return refuseOversized(x);
  }
  // The upstream did answer: the call was carried out, only its result is withheld.
  x.outcome = "failed";
  return refusal;
}

/** A tool that declares an output schema must send a structured result that conforms, errors excepted. */
export function checkStructured(
  x: Exchange,
  g: Gateway,
  of: { entry: Entry; result: JsonObject },
): Refusal | undefined {
  const mode = g.treatments.get(of.entry.item.upstream)?.resultSchemas ?? "enforce";
  const { output } = of.entry;
  if (output === undefined || mode === "off" || readOwn(of.result, "isError") === true) return undefined;
  const structured = readOwn(of.result, "structuredContent");
  if (structured === undefined)
    return mode === "enforce" ? refuse("RESULT_INVALID", { fault: "structuredContent is absent" }).refusal : undefined;
  const checker = g.checkers.for(output.digest, output.schema);
  if (!checker.usable) return mode === "enforce" ? checker.refusal : undefined;
  const violations = checker.check(structured);
  if (violations.length === 0) return undefined;
  if (mode === "enforce") return refuse("RESULT_INVALID", factsOf(violations)).refusal;
  noteViolations(x, violations);
  return undefined;
}

/** Policy may let less through than the gateway takes from an upstream. What counts is what would be delivered. */
export function refuseOversized(x: Exchange): Refusal | undefined {
  const bytesMax = x.obligations?.resultBytesMax;
  const text = x.error === undefined ? x.resultText?.text : writeJson({ ...x.error });
  if (bytesMax === undefined || text === undefined) return undefined;
  const bytes = Buffer.byteLength(text);
  if (bytes <= bytesMax) return undefined;
  x.outcome = "failed";
  x.resultText = undefined;
  return refuse("RESULT_TOO_LARGE", { bytes, bytesMax, rules: [...(x.obligations?.rules ?? [])] }).refusal;
}

/** Gives a result the form of the client's era, and writes it. */
export function encode(x: Exchange, g: Gateway): void {
  const { era, column } = given(x.classified, "a classified message");
  if (x.result === undefined || (column !== "call" && column !== "task")) return;
  const hints = { serverInfo: { ...g.info }, ttlMs: 0 };
  // A question is no result of its method, and carries no caching hints.
  x.result = codecFor(era).encodeResult(x.asksInput ? "" : methodOf(x), x.result, hints);
  // Written here, once: evidence has the digest of the very text that is delivered.
  if (x.target !== undefined) x.resultText = { text: writeJson(x.result) };
}
