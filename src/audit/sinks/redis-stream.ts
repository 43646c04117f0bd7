import { limits } from "../../model/limits.ts";
import type { AuditSink, StreamReader, StreamWriter } from "../port.ts";

export interface StreamSinkOptions {
  readonly writer: StreamWriter;
  readonly stream: string;
  /** The stream is trimmed to about this many events, oldest first. */
  readonly eventsMax?: number;
}

/**
 * Appends events to a stream of the shared store. An event is as durable as that store makes it; its
 * oldest events leave when the stream is full, so a verification may find that the chain begins late.
 */
export function createStreamSink({ writer, stream, eventsMax }: StreamSinkOptions): AuditSink {
  return {
    name: "redis",
    write: (lines) => writer.append(stream, lines, eventsMax ?? limits.auditStreamEventsMax),
    // The connection belongs to the store.
    close: () => Promise.resolve(),
  };
}

/** The lines of a stream, oldest first. Events that arrive while it reads are read too, up to `eventsMax` in all. */
export async function* readStream(
  reader: StreamReader,
  stream: string,
  eventsMax: number = limits.auditStreamEventsMax * 2,
): AsyncGenerator<string> {
  let after: string | undefined;
  for (let read = 0; read < eventsMax;) {
    const entries = await reader.read(stream, after, limits.auditBatchEventsMax);
    for (const { text } of entries) yield text;
    read += entries.length;
    after = entries.at(-1)?.id;
    if (after === undefined) return;
  }
}
