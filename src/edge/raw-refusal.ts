import type { Duplex } from "node:stream";
import { limits } from "../model/limits.ts";
import { refuse, type RefusalCode } from "../model/refusal.ts";
import { answerStranger } from "../gateway/wire-answer.ts";

export interface RawFault {
  /** What Node's HTTP parser calls it. */
  readonly code?: string | undefined;
  /** Counts the refusal as one of a stranger, and returns its reference. */
  readonly note: (code: RefusalCode) => string;
}

const statusLines: ReadonlyMap<string | undefined, string> = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
]);

/**
 * Answers what the HTTP parser could not read at all, in the form of every other refusal, and hangs up. The
 * socket is ours from here on: Node takes its own listeners off the socket of a CONNECT, so that a reset
 * nobody listens for would end the process, and a peer that never hangs up would keep its half for ever.
 */
export function rawRefusal(socket: Duplex, { code, note }: RawFault): void {
  socket.on("error", () => socket.destroy());
  if (!socket.writable || code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const answer = answerStranger(refuse("HTTP_MALFORMED").refusal, note("HTTP_MALFORMED"));
  const body = answer.body ?? "";
  const status = statusLines.get(code) ?? "400 Bad Request";
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body);
  // Not at once: a connection that is cut with bytes unread may lose the answer on its way (RFC 9112 §9.6).
  const linger = setTimeout(() => socket.destroy(), limits.refusedLingerMs);
  socket.once("close", () => {
    clearTimeout(linger);
  });
}
