import type { Refusal } from "../../model/refusal.ts";
import { isResumable, readInputGiven } from "../../protocol/input-required.ts";
import { openState } from "../asking/request-state.ts";
import { methodOf, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Sets `input`: what a modern client brings when it calls again because it was asked for input (2026-07-28, MRTR). The
 * call was judged like any other before; stands last before the record of the intent, so that a state that works once
 * is not used up by a call that is refused.
 */
export function openRequestState(x: Exchange, g: Gateway): Refusal | undefined | Promise<Refusal | undefined> {
  const entry = x.target?.entry;
  if (entry === undefined || !isResumable(methodOf(x))) return undefined;
  const read = readInputGiven(paramsOf(x));
  if (!read.ok) return read.refusal;
  const { responses, handle } = read.value;
  if (handle !== undefined) return openInto(x, g, { entry, handle, responses });
  if (responses !== undefined) x.input = { responses, state: undefined };
  return undefined;
}

async function openInto(
  x: Exchange,
  g: Gateway,
  of: Parameters<typeof openState>[2] & { responses: NonNullable<Exchange["input"]>["responses"] },
): Promise<Refusal | undefined> {
  const opened = await openState(x, g, of);
  if (!opened.ok) return opened.refusal;
  x.input = { responses: of.responses, state: opened.value };
  return undefined;
}
