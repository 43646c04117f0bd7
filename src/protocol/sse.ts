import { isUtf8 } from "node:buffer";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";

export interface SseEvent {
  /** The event's type; `message` when the stream names none. */
  readonly event: string;
  /** All `data` lines, joined by a line feed. Empty for an event that has none (see `push`). */
  readonly data: string;
  /** The last event id of the stream so far: it holds until another `id` replaces it. */
  readonly id: string | undefined;
  /** The reconnection time, in milliseconds, when this event sets it. */
  readonly retry: number | undefined;
}

export interface SseParser {
  /**
   * Takes the next bytes, cut anywhere, and returns the events that they complete. Unlike a browser it also
   * returns an event without data when it has an id, a type or a retry: such an event primes resumption
   * (2025-11-25, transports, "Sending Messages") and is no message, so a caller skips `data === ""`.
   *
   * Refuses with `UPSTREAM_ANSWER_TOO_LARGE` when one event exceeds `eventBytesMax`, and with
   * `JSON_NOT_UTF8` where a browser would put replacement characters. Events that the same bytes complete
   * before the fault are returned first; from then on every push is refused.
   *
   * An event that the stream ends in the middle of is never returned. Not checked: the stream's length,
   * the number of its events, and what the data holds.
   */
  push(chunk: Uint8Array): Result<readonly SseEvent[]>;
}

interface Stream {
  readonly eventBytesMax: number;
  /** The first line may begin with a byte order mark. */
  started: boolean;
  /** The last byte was a carriage return: a line feed that follows belongs to the same line end. */
  afterReturn: boolean;
  /** The unfinished line: the first `pendingBytes` of a buffer that doubles as it fills. */
  pending: Buffer;
  pendingBytes: number;
  id: string | undefined;
  block: Block;
  events: SseEvent[];
  fault: Refused | undefined;
}

/** The fields since the last blank line. */
interface Block {
  bytes: number;
  touched: boolean;
  event: string;
  data: string[];
  retry: number | undefined;
}

/**
 * A parser for one event stream (WHATWG HTML §9.2.6). `eventBytesMax` counts an event's lines and one byte
 * for each of their ends, comments aside.
 */
export function createSseParser({ eventBytesMax }: { readonly eventBytesMax: number }): SseParser {
  const stream: Stream = {
    eventBytesMax,
    started: false,
    afterReturn: false,
    pending: Buffer.alloc(0),
    pendingBytes: 0,
    id: undefined,
    block: emptyBlock(),
    events: [],
    fault: undefined,
  };
  return {
    push(chunk) {
      if (stream.fault === undefined) readChunk(stream, chunk);
      if (stream.fault !== undefined && stream.events.length === 0) return stream.fault;
      const events = stream.events;
      stream.events = [];
      return ok(events);
    },
  };
}

/** One message event, ready to be written. Line ends within `data` begin further `data` lines. */
export function sseEvent(data: string): string {
  return `event: message\n${withEachLine("data: ", data)}\n`;
}

/** A comment: it keeps a connection alive and reaches no reader of events. */
export function sseComment(text: string): string {
  return `${withEachLine(": ", text)}\n`;
}

function withEachLine(prefix: string, text: string): string {
  return text
    .split(/\r\n|\n|\r/)
    .map((line) => `${prefix}${line}\n`)
    .join("");
}

function emptyBlock(): Block {
  return { bytes: 0, touched: false, event: "message", data: [], retry: undefined };
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Lines are cut before they are decoded: no byte of a multi-byte character looks like a line end. */
function readChunk(stream: Stream, chunk: Uint8Array): void {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const feeds = searchFor(bytes, lineFeed);
  const returns = searchFor(bytes, carriageReturn);
  let from = 0;
  while (from < bytes.length && stream.fault === undefined) {
    if (stream.afterReturn && bytes[from] === lineFeed) from++;
    stream.afterReturn = false;
    const end = Math.min(feeds(from), returns(from));
    if (end === bytes.length) {
      keepPending(stream, bytes.subarray(from));
      return;
    }
    readLine(stream, bytes.subarray(from, end));
    stream.afterReturn = bytes[end] === carriageReturn;
    from = end + 1;
  }
}

/**
 * Where `byte` stands next at or after a place that only moves forward; the end when nowhere. It searches
 * once per find, so a stream that has one kind of line end is not searched for the other at every line.
 */
function searchFor(bytes: Buffer, byte: number): (from: number) => number {
  let next = -1;
  return (from) => {
    if (next < from) {
      const found = bytes.indexOf(byte, from);
      next = found === -1 ? bytes.length : found;
    }
    return next;
  };
}

/** Copies, as the chunk's memory belongs to whoever pushed it. */
function keepPending(stream: Stream, piece: Buffer): void {
  const needed = stream.pendingBytes + piece.length;
  if (isTooLarge(stream, needed)) return;
  if (needed > stream.pending.length) {
    const larger = Buffer.alloc(Math.max(needed, 2 * stream.pending.length));
    stream.pending.copy(larger, 0, 0, stream.pendingBytes);
    stream.pending = larger;
  }
  piece.copy(stream.pending, stream.pendingBytes);
  stream.pendingBytes = needed;
}

function isTooLarge(stream: Stream, lineBytes: number): boolean {
  if (stream.block.bytes + lineBytes <= stream.eventBytesMax) return false;
  stream.fault = refuse("UPSTREAM_ANSWER_TOO_LARGE", { eventBytesMax: stream.eventBytesMax });
  return true;
}

function readLine(stream: Stream, rest: Buffer): void {
  if (stream.pendingBytes + rest.length === 0) {
    stream.started = true;
    dispatch(stream);
    return;
  }
  // One more byte for the line end, or else empty data lines would cost nothing.
  if (isTooLarge(stream, stream.pendingBytes + rest.length + 1)) return;
  let bytes = rest;
  if (stream.pendingBytes > 0) {
    bytes = Buffer.concat([stream.pending.subarray(0, stream.pendingBytes), rest]);
    stream.pending = Buffer.alloc(0);
    stream.pendingBytes = 0;
  }
  if (!isUtf8(bytes)) {
    stream.fault = refuse("JSON_NOT_UTF8", { bytes: bytes.length });
    return;
  }
  let line = bytes.toString("utf8");
  if (!stream.started && line.startsWith("\u{feff}")) line = line.slice(1);
  stream.started = true;
  if (line === "") dispatch(stream);
  else readField(stream, line, bytes.length);
}

function readField(stream: Stream, line: string, lineBytes: number): void {
  const colon = line.indexOf(":");
  if (colon === 0) return;
  const name = colon === -1 ? line : line.slice(0, colon);
  const raw = colon === -1 ? "" : line.slice(colon + 1);
  const value = raw.startsWith(" ") ? raw.slice(1) : raw;
  const { block } = stream;
  if (name === "data") block.data.push(value);
  else if (name === "event") block.event = value === "" ? "message" : value;
  else if (name === "id" && !value.includes("\0")) stream.id = value;
  else if (name === "retry" && /^\d{1,15}$/.test(value)) block.retry = Number(value);
  else return;
  block.touched = true;
  block.bytes += lineBytes + 1;
}

function dispatch(stream: Stream): void {
  const { block, id } = stream;
  if (!block.touched) return;
  stream.events.push({ event: block.event, data: block.data.join("\n"), id, retry: block.retry });
  stream.block = emptyBlock();
}
