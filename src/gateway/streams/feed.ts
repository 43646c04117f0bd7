import type { WatchState } from "../../upstream/port.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { LiveStream } from "./live-stream.ts";

/** What puts messages on a stream by itself. */
export interface Feed {
  /** With every tick of the stream. */
  tend(): Promise<void>;
  /** What the session wants to hear of may have changed. */
  refresh(): Promise<void>;
  end(): void;
  /** Settles once it is known whether upstreams tell it what the stream was opened for. Absent: from the beginning. */
  readonly decided?: Promise<void>;
  /** Gives up what upstreams cannot tell of now, and says what that is. What is not decided yet is kept. Absent: nothing. */
  settle?(): Unheard;
  /**
   * How far the stream of an upstream has come, once that is none of `before`. Undefined, as when the method is absent:
   * there is none, nor will there be.
   */
  hears?(upstream: string, before: readonly WatchState[]): Promise<WatchState | undefined>;
}

/** What a stream was opened for and cannot bring. */
export interface Unheard {
  readonly uris: ReadonlySet<string>;
  /** Of some of it because there is no connection for it. */
  readonly full: boolean;
}

export type Feeding = (x: Exchange, g: Gateway, live: LiveStream) => Feed;

/** Several feeds of one stream. */
export function joined(feeds: readonly Feed[]): Feed {
  return {
    decided: Promise.all(feeds.map(({ decided }) => decided ?? Promise.resolve())).then(() => undefined),
    settle: () => {
      const all = feeds.flatMap((feed) => feed.settle?.() ?? []);
      return { uris: new Set(all.flatMap(({ uris }) => [...uris])), full: all.some(({ full }) => full) };
    },
    hears: async (upstream, before) => {
      const found = await Promise.all(
        feeds.map((feed) => feed.hears?.(upstream, before) ?? Promise.resolve(undefined)),
      );
      return found.find((state) => state !== undefined);
    },
    tend: async () => {
      await Promise.all(feeds.map((feed) => feed.tend()));
    },
    refresh: async () => {
      await Promise.all(feeds.map((feed) => feed.refresh()));
    },
    end: () => {
      for (const feed of feeds) feed.end();
    },
  };
}
