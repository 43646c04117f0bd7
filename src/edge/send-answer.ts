import type { IncomingMessage, ServerResponse } from "node:http";
import { accepts } from "../protocol/media-type.ts";
import { sseEvent } from "../protocol/sse.ts";
import type { Answer } from "../gateway/wire-answer.ts";

/** Writes an answer and what its exchange adds to its headers. A client that takes event streams alone gets the message as the one event of a stream. */
export function sendAnswer(
  req: IncomingMessage,
  res: ServerResponse,
  answer: Answer,
  extra: readonly Readonly<Record<string, string>>[],
): void {
  if (res.destroyed || res.headersSent) return;
  const streamed =
    answer.status === 200 && answer.body !== undefined && !accepts(req.headers.accept, "application/json");
  const body = streamed ? sseEvent(answer.body.toString()) : (answer.body ?? "");
  const headers: Record<string, string | number> = { ...answer.headers };
  for (const more of extra) Object.assign(headers, more);
  const bytes = Buffer.byteLength(body);
  headers["content-length"] = bytes;
  if (streamed) headers["content-type"] = "text/event-stream";
  // An unread body would have to be swallowed to keep the connection: a stranger could send for ever.
  if (!req.complete) headers["connection"] = "close";
  res.writeHead(answer.status, headers);
  // A text of as many bytes as characters is ASCII, which is written without being encoded.
  if (typeof body === "string" && bytes === body.length) res.end(body, "latin1");
  else res.end(body);
}
