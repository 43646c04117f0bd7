import type { LiveStream } from "./live-stream.ts";

/** A stream whose messages wait for one that must come first. */
export interface HeldBack {
  readonly stream: LiveStream;
  /** Sends `first`, then what waited, in order; what comes later goes straight on. Once. */
  readonly release: (first: string) => void;
}

/** At most `messagesMax` wait; one more, and the stream is over like that of a client that reads too slowly. */
export function holdBack(live: LiveStream, bounds: { readonly messagesMax: number }): HeldBack {
  let waiting: string[] | undefined = [];
  const deliver = (message: string): boolean => {
    if (waiting === undefined) return live.deliver(message);
    if (waiting.length < bounds.messagesMax) waiting.push(message);
    else live.end("too-slow");
    return !live.over;
  };
  return {
    stream: {
      id: live.id,
      ended: live.ended,
      deliver,
      end: (why) => {
        live.end(why);
      },
      get over() {
        return live.over;
      },
    },
    release: (first) => {
      if (waiting === undefined) return;
      const messages = [first, ...waiting];
      waiting = undefined;
      for (const message of messages) live.deliver(message);
    },
  };
}
