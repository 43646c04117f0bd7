import { request } from "node:http";
import type { ClientRequest, IncomingHttpHeaders } from "node:http";
import { createSseParser } from "../../src/protocol/sse.ts";
import { until } from "./gateway-under-test.ts";
import type { Loose } from "./http-client.ts";

/** A stream as a client sees it. */
export interface OpenStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Messages so far, in order. */
  readonly messages: readonly Loose[];
  /** Comments so far. */
  readonly comments: number;
  /** Everything received, as text. */
  readonly text: string;
  /** True once the server has ended the stream, or the connection is lost. */
  readonly ended: boolean;
  /** Waits for the next `count` messages in all. */
  received(count: number): Promise<readonly Loose[]>;
  /** Stops reading; what the gateway sends piles up at its side. */
  pause(): void;
  close(): void;
}

export interface StreamRequest {
  readonly port: number;
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: unknown;
  /** A body that `JSON.stringify` cannot write. */
  readonly text?: string;
}

/** Opens a stream and resolves with its head; a refusal is one too, with its body as `text`. */
export function openStream({ port, path, method = "GET", headers, body, text }: StreamRequest): Promise<OpenStream> {
  return new Promise((resolve, reject) => {
    const present = Object.entries(headers).filter(([, value]) => value !== undefined);
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers: Object.fromEntries(present) as Record<string, string | string[]>,
      agent: false,
    });
    outgoing.once("response", (response) => {
      const state = { messages: [] as Loose[], text: "", ended: false };
      const parser = createSseParser({ eventBytesMax: 16_777_216 });
      response.on("data", (chunk: Buffer) => {
        state.text += chunk.toString("utf8");
        const events = parser.push(chunk);
        if (events.ok)
          for (const { data } of events.value) if (data !== "") state.messages.push(JSON.parse(data) as Loose);
      });
      const end = (): void => void (state.ended = true);
      response.on("end", end);
      response.on("error", end);
      response.on("close", end);
      resolve(streamOf(outgoing, state, { response, status: response.statusCode ?? 0, headers: response.headers }));
    });
    outgoing.once("error", reject);
    // A stream that the test closes itself reports it as an error.
    outgoing.on("error", () => undefined);
    outgoing.end(text ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}

function streamOf(
  outgoing: ClientRequest,
  state: { messages: Loose[]; text: string; ended: boolean },
  head: { response: { pause(): void }; status: number; headers: IncomingHttpHeaders },
): OpenStream {
  return {
    status: head.status,
    headers: head.headers,
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
      head.response.pause();
    },
    close: () => {
      outgoing.destroy();
    },
  };
}
