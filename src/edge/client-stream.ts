import type { ServerResponse } from "node:http";
import type { ClientStream } from "../gateway/exchange.ts";
import { sseComment, sseEvent } from "../protocol/sse.ts";

export interface AnswerStream extends ClientStream {
  /** True once it is open: the answer can no longer be anything but the stream's last event. */
  readonly opened: boolean;
  /** Opens it without a message, unless it is open or over. */
  open(): void;
  /** Ends the stream, after a last message where there is one. */
  finish(answer: string): void;
}

export interface StreamBounds {
  /** Time between two comments, in milliseconds, so that no hop takes a silent stream for a dead one. */
  readonly streamCommentMs: number;
  /** Bytes that may wait for a client that reads slowly, before messages on the way to the answer are dropped. */
  readonly streamBacklogBytesMax: number;
}

/**
 * The event stream in which a POST is answered (Streamable HTTP, "Sending messages to the server"). It opens
 * with its first message, or after a while of silence. No event has an id: resumption is not offered.
 */
export function createAnswerStream(
  res: ServerResponse,
  headers: Readonly<Record<string, string>>,
  bounds: StreamBounds,
): AnswerStream {
  let comments: NodeJS.Timeout | undefined;
  const open = (): void => {
    res.writeHead(200, { ...headers, ...streamHeaders });
    comments = setInterval(() => res.write(sseComment("")), bounds.streamCommentMs);
    res.once("close", () => {
      clearInterval(comments);
    });
  };
  return {
    open: () => {
      if (comments !== undefined || res.destroyed || res.headersSent) return;
      open();
      res.write(sseComment(""));
    },
    get opened(): boolean {
      return comments !== undefined;
    },
    send: (message) => {
      if (res.destroyed || res.writableEnded || res.writableLength > bounds.streamBacklogBytesMax) return false;
      if (comments === undefined) open();
      res.write(sseEvent(message));
      return true;
    },
    finish: (answer) => {
      clearInterval(comments);
      if (answer === "") res.end();
      else res.end(sseEvent(answer));
    },
  };
}

/** Proxies must hand on each event as it comes. */
export const streamHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};
