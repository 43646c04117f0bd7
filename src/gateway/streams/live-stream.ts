import type { Exchange, ListeningStream } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { mayReceive, readmit } from "./admission.ts";

/**
 * Why a stream ended: the client left or reads too slowly, another stream of the session took its place, the
 * session is over, the token or the policy no longer admits it, nobody could tell whether it does, there is no room for
 * anything that it was opened for, the gateway stops, or has a fault of its own.
 */
export type StreamEnd =
  | "client-gone"
  | "too-slow"
  | "replaced"
  | "session-over"
  | "not-admitted"
  | "not-checked"
  | "no-room"
  | "draining"
  | "fault";

/** One stream that a client opened and that stays open. */
export interface LiveStream {
  readonly id: string;
  /** Hands a message over. False when it was not: the stream is over, by now or before. */
  deliver(message: string): boolean;
  end(why: StreamEnd): void;
  readonly over: boolean;
  readonly ended: Promise<StreamEnd>;
}

export interface StreamCare {
  readonly id: string;
  readonly wire: ListeningStream;
  /** Called with every tick that found the stream admitted. May say why the stream must end; a rejection counts as not knowing. */
  readonly tend: () => Promise<StreamEnd | undefined>;
}

/**
 * Keeps a stream open: a comment and a look at its admission every `streamCommentMs`. What cannot be checked
 * twice in a row ends the stream: a revocation that nobody can read is no permission.
 */
export function keepStream(x: Exchange, g: Gateway, { id, wire, tend }: StreamCare): LiveStream {
  let over = false;
  let settle: (why: StreamEnd) => void = () => undefined;
  const ended = new Promise<StreamEnd>((resolve) => {
    settle = resolve;
  });
  const end = (why: StreamEnd): void => {
    if (over) return;
    over = true;
    clearInterval(ticks);
    x.arrival.gone.removeEventListener("abort", leave);
    settle(why);
  };
  const leave = (): void => {
    end("client-gone");
  };
  const look = watchOver({ x, g, tend, end });
  const ticks = setInterval(() => {
    wire.comment();
    look();
  }, g.limits.streamCommentMs);
  x.arrival.gone.addEventListener("abort", leave, { once: true });
  if (x.arrival.gone.aborted) leave();
  const deliver = (message: string): boolean => {
    if (over) return false;
    if (!mayReceive(x, g)) end("not-admitted");
    else if (!wire.send(message)) end("too-slow");
    return !over;
  };
  return {
    id,
    deliver,
    end,
    ended,
    get over(): boolean {
      return over;
    },
  };
}

interface Watched {
  readonly x: Exchange;
  readonly g: Gateway;
  readonly tend: StreamCare["tend"];
  readonly end: (why: StreamEnd) => void;
}

/** One look at a time: a store that is slow is not asked again while it thinks. */
function watchOver({ x, g, tend, end }: Watched): () => void {
  let looking = false;
  let unknown = 0;
  const lookOnce = async (): Promise<void> => {
    const found = await readmit(x, g).catch(() => "unknown" as const);
    const verdict = found === "admitted" ? await tend().catch(() => "unknown" as const) : found;
    if (verdict === undefined) unknown = 0;
    else if (verdict !== "unknown") end(verdict);
    else if (++unknown > g.limits.streamChecksFailedMax) end("not-checked");
  };
  return () => {
    if (looking) return;
    looking = true;
    void lookOnce().finally(() => {
      looking = false;
    });
  };
}
