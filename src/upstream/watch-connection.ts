import type { Dispatcher } from "undici";
import { refuse } from "../model/refusal.ts";
import type { Refusal } from "../model/refusal.ts";
import { parseJson } from "../protocol/json/parse.ts";
import { mediaTypeOf } from "../protocol/media-type.ts";
import { createSseParser } from "../protocol/sse.ts";
import type { SseEvent, SseParser } from "../protocol/sse.ts";
import { answerBounds } from "./answer-bounds.ts";
import { connectionFault } from "./connection-fault.ts";
import { isSuccess, readAnswerMessage } from "./read-answer.ts";
import type { StreamLane, StreamTurn } from "./watch-lane.ts";

/** How a stream of notifications ended. */
export type StreamEnd =
  /** By whoever opened it. */
  | { readonly kind: "closed" }
  /** By the upstream, in order. */
  | { readonly kind: "ended" }
  /** It never began: a status other than 2xx, or a 2xx that is no event stream. */
  | { readonly kind: "refused"; readonly status: number; readonly rpcCode: number | undefined }
  /** The connection or what came over it failed. */
  | { readonly kind: "lost"; readonly refusal: Refusal };

export interface StreamConnectionOptions {
  readonly lane: StreamLane;
  /** Whose share of the lane it takes. */
  readonly holder: string;
  readonly outgoing: {
    readonly method: "GET" | "POST";
    readonly path: string;
    readonly headers: string[];
    readonly body: string | null;
  };
  /** Longest wait for a turn. */
  readonly turnMs: number;
  /** From the start until the headers, connecting included. */
  readonly firstByteMs: number;
  /** Longest silence afterwards. Comments end it. */
  readonly idleMs: number;
  readonly eventBytesMax: number;
  /** The connections that it may have are taken; it waits for one. */
  readonly onQueued: () => void;
  /** The upstream began an event stream. */
  readonly onOpen: () => void;
  readonly onEvent: (event: SseEvent) => void;
  /** Exactly once, and last. */
  readonly onEnd: (end: StreamEnd) => void;
}

/** How much of a body that is no event stream is read for its error code. */
const refusedBytesMax = 65_536;

/**
 * One event stream from an upstream, which lasts until either side ends it: there is no bound on its age, only
 * on its silence. Nothing is retried and no redirect is followed.
 */
export class StreamConnection implements StreamTurn, Dispatcher.DispatchHandler {
  readonly #options: StreamConnectionOptions;
  #phase: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #events: SseParser | undefined;
  #status = 0;
  readonly #refused: Buffer[] = [];
  #refusedBytes = 0;
  #onLane = false;
  #over = false;

  readonly holder: string;

  constructor(options: StreamConnectionOptions) {
    this.#options = options;
    this.holder = options.holder;
  }

  begin(): void {
    const { lane, turnMs, onQueued } = this.#options;
    const entered = lane.enter(this);
    if (entered === "full") this.#findFull();
    if (entered !== "queued") return;
    this.#phase = setTimeout(() => {
      this.#findFull();
    }, turnMs);
    onQueued();
  }

  /** Ends it from this side, with what that means. */
  finish(end: StreamEnd): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#phase);
    if (this.#onLane) this.#controller?.abort(new Error("the stream is over"));
    else this.#options.lane.withdraw(this);
    this.#options.onEnd(end);
  }

  fail(refusal: Refusal): void {
    this.finish({ kind: "lost", refusal });
  }

  start(dispatcher: Dispatcher): void {
    this.#onLane = true;
    this.#expectWithin(this.#options.firstByteMs, "first-byte");
    try {
      dispatcher.dispatch(this.#options.outgoing, this);
    } catch (cause) {
      // What waits for the connection must not go down with a dispatcher that throws.
      this.#leave();
      this.fail(connectionFault(cause, false));
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error("closed before it was written"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200 || this.#over) return;
    this.#status = status;
    const type = headers["content-type"];
    const mediaType = mediaTypeOf(typeof type === "string" ? type : undefined);
    const identity = headers["content-encoding"] === undefined || headers["content-encoding"] === "identity";
    if (isSuccess(status) && mediaType === "text/event-stream" && identity) {
      this.#events = createSseParser({ eventBytesMax: this.#options.eventBytesMax });
      this.#expectWithin(this.#options.idleMs, "idle");
      this.#options.onOpen();
    } else if (mediaType !== "application/json" || !identity) this.#refuse(undefined);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    if (this.#events === undefined) {
      this.#refusedBytes += chunk.byteLength;
      if (this.#refusedBytes > refusedBytesMax) this.#refuse(undefined);
      else this.#refused.push(chunk);
      return;
    }
    this.#phase?.refresh();
    const pushed = this.#events.push(chunk);
    if (!pushed.ok) {
      const { code } = pushed.refusal;
      const tooLarge = code === "UPSTREAM_ANSWER_TOO_LARGE";
      this.fail(tooLarge ? pushed.refusal : refuse("UPSTREAM_ANSWER_INVALID", { reason: code }).refusal);
      return;
    }
    for (const event of pushed.value) if (!this.#isOver()) this.#options.onEvent(event);
  }

  onResponseEnd(): void {
    this.#leave();
    if (this.#over) return;
    if (this.#events !== undefined) this.finish({ kind: "ended" });
    else this.#refuse(rpcCodeOf(Buffer.concat(this.#refused, this.#refusedBytes)));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leave();
    this.fail(connectionFault(error, this.#controller !== undefined));
  }

  /** A method, as a handler that is called in between may have ended the stream. */
  #isOver(): boolean {
    return this.#over;
  }

  #findFull(): void {
    this.fail(refuse("UPSTREAM_QUEUE_FULL", this.#options.lane.load).refusal);
  }

  #refuse(rpcCode: number | undefined): void {
    this.finish({ kind: "refused", status: this.#status, rpcCode });
  }

  #expectWithin(ms: number, phase: string): void {
    clearTimeout(this.#phase);
    this.#phase = setTimeout(() => {
      this.fail(refuse("UPSTREAM_TIMED_OUT", { phase, ms }).refusal);
    }, ms);
  }

  #leave(): void {
    if (!this.#onLane) return;
    this.#onLane = false;
    this.#options.lane.leave(this);
  }
}

/** The code of a JSON-RPC error, whatever id it carries: it answers this connection's only message. */
function rpcCodeOf(bytes: Buffer): number | undefined {
  const message = readAnswerMessage(parseJson(bytes, answerBounds));
  if (!message.ok || message.value.kind !== "response" || !("error" in message.value)) return undefined;
  return message.value.error.code;
}
