import { createAsking } from "./asking.ts";
import type { Delivered } from "./deliver.ts";
import { createTrail } from "./event-answer.ts";
import { legacyHeaders, writeLegacy } from "./legacy-hop.ts";
import type { HeldSession } from "./legacy-sessions.ts";
import { laneOf } from "./lane-of.ts";
import type { Link } from "./link.ts";
import type { UpstreamRequest } from "./port.ts";
import { takeProgress } from "./progress.ts";
import { deliverResuming } from "./resumption.ts";
import { takeLog } from "./take-log.ts";

/**
 * One request on a session, with all that the upstream sends while it works on it: progress and log messages
 * go to whoever asked for them, requests to whoever answers for the client. Nothing of it outlives the answer.
 */
export async function exchangeLegacy(
  link: Link,
  session: HeldSession,
  request: UpstreamRequest,
  until: number,
): Promise<Delivered> {
  const headers = legacyHeaders(session.grant);
  const asking = createAsking(link, session, request.onAsked);
  const delivered = await deliverResuming(link, session.grant, {
    account: request.account,
    forwarded: request.forwarded,
    method: "POST",
    lane: laneOf(request.method),
    expectsAnswer: true,
    until,
    signal: request.signal,
    patience: session.patience,
    deadlines: request.deadlines,
    trail: createTrail(),
    write: (id) => writeLegacy(headers, id, request),
    onNotification(notification, id) {
      takeProgress(notification, id, request);
      takeLog(notification, request);
      asking.heed(notification);
    },
    onRequest: asking.take,
  });
  asking.close();
  return delivered;
}
