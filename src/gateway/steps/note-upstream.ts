import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { capabilitiesOf } from "../asking/declared-capabilities.ts";
import { declaredFeatures } from "../../protocol/client-features.ts";

/**
 * Notes that a session has used a legacy upstream which may have something to ask it outside of calls: then the
 * session's GET stream brings that too (2025-11-25, transports, "Listening for Messages from the Server"). A client
 * that can be asked nothing, wants no log and has no task there has nothing to gain of it.
 */
export function noteUpstream(x: Exchange, g: Gateway): undefined {
  const { session, hop } = x;
  if (session === undefined || hop?.era !== "legacy") return;
  const hears = session.logLevel !== undefined || x.task?.is === "promised";
  if (!hears && declaredFeatures(capabilitiesOf(x)).size === 0) return;
  g.clientStreams.used(session, given(x.target?.entry, "a target").item.upstream);
}
