import type { Dispatcher } from "undici";
import { refuse } from "../model/refusal.ts";
import type { Fact, Refusal, RefusalCode } from "../model/refusal.ts";
import { mediaTypeOf } from "../protocol/media-type.ts";
import { connectionFault } from "./connection-fault.ts";
import { createEventAnswer } from "./event-answer.ts";
import type { EventAnswer } from "./event-answer.ts";
import type { Turn } from "./pools.ts";
import { decodeBody, invalid, isSuccess, readJsonAnswer, rejected, unanswered } from "./read-answer.ts";
import type { AnswerHead } from "./read-answer.ts";
import type { Reply } from "./reply.ts";
import type { SendOptions } from "./send.ts";

/** How the body of the answer is read. */
type Body =
  | { readonly mode: "json"; readonly coding: string; readonly chunks: Buffer[]; bytes: number }
  | { readonly mode: "events"; readonly answer: EventAnswer }
  /** Nobody reads it any more; it is waited for so that the connection can be used again. */
  | { readonly mode: "rest"; bytes: number };

/** How much of an unread body is worth receiving to keep a connection. */
const restBytesMax = 65_536;

/**
 * The life of one request on a lane: it waits for a turn, is written, and is answered. It settles exactly once
 * and leaves the lane exactly once, in this order or, when an event stream outlives its answer, some time apart.
 */
export class Exchange implements Turn, Dispatcher.DispatchHandler {
  readonly #options: SendOptions;
  readonly #resolve: (reply: Reply) => void;
  readonly #total: NodeJS.Timeout;
  #phase: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #head: AnswerHead = { status: 0, sessionId: undefined, challenge: undefined };
  #body: Body = { mode: "rest", bytes: 0 };
  #queued = false;
  #lingersSince = 0;
  #onLane = false;
  #settled = false;

  constructor(options: SendOptions, resolve: (reply: Reply) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#total = setTimeout(() => {
      const began = this.#head.status !== 0;
      this.#fail("UPSTREAM_TIMED_OUT", { phase: this.#queued ? "queue" : "call", ms: options.timeoutMs, began });
    }, options.timeoutMs);
  }

  begin(): void {
    const { lane, signal } = this.#options;
    if (signal?.aborted === true) {
      this.#fail("CLIENT_GONE");
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    const entered = lane.enter(this);
    if (entered === "queued") this.#queued = true;
    if (entered === "full") this.#fail("UPSTREAM_QUEUE_FULL", { queued: lane.load.queued });
  }

  start(dispatcher: Dispatcher): void {
    this.#queued = false;
    this.#onLane = true;
    const { outgoing, bounds } = this.#options;
    this.#allow(bounds.firstByteMs, () => (this.#controller === undefined ? "connect" : "first-byte"));
    dispatcher.dispatch(outgoing, this);
  }

  /** undici is about to write the request. From here on nobody can know whether it is executed. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const again = this.#controller !== undefined;
    this.#controller = controller;
    // undici may offer a request again when a connection breaks; whether the first was executed is not known.
    if (again) this.#fail("UPSTREAM_CLOSED_EARLY", { reason: "offered again" });
    else if (this.#settled) controller.abort(new Error("settled before it was written"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (status < 200 || this.#settled) return;
    clearTimeout(this.#phase);
    const challenge = single(headers["www-authenticate"]);
    this.#head = { status, sessionId: single(headers["mcp-session-id"]), challenge };
    this.#allow(this.#options.bounds.idleMs, () => "idle");
    this.#choose(mediaTypeOf(single(headers["content-type"])), contentCoding(headers["content-encoding"]));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const body = this.#body;
    if (body.mode === "rest") {
      body.bytes += chunk.byteLength;
      if (body.bytes > restBytesMax) controller.abort(new Error("the rest of the answer is too long"));
      return;
    }
    this.#phase?.refresh();
    if (body.mode === "events") {
      const reply = body.answer.push(chunk);
      if (reply !== undefined) this.#settle(reply);
      return;
    }
    body.bytes += chunk.byteLength;
    body.chunks.push(chunk);
    const { answerBytesMax } = this.#options.bounds;
    if (body.bytes > answerBytesMax) this.#fail("UPSTREAM_ANSWER_TOO_LARGE", { bytesMax: answerBytesMax });
  }

  onResponseEnd(): void {
    const body = this.#body;
    this.#leave();
    if (this.#settled) return;
    if (body.mode === "json") this.#finishJson(body.coding, joined(body));
    else this.#fail("UPSTREAM_CLOSED_EARLY", { reason: "the stream ended without the answer" });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#leave();
    if (this.#settled) return;
    const sent = this.#controller !== undefined;
    this.#settle({ kind: "none", refusal: connectionFault(error, sent), sent, error: undefined });
  }

  /** What the head of the answer promises decides how the body is read, or that it need not be. */
  #choose(mediaType: string | undefined, coding: string): void {
    const { id, bounds } = this.#options;
    const { status, sessionId } = this.#head;
    if (id === undefined && isSuccess(status)) this.#settle({ kind: "accepted", status, sessionId });
    else if (mediaType === "application/json" && status !== 202) {
      this.#body = { mode: "json", coding, chunks: [], bytes: 0 };
    } else if (!isSuccess(status)) this.#settle(rejected(this.#head));
    else if (id === undefined || status === 202 || mediaType !== "text/event-stream") {
      this.#settle(invalid({ status, reason: status === 202 ? "accepted" : "media type" }));
    } else if (coding !== "identity") this.#settle(invalid({ status, reason: "content-encoding" }));
    else this.#body = { mode: "events", answer: createEventAnswer(this.#head, id, this.#whileOpen(), bounds) };
  }

  #finishJson(coding: string, bytes: Buffer): void {
    if (coding === "identity") {
      this.#settle(this.#readJson(bytes));
      return;
    }
    void decodeBody(bytes, coding, this.#options.bounds.answerBytesMax).then((decoded) => {
      this.#settle(decoded.ok ? this.#readJson(decoded.value) : unanswered(decoded.refusal));
    });
  }

  #readJson(bytes: Buffer): Reply {
    const { id } = this.#options;
    return id === undefined ? rejected(this.#head) : readJsonAnswer(this.#head, bytes, id);
  }

  /** Handlers that hear nothing once it is settled: one of them may be what settles it, in the middle of a chunk. */
  #whileOpen(): Pick<SendOptions, "onNotification" | "onRequest" | "trail"> {
    const { onNotification, onRequest, trail } = this.#options;
    return {
      trail,
      onNotification: (message) => {
        if (!this.#settled) onNotification?.(message);
      },
      onRequest: (message) => {
        if (!this.#settled) onRequest?.(message);
      },
    };
  }

  /** The phase may be silent for `ms`, and for longer while a person is asked. */
  #allow(ms: number, phase: () => string): void {
    const timer = setTimeout(() => {
      if (this.#options.patience?.covers(ms) === true) timer.refresh();
      else this.#fail("UPSTREAM_TIMED_OUT", { phase: phase(), ms });
    }, ms);
    this.#phase = timer;
  }

  readonly #onAbort = (): void => {
    this.#fail("CLIENT_GONE");
  };

  #fail(code: RefusalCode, facts: Readonly<Record<string, Fact>> = {}): void {
    const { refusal }: { refusal: Refusal } = refuse(code, facts);
    this.#settle({ kind: "none", refusal, sent: this.#controller !== undefined, error: undefined });
    this.#controller?.abort(new Error(code));
  }

  #settle(reply: Reply): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#total);
    clearTimeout(this.#phase);
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    if (this.#onLane) this.#linger();
    else this.#options.lane.withdraw(this);
    this.#resolve(reply);
  }

  /** The answer is here or given up; the connection is kept when what remains of the body is short and soon over. */
  #linger(): void {
    this.#body = { mode: "rest", bytes: 0 };
    this.#lingersSince = performance.now();
    this.#dropAfter(this.#options.bounds.lingerMs);
    if (this.#controller !== undefined) this.#options.lane.linger(this);
  }

  /** Most streams end with their answer: a moment is cheaper than another connection, for whoever waits too. */
  letGo(): void {
    clearTimeout(this.#phase);
    const lingered = performance.now() - this.#lingersSince;
    this.#dropAfter(this.#options.bounds.lingerMsMin - lingered);
  }

  #dropAfter(ms: number): void {
    const drop = (): void => this.#controller?.abort(new Error("the stream did not end"));
    if (ms <= 0) drop();
    else this.#phase = setTimeout(drop, ms);
  }

  #leave(): void {
    if (!this.#onLane) return;
    this.#onLane = false;
    if (this.#settled) clearTimeout(this.#phase);
    this.#options.lane.leave(this);
  }
}

/** Most answers come in one piece, which is not copied. */
function joined({ chunks, bytes }: { readonly chunks: readonly Buffer[]; readonly bytes: number }): Buffer {
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes);
}

/** A header that must occur once. Twice is no value at all, rather than one of the two. */
function single(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function contentCoding(value: string | string[] | undefined): string {
  if (value === undefined) return "identity";
  return typeof value === "string" ? value.trim().toLowerCase() : "several";
}
