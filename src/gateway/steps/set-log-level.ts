import { isLogLevel } from "../../model/log-level.ts";
import { readOwn } from "../../model/json.ts";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, paramsOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Keeps the level of `logging/setLevel` with the legacy session (2025-11-25, logging), so that calls through any
 * replica know it. Refuses RPC_PARAMS_INVALID (−32602) for a level that is none.
 */
export async function setLogLevel(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  const level = readOwn(paramsOf(x), "level");
  if (!isLogLevel(level)) return refuse("RPC_PARAMS_INVALID", { reason: "level" }).refusal;
  const kept = await g.sessions.setLogLevel(given(x.session, "a session"), level);
  if (!kept.ok) return kept.refusal;
  await g.clientStreams.interestsChanged(kept.value);
  x.result = {};
  return undefined;
}
