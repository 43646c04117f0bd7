import { request } from "node:http";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { createSseParser } from "../../src/protocol/sse.ts";
import { until } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";

/** An answer as a client reads it while it comes: a stream, or one JSON text. */
export interface OpenStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Messages so far, in order: of the events, or the one of a JSON body once it is over. */
  readonly messages: readonly Loose[];
  /** Comments so far. */
  readonly comments: number;
  /** Everything received, as text. */
  readonly text: string;
  /** True once the server has ended the stream, or the connection is lost. */
  readonly ended: boolean;
  /** Settles when `ended` is true. */
  readonly over: Promise<void>;
  /** Waits for the next `count` messages in all. */
  received(count: number): Promise<readonly Loose[]>;
  /** Stops reading; what the gateway sends piles up at its side. */
  pause(): void;
  close(): void;
}

export interface StreamRequest {
  readonly port: number;
  readonly path: string;
  /** Absent: POST with a body, GET without. */
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
  /** A body that `JSON.stringify` cannot write. */
  readonly text?: string;
  /** Aborting leaves, before there is an answer too. */
  readonly signal?: AbortSignal;
  /** Called with every message as it comes. */
  readonly onMessage?: (message: Loose) => void;
}

/** Opens a stream and resolves with its head; a refusal is one too, with its body as `text`. */
export function openStream(of: StreamRequest): Promise<OpenStream> {
  const { port, path, headers, body, text, signal } = of;
  const method = of.method ?? (body === undefined && text === undefined ? "GET" : "POST");
  return new Promise((resolve, reject) => {
    const present = Object.entries(headers).filter(([, value]) => value !== undefined);
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers: Object.fromEntries(present) as Record<string, string | string[]>,
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.once("response", (response) => {
      resolve(streamOf(outgoing, response, read(response, of.onMessage)));
    });
    outgoing.once("error", reject);
    // A stream that the test closes itself reports it as an error.
    outgoing.on("error", () => undefined);
    outgoing.end(text ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}

interface Reading {
  readonly messages: Loose[];
  text: string;
  ended: boolean;
  readonly over: Promise<void>;
}

function read(response: IncomingMessage, onMessage: (message: Loose) => void = () => undefined): Reading {
  const parser = createSseParser({ eventBytesMax: 16_777_216 });
  const decoder = new TextDecoder();
  const isJson = response.headers["content-type"]?.startsWith("application/json") === true;
  const take = (data: string): void => {
    const message = JSON.parse(data) as Loose;
    reading.messages.push(message);
    onMessage(message);
  };
  const over = new Promise<void>((resolve) => {
    const end = (): void => {
      if (reading.ended) return;
      reading.ended = true;
      if (isJson && response.complete && reading.text !== "") take(reading.text);
      resolve();
    };
    for (const ending of ["end", "error", "close"]) response.on(ending, end);
  });
  const reading: Reading = { messages: [], text: "", ended: false, over };
  response.on("data", (chunk: Buffer) => {
    reading.text += decoder.decode(chunk, { stream: true });
    const events = isJson ? undefined : parser.push(chunk);
    if (events?.ok === true) for (const { data } of events.value) if (data !== "") take(data);
  });
  return reading;
}

function streamOf(outgoing: ClientRequest, response: IncomingMessage, state: Reading): OpenStream {
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    over: state.over,
    messages: state.messages,
    get comments() {
      return state.text.split("\n").filter((line) => line.startsWith(":")).length;
    },
    get text() {
      return state.text;
    },
    get ended() {
      return state.ended;
    },
    received: async (count) => {
      await until(() => state.messages.length >= count || state.ended);
      return state.messages;
    },
    pause: () => {
      response.pause();
    },
    close: () => {
      outgoing.destroy();
    },
  };
}
