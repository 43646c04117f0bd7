import { refuse } from "../model/refusal.ts";
import type { Refusal } from "../model/refusal.ts";
import type { RpcMessage } from "../model/rpc.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import type { SseEvent } from "../protocol/sse.ts";
import { answerBounds } from "./answer-bounds.ts";
import type { Link } from "./link.ts";
import { readAnswerMessage } from "./read-answer.ts";
import { StreamConnection } from "./watch-connection.ts";
import type { StreamEnd } from "./watch-connection.ts";

export interface OpenStream {
  finish(end: StreamEnd): void;
  fail(refusal: Refusal): void;
  /** Settles when the stream is over. Never rejects. */
  readonly over: Promise<StreamEnd>;
  /** Of the events so far. Changes as they come. */
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
}

export interface OpenStreamOptions {
  readonly method: "GET" | "POST";
  readonly headers: readonly string[];
  readonly body: string | null;
  /** Whose share of the upstream's connections for streams it takes. */
  readonly holder: string;
  /** Aborting closes the stream. */
  readonly signal: AbortSignal;
  readonly onQueued: () => void;
  readonly onOpen: () => void;
  /** Each message of the stream, in order. */
  readonly take: (message: RpcMessage) => void;
}

/**
 * One stream on the lane for streams, read message by message. What is no message is noted and passed over: one
 * bad notification must not cost the others. A flood is bounded by time, as a stream may bring any number of
 * events in its life.
 */
export function openStream(link: Link, options: OpenStreamOptions): OpenStream {
  const { signal } = options;
  let lastEventId: string | undefined;
  let retryMs: number | undefined;
  let settle: (end: StreamEnd) => void = () => undefined;
  const over = new Promise<StreamEnd>((resolve) => {
    settle = resolve;
  });
  const isFlooded = createFloodGate(link);
  const close = (): void => {
    connection.finish({ kind: "closed" });
  };
  const connection = new StreamConnection({
    lane: link.pools.streams,
    holder: options.holder,
    turnMs: link.limits.upstreamStreamWaitMsMax,
    outgoing: { method: options.method, path: link.path, headers: [...options.headers], body: options.body },
    firstByteMs: link.timeouts.firstByteMs,
    idleMs: link.limits.upstreamStreamIdleMs,
    eventBytesMax: link.limits.upstreamEventBytesMax,
    onQueued: options.onQueued,
    onOpen: options.onOpen,
    onEvent: (event) => {
      lastEventId = event.id ?? lastEventId;
      retryMs = event.retry ?? retryMs;
      if (isFlooded()) connection.fail(flooded(link));
      else for (const message of messagesOf(link, event)) options.take(message);
    },
    onEnd: (end) => {
      signal.removeEventListener("abort", close);
      settle(end);
    },
  });
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  else connection.begin();
  return {
    finish: (end) => {
      connection.finish(end);
    },
    fail: (refusal) => {
      connection.fail(refusal);
    },
    over,
    get lastEventId() {
      return lastEventId;
    },
    get retryMs() {
      return retryMs;
    },
  };
}

const minuteMs = 60_000;

function createFloodGate({ limits, now }: Pick<Link, "limits" | "now">): () => boolean {
  let windowEndsAt = 0;
  let events = 0;
  return () => {
    if (now() >= windowEndsAt) {
      windowEndsAt = now() + minuteMs;
      events = 0;
    }
    events += 1;
    return events > limits.upstreamStreamEventsPerMinuteMax;
  };
}

function flooded({ limits }: Pick<Link, "limits">): Refusal {
  return refuse("UPSTREAM_ANSWER_TOO_LARGE", { eventsPerMinuteMax: limits.upstreamStreamEventsPerMinuteMax }).refusal;
}

/** A server of 2025-03-26 may put several messages into one event (that revision, "Batching"). */
function messagesOf({ upstream, limits, log }: Link, { event, data }: SseEvent): readonly RpcMessage[] {
  if (data === "" || event !== "message") return [];
  const parsed = parseJsonText(data, answerBounds);
  if (!parsed.ok) {
    log("upstream-message-ignored", { upstream, reason: parsed.refusal.code });
    return [];
  }
  const parts = Array.isArray(parsed.value) ? parsed.value.slice(0, limits.batchElementsMax) : [parsed.value];
  return parts.flatMap((part) => {
    const message = readAnswerMessage({ ok: true, value: part });
    if (message.ok) return [message.value];
    log("upstream-message-ignored", { upstream, reason: message.refusal.code });
    return [];
  });
}
