import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import type { Refusal } from "../model/refusal.ts";
import { callConnectTool } from "./connections/connect-tool.ts";
import { admitTransport } from "./steps/admit-transport.ts";
import { answerHere } from "./steps/answer-here.ts";
import { applyLimits } from "./steps/apply-limits.ts";
import { applyPresets } from "./steps/apply-presets.ts";
import { attachCredential } from "./steps/attach-credential.ts";
import { authenticate } from "./steps/authenticate.ts";
import { beginCall } from "./steps/begin-call.ts";
import { checkArguments } from "./steps/check-arguments.ts";
import { checkDefinition } from "./steps/check-definition.ts";
import { checkOutgoing } from "./steps/check-outgoing.ts";
import { checkResult } from "./steps/check-result.ts";
import { decideExchange } from "./steps/decide.ts";
import { fitResult } from "./steps/fit-result.ts";
import { forward } from "./steps/forward.ts";
import { hearUpstream } from "./steps/hear-upstream.ts";
import { keepSubscription } from "./steps/keep-subscription.ts";
import { noteLinks } from "./steps/note-links.ts";
import { noteUpstream } from "./steps/note-upstream.ts";
import { openRequestState } from "./steps/open-request-state.ts";
import { openSession } from "./steps/open-session.ts";
import { ownSession } from "./steps/own-session.ts";
import { parseAndClassify } from "./steps/parse-and-classify.ts";
import { recordIntent } from "./steps/record-intent.ts";
import { resolveTarget } from "./steps/resolve-target.ts";
import { rewriteLinks } from "./steps/rewrite-links.ts";
import { sanitizeResult } from "./steps/sanitize-result.ts";
import { takeCancellation } from "./steps/take-cancellation.ts";
import { takeAnswer } from "./steps/take-answer.ts";
import { serveStream } from "./steps/serve-stream.ts";
import { admitTask } from "./tasks/admit-task.ts";
import { answerTaskList } from "./tasks/answer-task-list.ts";
import { forwardTask } from "./tasks/forward-task.ts";
import { checkTask, sanitizeTask } from "./tasks/judge-task.ts";
import { resolveTask } from "./tasks/resolve-task.ts";

/** A step fills in its fields of the exchange, or refuses. */
export type Step = (x: Exchange, g: Gateway) => Refusal | undefined | Promise<Refusal | undefined>;

/** Era and kind of an exchange: the columns of the table. */
export const columns = [
  "legacy initialize",
  "legacy call",
  "legacy task",
  "legacy notification",
  "legacy stream",
  "legacy delete",
  "modern call",
  "modern task",
  "modern listen",
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
  //                     legacy              modern
  //                     I  C  T  N  S  D    C  T  L  N  D      I initialize   C call   T task
  //                                                            N notification or response
  //                                                            S GET stream   L subscriptions/listen
  //                                                            D legacy: DELETE, modern: server/discover
  row(admitTransport,   "x  x  x  x  x  x    x  x  x  x  x"),
  row(authenticate,     "x  x  x  x  x  x    x  x  x  x  x"),
  row(parseAndClassify, "x  x  x  x  x  x    x  x  x  x  x"),
  row(ownSession,       ".  x  x  x  x  x    .  .  .  .  ."),
  row(resolveTarget,    ".  x  .  .  .  .    x  .  .  .  ."),
  row(resolveTask,      ".  .  x  .  .  .    .  x  .  .  ."),
  row(admitTask,        ".  x  .  .  .  .    x  .  .  .  ."),
  row(checkArguments,   ".  x  .  .  .  .    x  .  .  .  ."),
  row(applyPresets,     ".  x  .  .  .  .    x  .  .  .  ."),
  row(decideExchange,   "x  x  x  x  x  x    x  x  x  x  x"),
  row(checkDefinition,  ".  x  .  .  .  .    x  .  .  .  ."),
  row(applyLimits,      ".  x  x  .  .  .    x  x  .  .  ."),
  row(checkOutgoing,    ".  x  .  .  .  .    x  .  .  .  ."),
  row(beginCall,        ".  x  x  .  .  .    x  x  .  .  ."),
  row(openRequestState, ".  .  .  .  .  .    x  x  .  .  ."),
  row(recordIntent,     ".  x  x  .  x  .    x  x  x  .  ."),
  row(attachCredential, ".  x  x  .  .  .    x  x  .  .  ."),
  row(hearUpstream,     ".  x  .  .  .  .    .  .  .  .  ."),
  row(keepSubscription, ".  x  .  .  .  .    .  .  .  .  ."),
  row(callConnectTool,  ".  x  .  .  .  .    x  .  .  .  ."),
  row(forward,          ".  x  .  .  .  .    x  .  .  .  ."),
  row(noteUpstream,     ".  x  .  .  .  .    .  .  .  .  ."),
  row(forwardTask,      ".  .  x  .  .  .    .  x  .  .  ."),
  row(answerTaskList,   ".  .  x  .  .  .    .  .  .  .  ."),
  row(takeAnswer,       ".  .  .  x  .  .    .  .  .  .  ."),
  row(takeCancellation, ".  .  .  x  .  .    .  .  .  .  ."),
  row(answerHere,       "x  x  .  x  .  x    x  .  .  x  x"),
  row(serveStream,      ".  .  .  .  x  .    .  .  x  .  ."),
  row(openSession,      "x  .  .  .  .  .    .  .  .  .  ."),
  row(sanitizeResult,   ".  x  .  .  .  .    x  .  .  .  ."),
  row(sanitizeTask,     ".  .  x  .  .  .    .  x  .  .  ."),
  row(fitResult,        ".  x  .  .  .  .    x  .  .  .  ."),
  row(rewriteLinks,     ".  x  .  .  .  .    x  .  .  .  ."),
  row(checkResult,      ".  x  .  .  .  .    x  .  .  .  ."),
  row(checkTask,        ".  .  x  .  .  .    .  x  .  .  ."),
  row(noteLinks,        ".  x  x  .  .  .    x  x  .  .  ."),
];

function row(step: Step, marks: string): Row {
  const cells = marks.split(/\s+/);
  if (cells.length !== columns.length) throw new Error(`row ${step.name} has ${cells.length} cells`);
  return { step, columns: new Set(columns.filter((_, at) => cells[at] === "x")) };
}
