import { isLogLevel } from "../../model/log-level.ts";
import type { RpcId } from "../../model/rpc.ts";
import type { Session } from "../../session/session-record.ts";
import { given, requestIdOf, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Sets `logLevel`, `cancellation` and `underWay` of a call that goes to an upstream. In the modern era whoever
 * leaves cancels (2026-07-28, transport, "Cancellation"). In a legacy session a lost connection is no cancellation
 * (2025-11-25, transports, "Sending messages to the server") unless the operator says so of the upstream:
 * the client says `notifications/cancelled`, through any replica.
 */
export function beginCall(x: Exchange, g: Gateway): undefined {
  const id = requestIdOf(x);
  if (x.target?.entry === undefined || id === undefined) return undefined;
  x.arrival.expectWait();
  if (x.session === undefined) beginModern(x);
  else beginLegacy(x, g, { session: x.session, id });
  return undefined;
}

function beginModern(x: Exchange): void {
  const level = given(x.classified, "a classified message").meta?.logLevel;
  x.logLevel = isLogLevel(level) ? level : undefined;
  x.cancellation = x.arrival.gone;
}

function beginLegacy(x: Exchange, g: Gateway, { session, id }: { session: Session; id: RpcId }): void {
  const call = g.underWay.begin(session, id);
  x.logLevel = session.logLevel;
  x.underWay = call;
  x.cancellation = call.cancellation;
  const upstream = given(x.target?.entry, "a target").item.upstream;
  if (g.treatments.get(upstream)?.disconnect !== "cancel") return;
  x.arrival.gone.addEventListener("abort", () => {
    call.abandon();
  });
  if (x.arrival.gone.aborted) call.abandon();
}
