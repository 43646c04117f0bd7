import { declaredFeatures } from "../../protocol/client-features.ts";
import { declaredCapabilities } from "../asking/declared-capabilities.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Hears a legacy upstream on the session's behalf before the session's first call of it: a server may ask or log on
 * the GET stream while it works on that very call (2025-11-25, transports, "Listening for Messages from the Server"),
 * and what it says there before anybody listens is lost. Waits until the stream stands or cannot, for a moment; the call
 * goes on either way. A session without a GET stream, a client that can be asked nothing by this upstream and wants no
 * log, and an upstream that is modern as far as the catalog knows are not waited for.
 */
export async function hearUpstream(x: Exchange, g: Gateway): Promise<undefined> {
  const entry = x.target?.entry;
  const upstream = entry?.connects === true ? undefined : entry?.item.upstream;
  if (x.session === undefined || upstream === undefined || !isLegacy(x, upstream)) return;
  if (mayHear(x, g, upstream)) await g.clientStreams.hear(x.session, upstream);
}

/** Whether an upstream may have something to say to the session outside of calls. */
export function mayHear(x: Exchange, g: Gateway, upstream: string): boolean {
  return x.session?.logLevel !== undefined || declaredFeatures(declaredCapabilities(x, g, upstream) ?? {}).size > 0;
}

function isLegacy(x: Exchange, upstream: string): boolean {
  const { snapshots } = given(x.view, "a view").table;
  return snapshots.find((snapshot) => snapshot.upstream === upstream)?.self.era === "legacy";
}
