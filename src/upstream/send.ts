import type { Cancellation } from "../model/cancellation.ts";
import type { RpcNotification, RpcRequest } from "../model/rpc.ts";
import type { StreamTrail } from "./event-answer.ts";
import type { Patience } from "./patience.ts";
import type { Lane } from "./pools.ts";
import type { Reply } from "./reply.ts";
import { Exchange } from "./exchange.ts";

/** One HTTP request to an upstream. */
export interface Outgoing {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  /** Names and values in turn, as undici takes them. */
  readonly headers: string[];
  readonly body: string | null;
}

export interface SendBounds {
  readonly answerBytesMax: number;
  readonly eventBytesMax: number;
  readonly eventsMax: number;
  readonly batchElementsMax: number;
  /** From the start until the answer's headers, connecting included. */
  readonly firstByteMs: number;
  /** Longest silence within the answer's body. */
  readonly idleMs: number;
  /** How long a stream may take to end after the answer; and how long while another waits for its connection. */
  readonly lingerMs: number;
  readonly lingerMsMin: number;
}

export interface SendOptions {
  readonly lane: Lane;
  readonly outgoing: Outgoing;
  /** The JSON-RPC id to wait for; undefined when the message expects no answer. */
  readonly id: string | undefined;
  readonly bounds: SendBounds;
  /** From now until the answer is complete, waiting in the queue included. */
  readonly timeoutMs: number;
  readonly signal: Cancellation | undefined;
  readonly onNotification?: ((message: RpcNotification) => void) | undefined;
  /** A request that the upstream sends to the client while it works. */
  readonly onRequest?: ((message: RpcRequest) => void) | undefined;
  /** Where the event stream has come to is noted here; another exchange may go on from it. */
  readonly trail?: StreamTrail | undefined;
  /** Explains silence: neither `firstByteMs` nor `idleMs` ends the exchange while a person is asked. */
  readonly patience?: Patience | undefined;
}

/**
 * Sends one request and reads what comes: a JSON body, or an event stream until it brings the response with
 * `id`. Nothing is retried and no redirect is followed. Never rejects; what went wrong is a `Reply`.
 * Aborting `signal` closes the connection.
 */
export function send(options: SendOptions): Promise<Reply> {
  return new Promise((resolve) => {
    const exchange = new Exchange(options, resolve);
    exchange.begin();
  });
}
