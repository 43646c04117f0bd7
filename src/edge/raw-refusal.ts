import type { Socket } from "node:net";
import { refuse } from "../model/refusal.ts";
import { answerRefusal } from "../gateway/wire-answer.ts";

/** Answers what the HTTP parser could not read at all, in the form of every other refusal, and hangs up. */
export function rawRefusal(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const answer = answerRefusal(refuse("HTTP_MALFORMED").refusal, {
    ref: "none",
    era: undefined,
    id: undefined,
    method: undefined,
    asked: undefined,
    outcome: "refused",
    resource: undefined,
  });
  const body = answer.body ?? "";
  const status = error.code === "HPE_HEADER_OVERFLOW" ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body);
}
