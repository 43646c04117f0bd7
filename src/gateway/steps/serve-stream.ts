import type { Refusal } from "../../model/refusal.ts";
import { serveListen } from "../streams/serve-listen.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";

/**
 * Serves the stream that the client opened, until it ends: for the journey it is one long answer. Sets `result` to
 * what closes a subscription. Refuses STREAM_LIMIT_REACHED, NOT_ACCEPTABLE and RPC_PARAMS_INVALID.
 */
export function serveStream(x: Exchange, g: Gateway): Promise<Refusal | undefined> {
  return x.classified?.column === "listen" ? serveListen(x, g) : g.clientStreams.serveSession(x, g);
}
