import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { mayHear } from "./hear-upstream.ts";

/**
 * Notes that a session has used a legacy upstream, as far as only the answer tells: that the upstream is legacy after
 * all, or that it has a task of the session, whose status it tells outside of calls. Then the session's GET stream
 * brings that too (2025-11-25, transports, "Listening for Messages from the Server").
 */
export function noteUpstream(x: Exchange, g: Gateway): undefined {
  const { session, hop } = x;
  if (session === undefined || hop?.era !== "legacy") return;
  const { upstream } = given(x.target?.entry, "a target").item;
  if (x.task?.is === "promised" || mayHear(x, g, upstream)) g.clientStreams.used(session, upstream);
}
