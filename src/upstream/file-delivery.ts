import { errors } from "undici";
import type { Dispatcher } from "undici";
import { refuse, type Refusal } from "../model/refusal.ts";
import { connectionFault } from "./connection-fault.ts";
import type { FileErrand } from "./files.ts";

/** A file that cannot be delivered, and why, on its way through a library that knows errors only. */
export class FileFault extends Error {
  override readonly name = "FileFault";
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.code, { cause: refusal.cause });
    this.refusal = refusal;
  }
}

/** The refusal that an error carries, itself or as a cause; undefined for an error of another kind. */
export function fileRefusalIn(error: unknown): Refusal | undefined {
  if (error instanceof FileFault) return error.refusal;
  return error instanceof Error && error.cause !== undefined ? fileRefusalIn(error.cause) : undefined;
}

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

/**
 * The life of one file's fetching: it is attempted, judged by its head, counted while it comes, and over exactly
 * once. `client` hears of one answer, whatever number of attempts that took.
 *
 * Fails with FileFault: what `errand.judge` refuses; UPSTREAM_TIMED_OUT, CLIENT_GONE, UPSTREAM_ANSWER_TOO_LARGE,
 * and what `connectionFault` names.
 */
export class FileDelivery {
  readonly #errand: FileErrand;
  readonly #client: Handler;
  #deadline: NodeJS.Timeout | undefined;
  #controller: Controller | undefined;
  #fault: FileFault | undefined;
  #over = false;
  #bytes = 0;

  constructor(errand: FileErrand, client: Handler) {
    this.#errand = errand;
    this.#client = client;
    errand.signal.addEventListener("abort", this.#onGone);
    if (errand.signal.aborted) this.#onGone();
  }

  /** Answers a request that is not attempted. */
  static refuse(client: Handler, refusal: Refusal): void {
    client.onResponseError?.(noController, new FileFault(refusal));
  }

  giveUpAfter(ms: number): void {
    if (this.#over) return;
    this.#deadline = setTimeout(() => {
      this.fail(new FileFault(refuse("UPSTREAM_TIMED_OUT", { phase: "call", ms }).refusal));
    }, ms);
  }

  /** Resolves when the attempt is over; with `renew` when it was answered 401 and is not the last. */
  attempt(start: (handler: Handler) => void, isLast: boolean): Promise<"over" | "renew"> {
    if (this.#over) return Promise.resolve("over");
    return new Promise((resolve) => {
      start(this.#handler(isLast, resolve));
    });
  }

  fail(fault: FileFault): void {
    if (this.#over) return;
    this.#fault ??= fault;
    if (this.#controller === undefined) this.#end(() => this.#client.onResponseError?.(noController, fault));
    else this.#controller.abort(fault);
  }

  readonly #onGone = (): void => {
    this.fail(new FileFault(refuse("CLIENT_GONE").refusal));
  };

  #handler(isLast: boolean, resolve: (became: "over" | "renew") => void): Handler {
    let renewing = false;
    return {
      onRequestStart: (controller, context) => {
        this.#controller = controller;
        if (this.#over) controller.abort(new Error("given up before it was written"));
        else this.#client.onRequestStart?.(controller, context);
      },
      onResponseStart: (controller, status, headers, text) => {
        if (status < 200 || renewing) return;
        renewing = status === 401 && !isLast;
        if (renewing) controller.abort(new Error("another credential is tried"));
        else this.#start(controller, { status, headers, text });
      },
      onResponseData: (controller, chunk) => {
        if (this.#fault === undefined && !renewing) this.#take(controller, chunk);
      },
      onResponseEnd: (controller, trailers) => {
        resolve("over");
        if (this.#fault === undefined) this.#end(() => this.#client.onResponseEnd?.(controller, trailers));
      },
      onResponseError: (controller, error) => {
        const wasSent = this.#controller !== undefined;
        this.#controller = undefined;
        if (renewing && this.#fault === undefined) {
          resolve("renew");
          return;
        }
        resolve("over");
        const fault = this.#fault ?? faultOf(error, wasSent);
        this.#end(() => this.#client.onResponseError?.(controller, fault));
      },
    };
  }

  #start(
    controller: Controller,
    answer: { status: number; headers: Parameters<FileErrand["judge"]>[1]; text: string | undefined },
  ): void {
    const { status, headers, text } = answer;
    const refusal = this.#errand.judge(status, headers);
    if (refusal === undefined) this.#client.onResponseStart?.(controller, status, headers, text);
    else this.fail(new FileFault(refusal));
  }

  #take(controller: Controller, chunk: Buffer): void {
    const { bytesMax } = this.#errand;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > bytesMax) {
      this.fail(new FileFault(refuse("UPSTREAM_ANSWER_TOO_LARGE", { bytesMax }).refusal));
      return;
    }
    this.#errand.onBytes(this.#bytes);
    this.#client.onResponseData?.(controller, chunk);
  }

  #end(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#deadline);
    this.#errand.signal.removeEventListener("abort", this.#onGone);
    tell();
  }
}

function faultOf(error: Error, wasSent: boolean): FileFault {
  if (error instanceof FileFault) return error;
  const isLate = error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
  if (!isLate) return new FileFault(connectionFault(error, wasSent));
  const phase = error instanceof errors.HeadersTimeoutError ? "first-byte" : "idle";
  return new FileFault(refuse("UPSTREAM_TIMED_OUT", { phase }, { cause: error }).refusal);
}

/** Stands in where nothing was written yet, so that nothing can be stopped. */
const noController: Controller = {
  aborted: true,
  paused: false,
  reason: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};
