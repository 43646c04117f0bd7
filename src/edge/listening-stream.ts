import type { ServerResponse } from "node:http";
import type { ListeningStream } from "../gateway/exchange.ts";
import { sseComment, sseEvent } from "../protocol/sse.ts";
import { streamHeaders } from "./client-stream.ts";

export interface OpenListeningStream extends ListeningStream {
  readonly opened: true;
  /** Ends the stream, after a last message where there is one. */
  finish(answer: string): void;
}

/**
 * The event stream of a GET, or of a POST that is answered by nothing else (2025-11-25, transports, "Listening
 * for Messages from the Server"; 2026-07-28, subscriptions). It opens at once, its first bytes a comment, so that
 * no hop waits for more. No event has an id: resumption is not offered. The connection serves nothing after it,
 * so that a gateway which stops need not wait for its idle time.
 */
export function createListeningStream(
  res: ServerResponse,
  headers: Readonly<Record<string, string>>,
  bounds: { readonly streamBacklogBytesMax: number },
): OpenListeningStream {
  const isWritable = (): boolean => !res.destroyed && !res.writableEnded;
  res.writeHead(200, { ...headers, ...streamHeaders, connection: "close" });
  res.write(sseComment(""));
  return {
    opened: true,
    send: (message) => {
      if (!isWritable() || res.writableLength > bounds.streamBacklogBytesMax) return false;
      res.write(sseEvent(message));
      return true;
    },
    comment: () => {
      // A client that does not even take what is there needs no sign of life.
      if (isWritable() && res.writableLength === 0) res.write(sseComment(""));
    },
    finish: (answer) => {
      if (!isWritable()) return;
      // A client that reads nothing would keep the connection until the operating system gives up.
      if (res.writableLength > bounds.streamBacklogBytesMax) res.destroy();
      else if (answer === "") res.end();
      else res.end(sseEvent(answer));
    },
  };
}
