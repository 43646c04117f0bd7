import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { refuse, type Refusal } from "../../model/refusal.ts";
import { given, type Arrival } from "../../gateway/exchange.ts";
import { forwardedHeaders } from "../../gateway/forwarded-headers.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { fileHeaders } from "../../gateway/files/answer-file.ts";
import { judgeFileAnswer, type FileHead, type FileQuestion } from "../../gateway/files/judge-answer.ts";
import type { FileVisit, WantedFile } from "../../gateway/files/judge-file.ts";
import { fileRefusalIn } from "../../upstream/file-delivery.ts";
import type { FileErrand } from "../../upstream/files.ts";

/** A request for a file, and how far it has come. */
export interface Visit extends FileVisit {
  readonly request: IncomingMessage;
  /** What is delivered, once the upstream's head is judged. */
  head: FileHead | undefined;
  ticket: string;
  over: boolean;
}

/** The errand that an admitted visit gives the upstream side. */
export function errandOf(
  visit: Visit,
  gateway: Pick<Gateway, "now" | "treatments" | "limits">,
): FileErrand & { readonly file: WantedFile } {
  const file = given(visit.file, "a file");
  const { x } = visit;
  const { now } = gateway;
  const forwarded = pairs(forwardedHeaders(x, gateway, file.route.upstream));
  const sentAt = now();
  const own = requestHeaders(x.arrival.headers);
  const headers = { ...forwarded, ...own };
  const bytesMax = Math.min(file.route.bytesMax, x.obligations?.resultBytesMax ?? Infinity);
  const route = { ...file.route, bytesMax };
  const question: FileQuestion = {
    isRange: headers["range"] !== undefined,
    isConditional: headers["if-none-match"] !== undefined || headers["if-modified-since"] !== undefined,
  };
  return {
    file,
    upstream: file.route.upstream,
    account: given(x.account, "an account"),
    method: x.arrival.httpMethod === "HEAD" ? "HEAD" : "GET",
    target: `${file.path.path}${file.path.query}`,
    headers,
    bytesMax: route.bytesMax,
    deadlineMs: x.obligations?.deadlineMs,
    signal: x.arrival.gone,
    judge: (status, answered) => {
      x.upstreamMs = now() - sentAt;
      // The library drops the answer to a client that is gone and tells nobody, so its end would not be recorded.
      if (visit.request.destroyed) return refuse("CLIENT_GONE").refusal;
      const head = judgeFileAnswer({ status, headers: answered }, question, route);
      if (!head.ok) return head.refusal;
      visit.head = head.value;
      return undefined;
    },
    onBytes: (bytes) => {
      x.resultBytes = bytes;
    },
  };
}

function pairs(flat: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at + 1 < flat.length; at += 2) found[flat[at] ?? ""] = flat[at + 1] ?? "";
  return found;
}

/** What of a client's request an upstream learns. Nothing that says who asks, from where, or by which way. */
const passedOn = ["accept", "accept-language", "if-none-match", "if-modified-since"] as const;
/** One range. Several come as one multipart body, whose parts nobody here could judge. */
const oneRange = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;

function requestHeaders(headers: Arrival["headers"]): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name of passedOn) {
    const value = headers[name];
    if (value !== undefined) sent[name] = value;
  }
  const range = headers["range"];
  // A range nobody understands is a request for the whole (RFC 9110 §14.2).
  if (range === undefined || !oneRange.test(range)) return sent;
  const condition = headers["if-range"];
  return { ...sent, range, ...(condition === undefined ? {} : { "if-range": condition }) };
}

/**
 * Writes the judged head and then the file as it comes, no faster than the client reads. A file that breaks off, or
 * grows beyond its bound, breaks the client's connection off: a whole answer is the only sign of a whole file.
 */
export function deliverFile(
  visit: Visit,
  { stream, res, last }: { stream: Readable; res: ServerResponse; last: boolean },
  onOver: (refusal: Refusal | undefined) => void,
): void {
  const head = given(visit.head, "a judged head");
  const path = given(visit.file, "a file").path.path;
  const headers = fileHeaders(head, path);
  // A request's unread body would have to be swallowed to keep the connection.
  if (last || !visit.request.complete) headers["connection"] = "close";
  res.writeHead(head.status, headers);
  const onEnd = (error: Error | null | undefined): void => {
    if (error === null || error === undefined) onOver(undefined);
    else {
      visit.x.outcome = "failed";
      onOver(refusalFrom(error));
    }
  };
  if (head.status === 304 || head.status === 416 || visit.request.method === "HEAD") {
    stream.on("error", () => undefined).resume();
    res.end(() => {
      onEnd(undefined);
    });
  } else pipeline(stream, res, onEnd);
}

/** What an error of the library or of a stream means: a fault that travelled through it, the client's end, or our bug. */
export function refusalFrom(error: Error): Refusal {
  const carried = fileRefusalIn(error);
  if (carried !== undefined) return carried;
  const isGone = "code" in error && (error.code === "ERR_STREAM_PREMATURE_CLOSE" || error.code === "ECONNRESET");
  return refuse(isGone ? "CLIENT_GONE" : "INTERNAL_FAULT", {}, { cause: error }).refusal;
}
