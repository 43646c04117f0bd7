import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import type { Refusal } from "../model/refusal.ts";
import { admitTransport } from "./steps/admit-transport.ts";
import { answerHere } from "./steps/answer-here.ts";
import { applyLimits } from "./steps/apply-limits.ts";
import { attachCredential } from "./steps/attach-credential.ts";
import { authenticate } from "./steps/authenticate.ts";
import { checkArguments } from "./steps/check-arguments.ts";
import { checkResult } from "./steps/check-result.ts";
import { decideExchange } from "./steps/decide.ts";
import { forward } from "./steps/forward.ts";
import { openSession } from "./steps/open-session.ts";
import { ownSession } from "./steps/own-session.ts";
import { parseAndClassify } from "./steps/parse-and-classify.ts";
import { recordIntent } from "./steps/record-intent.ts";
import { resolveTarget } from "./steps/resolve-target.ts";
import { sanitizeResult } from "./steps/sanitize-result.ts";

/** A step fills in its fields of the exchange, or refuses. */
export type Step = (x: Exchange, g: Gateway) => Refusal | undefined | Promise<Refusal | undefined>;

/** Era and kind of an exchange: the columns of the table. */
export const columns = [
  "legacy initialize",
  "legacy call",
  "legacy notification",
  "legacy delete",
  "modern call",
  "modern notification",
  "modern discover",
] as const;

export type Column = (typeof columns)[number];

export interface Row {
  readonly step: Step;
  readonly columns: ReadonlySet<Column>;
}

/**
 * The life of a request, told once. Steps run from top to bottom; the first refusal ends the way.
 * `chain.ts` records exactly one outcome after it, whatever happened. A kind without a column is refused.
 */
// prettier-ignore
export const journey: readonly Row[] = [
  //                     legacy        modern
  //                     I  C  N  D    C  N  D      I initialize   C call   N notification or response
  //                                                D legacy: DELETE, modern: server/discover
  row(admitTransport,   "x  x  x  x    x  x  x"),
  row(authenticate,     "x  x  x  x    x  x  x"),
  row(parseAndClassify, "x  x  x  x    x  x  x"),
  row(ownSession,       ".  x  x  x    .  .  ."),
  row(resolveTarget,    ".  x  .  .    x  .  ."),
  row(checkArguments,   ".  x  .  .    x  .  ."),
  row(decideExchange,   "x  x  x  x    x  x  x"),
  row(applyLimits,      ".  x  .  .    x  .  ."),
  row(recordIntent,     ".  x  .  .    x  .  ."),
  row(attachCredential, ".  x  .  .    x  .  ."),
  row(forward,          ".  x  .  .    x  .  ."),
  row(answerHere,       "x  x  x  x    x  x  x"),
  row(openSession,      "x  .  .  .    .  .  ."),
  row(sanitizeResult,   ".  x  .  .    x  .  ."),
  row(checkResult,      ".  x  .  .    x  .  ."),
];

function row(step: Step, marks: string): Row {
  const cells = marks.split(/\s+/);
  if (cells.length !== columns.length) throw new Error(`row ${step.name} has ${cells.length} cells`);
  return { step, columns: new Set(columns.filter((_, at) => cells[at] === "x")) };
}
