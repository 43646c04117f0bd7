import type { JsonObject } from "../../model/json.ts";
import type { RpcId } from "../../model/rpc.ts";
import { notificationMessage } from "../../protocol/jsonrpc.ts";
import { writeJson } from "../../protocol/json/write.ts";
import { onSubscription, type ListenFilter } from "../../protocol/modern/listen.ts";
import type { UpstreamWatch } from "../../upstream/port.ts";
import { answersFrom } from "../asking/answer-asked.ts";
import { declaredCapabilities } from "../asking/declared-capabilities.ts";
import { accountOf } from "../account-of.ts";
import { given, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { relayLog } from "../steps/relay-log.ts";
import { relayTaskStatus, taskStatusMethod } from "../tasks/relay-task-status.ts";
import { joined, type Feed, type Feeding } from "./feed.ts";
import { createListFeed } from "./list-feed.ts";
import type { ListSignals } from "./list-signals.ts";
import type { LiveStream } from "./live-stream.ts";
import { createUpstreamFeed } from "./upstream-feed.ts";
import type { UsedUpstreams } from "./used-upstreams.ts";
import { listKinds, type ListKind } from "./view-signature.ts";

/** What the GET stream of a legacy session brings: changes of lists, updates, and what upstreams say outside of calls. */
export function sessionFeeding(signals: ListSignals, used: UsedUpstreams): Feeding {
  return (x, g, live) => {
    const session = given(x.session, "a session");
    const tell = (method: string, params?: JsonObject): void => {
      live.deliver(writeJson(notificationMessage(method, params)));
    };
    return joined([
      { ...nothing, refresh: () => renewSession(x, g) },
      createListFeed(x, g, {
        signals,
        tell: (kind) => {
          tell(changedMethod(kind));
        },
      }),
      createUpstreamFeed(x, g, {
        account: accountOf(x, session.id),
        interests: async () => {
          const [uris, upstreams] = await Promise.all([g.sessions.subscriptions.of(session), used.of(session)]);
          return { uris, upstreams };
        },
        tell,
        besides: (upstream) => beside(x, g, { live, upstream }),
      }),
    ]);
  };
}

const nothing: Feed = { tend: () => Promise.resolve(), refresh: () => Promise.resolve(), end: () => undefined };

/** The level of log messages is the session's. With a tick it is renewed as the stream is admitted anew. */
async function renewSession(x: Exchange, g: Gateway): Promise<void> {
  const { id } = given(x.session, "a session");
  const principal = given(x.principal, "a principal");
  const found = await g.sessions.find({ id, principal, server: x.arrival.server.name });
  if (found.ok) x.session = found.value;
}

/** What a modern client hears of what it listens for (2026-07-28, subscriptions). */
export function listenFeeding(signals: ListSignals, listen: { id: RpcId; filter: ListenFilter }): Feeding {
  const { id, filter } = listen;
  return (x, g, live) => {
    const tell = (method: string, params: JsonObject): void => {
      live.deliver(writeJson(notificationMessage(method, onSubscription(id, params))));
    };
    const feeds: Feed[] = [];
    if (listKinds.some((kind) => filter[kind]))
      feeds.push(
        createListFeed(x, g, {
          signals,
          tell: (kind) => {
            if (filter[kind]) tell(changedMethod(kind), {});
          },
        }),
      );
    if (filter.uris.length > 0) feeds.push(listenedUpdates(x, g, { live, uris: filter.uris, tell }));
    return joined(feeds);
  };
}

/** In upstream sessions of the stream's own: what one stream subscribes to another must not unsubscribe from. */
function listenedUpdates(
  x: Exchange,
  g: Gateway,
  of: { live: LiveStream; uris: readonly string[]; tell: (method: string, params: JsonObject) => void },
): Feed {
  const account = accountOf(x, `listen ${of.live.id}`);
  const feed = createUpstreamFeed(x, g, {
    account,
    interests: () => Promise.resolve({ uris: of.uris, upstreams: [] }),
    tell: of.tell,
  });
  return {
    ...feed,
    end: () => {
      feed.end();
      void g.upstreams.endSessions(account);
    },
  };
}

/** Requests and log messages of an upstream that belong to no call, under the terms of a call. */
function beside(
  x: Exchange,
  g: Gateway,
  { live, upstream }: { live: LiveStream; upstream: string },
): Partial<UpstreamWatch> {
  const clientCapabilities = declaredCapabilities(x, g, upstream);
  const waitMs = g.treatments.get(upstream)?.callTimeoutMs ?? g.limits.upstreamCallTimeoutMs;
  const onStream = onlyHere(x, live);
  return {
    logLevel: x.session?.logLevel ?? "info",
    onNotification: (method, params) => {
      if (method === "notifications/message") relayLog(onStream())?.onLog(params);
      if (method === taskStatusMethod) void relayTaskStatus(onStream(), g, { upstream, params });
    },
    ...(clientCapabilities === undefined
      ? {}
      : {
          clientCapabilities,
          onAsked: (asked) => answersFrom(onStream(), g, { upstream, until: g.now() + waitMs })(asked),
        }),
  };
}

/** The exchange anew for each message, its answer's stream being the one that is open: findings of a whole day are no list to keep. */
function onlyHere(x: Exchange, live: LiveStream): () => Exchange {
  const stream = { send: (message: string): boolean => live.deliver(message) };
  return () => ({
    ...x,
    arrival: { ...x.arrival, stream: () => stream },
    logLevel: x.session?.logLevel,
    findings: [],
  });
}

function changedMethod(kind: ListKind): string {
  return `notifications/${kind}/list_changed`;
}
