import type { Refusal } from "../../model/refusal.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * A response that a legacy client posts: the answer to something it was asked in this session, wherever that is waited
 * for. One that nobody waits for is accepted all the same (2025-11-25, transports, "Sending Messages to the Server"):
 * whoever guesses learns nothing.
 */
export function takeAnswer(x: Exchange, g: Gateway): undefined | Promise<Refusal | undefined> {
  const { message } = given(x.classified, "a classified message");
  if (message.kind !== "response") return undefined;
  return g.asking.waiting.take(given(x.session, "a session"), message).then(() => undefined);
}
