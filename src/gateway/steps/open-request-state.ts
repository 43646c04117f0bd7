import type { Entry } from "../../catalog/table.ts";
import type { AskedKinds } from "../../model/client-feature.ts";
import type { JsonObject } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Result } from "../../model/result.ts";
import { isResumable, readInputGiven, type InputGiven } from "../../protocol/input-required.ts";
import { judgeGiven, recordGiven, type JudgedGiven } from "../asking/judge-given.ts";
import { openState, spendState, type OpenedState } from "../asking/request-state.ts";
import { takeConnection } from "../connections/offer-connection.ts";
import { methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Sets `input`: what a modern client brings when it calls again because it was asked for input (2026-07-28, MRTR), or
 * gives a task; what it was asked by the gateway itself goes no further, and sets `connecting`. The call was judged
 * like any other before; its answers are judged here, asked for or not. Stands last before the record of the intent, so
 * that a state that works once is not used up by a call that is refused.
 */
export function openRequestState(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const entry = x.target?.entry;
  if (entry === undefined) return undefined;
  if (methodOf(x) === "tasks/update") return openForTask(x, g, entry);
  return isResumable(methodOf(x)) ? openForCall(x, g, entry) : undefined;
}

function openForCall(x: Exchange, g: Gateway, entry: Entry): Refusal | undefined | Promise<Refusal | undefined> {
  const read = readInputGiven(paramsOf(x));
  if (!read.ok) return read.refusal;
  const { responses, handle } = read.value;
  if (handle === undefined) return responses === undefined ? undefined : openUnasked(x, g, { entry, responses });
  const opened = openState(x, g, { entry, handle });
  if (!opened.ok) return opened.refusal;
  const of = { entry, given: read.value, opened: opened.value };
  return opened.value.connects === undefined ? openResumed(x, g, of) : openConnecting(x, g, of);
}

interface Resumed {
  readonly entry: Entry;
  readonly given: InputGiven;
  readonly opened: OpenedState;
}

function openUnasked(
  x: Exchange,
  g: Gateway,
  { entry, responses }: { entry: Entry; responses: JsonObject },
): Refusal | undefined {
  const judged = judge(x, g, { entry, responses, asked: nothingKnown, complete: false });
  if (!judged.ok) return judged.refusal;
  x.input = { responses: judged.value.responses, state: undefined };
  return record(x, g, judged.value);
}

function openResumed(x: Exchange, g: Gateway, of: Resumed): Refusal | Promise<Refusal | undefined> {
  const { responses } = of.given;
  const { asked, state } = of.opened;
  const judged = judge(x, g, { entry: of.entry, responses, asked, complete: true });
  if (!judged.ok) return judged.refusal;
  x.input = { responses: responses && judged.value.responses, state };
  return spendState(x, g, of).then((refusal) => refusal ?? record(x, g, judged.value));
}

/** Used once where the upstream's states are: what it carries of them must not come twice. */
async function openConnecting(x: Exchange, g: Gateway, of: Resumed): Promise<Refusal | undefined> {
  return takeConnection(x, g, of) ?? spendState(x, g, of);
}

const nothingKnown: AskedKinds = new Map();

/** A task has no state that says what was asked, and its record may be gone: what is not known is judged by its shape. */
function openForTask(x: Exchange, g: Gateway, entry: Entry): Refusal | undefined {
  const read = readInputGiven(paramsOf(x));
  if (!read.ok) return read.refusal;
  const { responses } = read.value;
  if (responses === undefined) return refuse("RPC_PARAMS_INVALID", { member: "inputResponses" }).refusal;
  const asked = (x.task?.is === "known" ? x.task.asked : undefined) ?? nothingKnown;
  const judged = judge(x, g, { entry, responses, asked, complete: false });
  if (!judged.ok) return judged.refusal;
  x.input = { responses: judged.value.responses, state: undefined };
  return record(x, g, judged.value);
}

function judge(
  x: Exchange,
  g: Gateway,
  of: { entry: Entry; responses: JsonObject | undefined; asked: AskedKinds; complete: boolean },
): Result<JudgedGiven> {
  const { entry, responses = {}, asked, complete } = of;
  return judgeGiven(x, g, { upstream: entry.item.upstream, responses, asked, complete });
}

function record(x: Exchange, g: Gateway, judged: JudgedGiven): Refusal | undefined {
  return recordGiven(x, g, judged) ? undefined : refuse("AUDIT_UNAVAILABLE").refusal;
}
