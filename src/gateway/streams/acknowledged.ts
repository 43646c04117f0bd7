import type { RpcId } from "../../model/rpc.ts";
import type { ListenFilter } from "../../protocol/modern/listen.ts";
import type { Feeding } from "./feed.ts";
import { holdBack } from "./held-back.ts";

/** What a modern client listens for, by the id of its request and the part of its filter that can be honoured. */
export interface Listen {
  readonly id: RpcId;
  readonly filter: ListenFilter;
  /** The first message of the stream, once it is known what of the filter is honoured. */
  readonly acknowledge: (filter: ListenFilter) => string;
}

/**
 * The acknowledgement is the first message (2026-07-28, subscriptions), and a promise: what changes after it is told.
 * So it waits for a moment until upstreams are heard, and leaves out what there is no way to hear now; a client is not
 * kept waiting for an upstream that is down. Where nothing is left for want of connections, there is no stream.
 */
export function acknowledged(listen: Listen, feedListen: (listen: Listen) => Feeding): Feeding {
  return (x, g, live) => {
    const held = holdBack(live, { messagesMax: g.limits.sessionSubscriptionsMax });
    const feed = feedListen(listen)(x, g, held.stream);
    const acknowledge = (): void => {
      clearTimeout(late);
      if (live.over) return;
      const { uris, full } = feed.settle?.() ?? { uris: new Set(), full: false };
      const filter = { ...listen.filter, uris: listen.filter.uris.filter((uri) => !uris.has(uri)) };
      if (full && isNothing(filter)) live.end("no-room");
      else held.release(listen.acknowledge(filter));
    };
    const late = setTimeout(acknowledge, g.limits.listenAcknowledgeMsMax);
    void (feed.decided ?? Promise.resolve()).then(acknowledge);
    void live.ended.then(() => {
      clearTimeout(late);
    });
    return feed;
  };
}

function isNothing({ tools, prompts, resources, uris }: ListenFilter): boolean {
  return !tools && !prompts && !resources && uris.length === 0;
}
