import { IncomingMessage } from "node:http";
import type { IncomingHttpHeaders } from "node:http";

export interface LibraryRequest {
  readonly publicUrl: string;
  /** Path and query, as prepared. */
  readonly target: string;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  /** `json` keeps the library from answering an error with a page. */
  readonly answer: "json" | "page";
}

/**
 * The request as the library sees it: a copy with a prepared target and body, and only those headers
 * that it may act on. Its endpoint URLs come from `Host` and `X-Forwarded-Proto`, so both are ours,
 * made from `publicUrl` (design, decision 10), whatever the client or a proxy sent. The original
 * message stays as it arrived; its body has been read.
 */
export function requestForLibrary(original: IncomingMessage, wanted: LibraryRequest): IncomingMessage {
  const copy = new IncomingMessage(original.socket);
  copy.method = original.method ?? "GET";
  copy.url = wanted.target;
  copy.httpVersion = original.httpVersion;
  copy.httpVersionMajor = original.httpVersionMajor;
  copy.httpVersionMinor = original.httpVersionMinor;
  copy.headers = headersForLibrary(original.headers, wanted);
  copy.complete = true;
  if (wanted.body.byteLength > 0) copy.push(wanted.body);
  copy.push(null);
  return copy;
}

function headersForLibrary(received: IncomingHttpHeaders, wanted: LibraryRequest): IncomingHttpHeaders {
  const origin = new URL(wanted.publicUrl);
  const headers: IncomingHttpHeaders = {
    host: origin.host,
    "x-forwarded-proto": origin.protocol.slice(0, -1),
    accept: wanted.answer === "json" ? "application/json" : "text/html",
    "content-length": String(wanted.body.byteLength),
  };
  if (wanted.contentType !== undefined) headers["content-type"] = wanted.contentType;
  if (received.cookie !== undefined) headers.cookie = received.cookie;
  if (received.authorization !== undefined) headers.authorization = received.authorization;
  return headers;
}
