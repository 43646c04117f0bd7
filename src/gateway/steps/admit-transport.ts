import { refuse, type Refusal } from "../../model/refusal.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Refuses foreign hosts and origins (DNS rebinding; specification, transport, "Security Warning") and
 * everything while the gateway drains. Reads headers only.
 */
export function admitTransport(x: Exchange, g: Gateway): Refusal | undefined {
  if (g.draining()) return refuse("DRAINING").refusal;
  const host = x.arrival.headers["host"]?.toLowerCase();
  // None, or more than one, is no request at all (RFC 9112 §3.2).
  if (host === undefined) return refuse("HTTP_MALFORMED", { header: "host" }).refusal;
  if (!g.allowedHosts.has(host)) return refuse("HOST_NOT_ALLOWED").refusal;
  const origin = x.arrival.headers["origin"];
  if (origin !== undefined && !g.allowedOrigins.has(origin)) return refuse("ORIGIN_NOT_ALLOWED").refusal;
  return undefined;
}
