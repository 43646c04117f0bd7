import type { Json } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import type { Refusal } from "../model/refusal.ts";
import type { RpcMessage } from "../model/rpc.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { answerBounds } from "./answer-bounds.ts";
import { createSseParser } from "../protocol/sse.ts";
import { readAnswerMessage, unanswered } from "./read-answer.ts";
import type { AnswerHead } from "./read-answer.ts";
import type { Reply } from "./reply.ts";
import type { SendBounds, SendOptions } from "./send.ts";

/** Reads an event stream until it brings the answer. `push` returns the reply once there is one. */
export interface EventAnswer {
  push(chunk: Uint8Array): Reply | undefined;
}

/** Where a request's event stream has come to, on however many connections. */
export interface StreamTrail {
  /** Of the last event that was taken: where to go on from (2025-11-25, transports, "Resumability"). */
  lastEventId: string | undefined;
  /** The pause that the upstream asks for before it is connected to again, in milliseconds. */
  retryMs: number | undefined;
  messages: number;
  requests: number;
}

export function createTrail(): StreamTrail {
  return { lastEventId: undefined, retryMs: undefined, messages: 0, requests: 0 };
}

/**
 * Events without data (priming events, 2025-11-25 "Sending messages to the server") and events of another type
 * than `message` carry no message. Responses with a foreign id are passed over: the stream may still bring the
 * right one. An event counts as many as the messages in it, and each request is one to answer, hence a bound
 * of its own. Notifications and requests go to their handlers, in order, as long as the answer has not arrived.
 */
export function createEventAnswer(
  head: AnswerHead,
  id: string,
  { trail = createTrail(), ...handlers }: Pick<SendOptions, "onNotification" | "onRequest" | "trail">,
  bounds: Pick<SendBounds, "eventBytesMax" | "eventsMax" | "batchElementsMax">,
): EventAnswer {
  const parser = createSseParser({ eventBytesMax: bounds.eventBytesMax });
  const take = (message: RpcMessage, bytes: number): Reply | undefined => {
    switch (message.kind) {
      case "notification":
        handlers.onNotification?.(message);
        return undefined;
      case "request":
        trail.requests += 1;
        if (trail.requests > requestsMax) return tooLarge({ requestsMax });
        handlers.onRequest?.(message);
        return undefined;
      case "response":
        return message.id === id ? { kind: "response", ...head, response: message, bytes } : undefined;
    }
  };
  const read = (data: string): Reply | undefined => {
    const parsed = parseJsonText(data, answerBounds);
    if (!parsed.ok) return unanswered(streamFault(parsed.refusal));
    const parts = partsOf(parsed.value);
    if (parts.length > bounds.batchElementsMax) return tooLarge({ batchElementsMax: bounds.batchElementsMax });
    trail.messages += Math.max(1, parts.length);
    if (trail.messages > bounds.eventsMax) return tooLarge({ eventsMax: bounds.eventsMax });
    for (const part of parts) {
      const message = readAnswerMessage({ ok: true, value: part });
      if (!message.ok) return unanswered(message.refusal);
      const reply = take(message.value, Buffer.byteLength(data));
      if (reply !== undefined) return reply;
    }
    return undefined;
  };
  return {
    push(chunk) {
      const pushed = parser.push(chunk);
      if (!pushed.ok) return unanswered(streamFault(pushed.refusal));
      for (const { event, data, id: eventId, retry } of pushed.value) {
        const reply = data === "" || event !== "message" ? undefined : read(data);
        if (reply !== undefined) return reply;
        trail.lastEventId = eventId ?? trail.lastEventId;
        trail.retryMs = retry ?? trail.retryMs;
      }
      return undefined;
    },
  };
}

const requestsMax = limits.upstreamRequestsPerExchangeMax;

function streamFault(refusal: Refusal): Refusal {
  if (refusal.code === "UPSTREAM_ANSWER_TOO_LARGE") return refusal;
  return refuse("UPSTREAM_ANSWER_INVALID", { reason: refusal.code }).refusal;
}

/** A server of 2025-03-26 may put several messages into one event (that revision, "Batching"). */
function partsOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value];
}

function tooLarge(facts: Readonly<Record<string, number>>): Reply {
  return unanswered(refuse("UPSTREAM_ANSWER_TOO_LARGE", facts).refusal);
}
