import { request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { Loose } from "../journey/http-client.ts";

/** A request whose answer may be an event stream, read message by message as it comes. */
export interface Streaming {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Every JSON-RPC message so far: of the events, or the one of a JSON body. */
  readonly messages: readonly Loose[];
  /** The text of the body so far. */
  readonly text: () => string;
  /** Settles when the body is over, however it ends. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface StreamRequest {
  readonly port: number;
  readonly path: string;
  readonly method?: "POST" | "GET";
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  /** Called with every message of the stream as it comes. */
  readonly onMessage?: (message: Loose) => void;
}

/** Resolves with the head of the answer. A connection that breaks before it rejects. */
export function openStream(of: StreamRequest): Promise<Streaming> {
  const { port, path, method = "POST", body, onMessage, signal } = of;
  const headers = Object.fromEntries(Object.entries(of.headers).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      method,
      headers: headers as Record<string, string>,
      agent: false,
      ...(signal === undefined ? {} : { signal }),
    });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const messages: Loose[] = [];
      const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
      let text = "";
      let taken = 0;
      const take = (): void => {
        for (let end = text.indexOf("\n\n", taken); end !== -1; end = text.indexOf("\n\n", taken)) {
          const message = messageOf(text.slice(taken, end));
          taken = end + 2;
          if (message === undefined) continue;
          messages.push(message);
          onMessage?.(message);
        }
      };
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
        if (isStream) take();
      });
      const ended = new Promise<void>((done) => {
        response.on("close", () => {
          if (!isStream && text !== "") messages.push(JSON.parse(text) as Loose);
          done();
        });
      });
      response.on("error", () => undefined);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        messages,
        text: () => text,
        ended,
        close: () => outgoing.destroy(),
      });
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function messageOf(block: string): Loose | undefined {
  const lines = block.split("\n").filter((line) => line.startsWith("data:"));
  if (lines.length === 0) return undefined;
  const data = lines.map((line) => line.slice(line.startsWith("data: ") ? 6 : 5)).join("\n");
  return data === "" ? undefined : (JSON.parse(data) as Loose);
}
