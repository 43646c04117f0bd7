import type { Courier } from "../../model/courier.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { gatewayKey, type OnAccountOf, type Upstreams, type Watching } from "../../upstream/port.ts";
import { stepped, unhurried, waitMs, type Pace, type PaceBounds } from "./refresh-pace.ts";
import { writeNote } from "./stream-notes.ts";

/** Tells open streams of a server that its lists may not be what they were. */
export interface ListSignals {
  /** Calls `hear` after every change of an upstream of the server, until the returned function is called. */
  follow(server: string, hear: () => void): () => void;
  /** Another replica has seen an upstream's lists change: what is kept of them here is out of date. */
  heard(upstream: string): void;
}

export interface ListSignalsOptions {
  readonly catalog: Catalog;
  readonly upstreams: Pick<Upstreams, "watch" | "endSessions">;
  readonly courier: Pick<Courier, "address" | "broadcast">;
  readonly now: () => number;
  readonly bounds: PaceBounds & { readonly catalogAgeMsMax: number };
}

/** One upstream that open streams are concerned with. */
interface Followed {
  readonly followers: Set<() => void>;
  readonly watching: Watching;
  readonly account: OnAccountOf;
  readonly looks: NodeJS.Timeout;
}

interface Desk {
  readonly options: ListSignalsOptions;
  readonly followed: Map<string, Followed>;
  /** By upstream, of which there are as many as are configured. */
  readonly paces: Map<string, Pace>;
  readonly waiting: Map<string, NodeJS.Timeout>;
  /** Upstreams whose change another replica told of: telling it again would go round. */
  readonly told: Set<string>;
}

/**
 * One stream per upstream on the gateway's own account, open while at least one client's stream is concerned with
 * it. A notice from it only starts a reading; what the reading finds decides whether anybody hears of it. Readings
 * because of age are found out in the same way.
 */
export function createListSignals(options: ListSignalsOptions): ListSignals {
  const desk: Desk = { options, followed: new Map(), paces: new Map(), waiting: new Map(), told: new Set() };
  options.catalog.onChange((upstream) => {
    void tellOf(desk, upstream);
  });
  return {
    follow(server, hear) {
      const upstreams = options.catalog.sharedUpstreamsOf(server);
      for (const upstream of upstreams) join(desk, upstream, hear);
      return () => {
        for (const upstream of upstreams) leave(desk, upstream, hear);
      };
    },
    heard(upstream) {
      desk.told.add(upstream);
      void options.catalog.refresh(upstream).finally(() => desk.told.delete(upstream));
    },
  };
}

function join(desk: Desk, upstream: string, hear: () => void): void {
  const known = desk.followed.get(upstream);
  const followed = known ?? startFollowing(desk, upstream);
  followed.followers.add(hear);
  if (known !== undefined) return;
  desk.followed.set(upstream, followed);
  // What changes before the stream to the upstream stands is not told.
  soonRead(desk, upstream);
}

function startFollowing(desk: Desk, upstream: string): Followed {
  const { upstreams, courier, catalog, bounds } = desk.options;
  // Of this replica alone: two streams in one session of a legacy upstream are one too many.
  const clientSession = `watch ${courier.address} ${upstream}`;
  const account: OnAccountOf = { tenant: "default", principalKey: gatewayKey, clientSession, caller: undefined };
  const watching = upstreams.watch({
    upstream,
    account,
    wanted: { lists: true, resources: [] },
    onNotification: (method) => {
      if (listNotices.has(method)) soonRead(desk, upstream);
    },
    onReopened: () => {
      soonRead(desk, upstream);
    },
  });
  const looks = setInterval(
    () => {
      catalog.look(upstream);
    },
    Math.max(bounds.catalogAgeMsMax, bounds.catalogRefreshMsMin),
  );
  return { followers: new Set(), watching, account, looks };
}

const listNotices: ReadonlySet<string> = new Set([
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
]);

function leave(desk: Desk, upstream: string, hear: () => void): void {
  const followed = desk.followed.get(upstream);
  if (followed === undefined) return;
  followed.followers.delete(hear);
  if (followed.followers.size > 0) return;
  desk.followed.delete(upstream);
  clearInterval(followed.looks);
  clearTimeout(desk.waiting.get(upstream));
  desk.waiting.delete(upstream);
  followed.watching.end();
  void desk.options.upstreams.endSessions(followed.account);
}

/** However often an upstream says that it changed, one reading waits at a time. */
function soonRead(desk: Desk, upstream: string): void {
  if (desk.waiting.has(upstream)) return;
  const { now, bounds, catalog } = desk.options;
  const pace = desk.paces.get(upstream) ?? unhurried;
  const read = (): void => {
    desk.waiting.delete(upstream);
    desk.paces.set(upstream, stepped(desk.paces.get(upstream) ?? unhurried, now(), bounds));
    void catalog.refresh(upstream);
  };
  const calm = now() - pace.lastAt > bounds.catalogRefreshCalmMs;
  desk.waiting.set(upstream, setTimeout(read, waitMs(calm ? unhurried : pace, now(), bounds)));
}

/**
 * Other replicas hear of it first: a client that is told asks whichever replica it meets. Then the streams here, one
 * after the other, as each may have a whole view to make.
 */
async function tellOf(desk: Desk, upstream: string): Promise<void> {
  const { courier } = desk.options;
  // In an outage of the store the others find out by the age of what they have.
  if (!desk.told.has(upstream))
    await courier.broadcast("stream", writeNote({ kind: "lists", upstream })).catch(() => undefined);
  for (const hear of [...(desk.followed.get(upstream)?.followers ?? [])]) {
    hear();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
