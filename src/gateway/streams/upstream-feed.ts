import type { JsonObject } from "../../model/json.ts";
import { readOwnString } from "../../model/json.ts";
import { StoreUnavailable } from "../../model/records.ts";
import { withoutHopMeta } from "../../protocol/hop-meta.ts";
import { cleanObject } from "../../sanitize/clean-value.ts";
import { contentFields } from "../../sanitize/field-rule.ts";
import type { OnAccountOf, UpstreamWatch, Watching, WatchState } from "../../upstream/port.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import type { Feed, Unheard } from "./feed.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { readableAs } from "./readable.ts";
import { createStanding, type Standing } from "./standing.ts";
import { createUpdateQueue, type UpdateQueue } from "./update-queue.ts";

/** What a client's stream wants of upstreams. */
export interface Interests {
  /** URIs whose updates are wanted, as the client calls them. */
  readonly uris: readonly string[];
  /** Upstreams that are listened to whatever is subscribed. */
  readonly upstreams: readonly string[];
}

export interface UpstreamFeedOptions {
  readonly account: OnAccountOf;
  /** Rejects with `StoreUnavailable`; then what was wanted before still is. */
  readonly interests: () => Promise<Interests>;
  readonly tell: (method: string, params: JsonObject) => void;
  /** What else a stream of this upstream is for, beside updates. */
  readonly besides?: (upstream: string) => Partial<UpstreamWatch>;
}

/** One upstream's stream for this client, with the client's name of every URI that the upstream knows under its own. */
interface Watched {
  readonly watching: Watching;
  readonly standing: Standing;
  names: ReadonlyMap<string, string>;
  /** It has stood once: from then on `onReopened` tells of what was missed. */
  stood: boolean;
  /** The client takes it for listened to while it does not stand yet: when it does, everything is said to be updated. */
  owed: boolean;
}

interface Feeder {
  readonly x: Exchange;
  readonly g: Gateway;
  readonly options: UpstreamFeedOptions;
  readonly watched: Map<string, Watched>;
  readonly updates: UpdateQueue;
  /** What `settle` has given up. */
  readonly unheard: Set<string>;
  /** The client was told what is listened for. */
  settled: boolean;
  over: boolean;
}

/**
 * Brings a client's stream what upstreams have to say to this client alone: updates of the resources it subscribed
 * to, as long as it may read them. One stream per upstream, opened when there is something to want of it and ended
 * with the last.
 */
export function createUpstreamFeed(x: Exchange, g: Gateway, options: UpstreamFeedOptions): Feed {
  const updates = createUpdateQueue(g.limits, (uri, params) => {
    void tellUpdate(feeder, uri, params);
  });
  const feeder: Feeder = {
    ...{ x, g, options, updates, watched: new Map() },
    ...{ unheard: new Set(), settled: false, over: false },
  };
  const following = oneAtATime(() => follow(feeder));
  const decided = following.run().then(async () => {
    await Promise.all([...feeder.watched.values()].map(({ standing }) => standing.beyond(["opening", "full"])));
  });
  return {
    decided,
    settle: () => settle(feeder),
    hears: async (upstream, before) => {
      await (feeder.watched.has(upstream) ? following.idle() : following.run());
      return feeder.watched.get(upstream)?.standing.beyond(before);
    },
    tend: () => following.run(),
    refresh: () => following.run(),
    end: () => {
      feeder.over = true;
      following.stop();
      updates.end();
      for (const upstream of [...feeder.watched.keys()]) drop(feeder, upstream);
    },
  };
}

/** Whoever waits for a stream that is given up waits no longer. */
function drop({ watched }: Feeder, upstream: string): void {
  const dropped = watched.get(upstream);
  watched.delete(upstream);
  dropped?.watching.end();
  dropped?.standing.tell("lost");
}

/**
 * Gives up what cannot be heard now: what an upstream offers no stream for, and what there is no connection for. What
 * is only late or lost is promised, and made up for when it stands.
 */
function settle(feeder: Feeder): Unheard {
  feeder.settled = true;
  let full = false;
  for (const [upstream, watched] of [...feeder.watched]) {
    const { state } = watched.standing;
    watched.owed ||= state !== "standing";
    if (state !== "full" && state !== "not-offered") continue;
    full ||= state === "full";
    for (const uri of watched.names.values()) feeder.unheard.add(uri);
    drop(feeder, upstream);
  }
  return { uris: feeder.unheard, full };
}

async function follow(feeder: Feeder): Promise<void> {
  const { x, g } = feeder;
  try {
    const { uris, upstreams } = await feeder.options.interests();
    const wanted = new Map<string, Map<string, string>>(upstreams.map((upstream) => [upstream, new Map()]));
    for (const uri of uris) {
      if (feeder.unheard.has(uri)) continue;
      const found = await readableAs(x, g, uri);
      if (found === undefined) continue;
      const names = wanted.get(found.upstream) ?? new Map<string, string>();
      wanted.set(found.upstream, names.set(found.own, uri));
    }
    if (!feeder.over) apply(feeder, wanted);
  } catch (cause) {
    // What was wanted goes on; the next tick looks again.
    if (!(cause instanceof StoreUnavailable))
      g.logRefusal({ ref: x.ref, code: "INTERNAL_FAULT", during: "subscriptions" }, cause);
  }
}

function apply(feeder: Feeder, wanted: ReadonlyMap<string, ReadonlyMap<string, string>>): void {
  for (const upstream of [...feeder.watched.keys()]) if (!wanted.has(upstream)) drop(feeder, upstream);
  for (const [upstream, names] of wanted) {
    const resources = [...names.keys()];
    const known = feeder.watched.get(upstream);
    if (known === undefined) watch(feeder, upstream, names);
    else if (!sameKeys(known.names, names)) {
      known.names = names;
      known.watching.want({ lists: false, resources });
    }
  }
}

function sameKeys(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one.keys()].every((key) => other.has(key));
}

function watch(feeder: Feeder, upstream: string, names: ReadonlyMap<string, string>): void {
  const { account, besides } = feeder.options;
  const more = besides?.(upstream) ?? {};
  const standing = createStanding();
  const watching = feeder.g.upstreams.watch({
    ...more,
    upstream,
    account,
    wanted: { lists: false, resources: [...names.keys()] },
    onState: (state) => {
      hearState(feeder, upstream, state);
      standing.tell(state);
    },
    onNotification: (method, params) => {
      if (method === updated) hearUpdate(feeder, upstream, params);
      else more.onNotification?.(method, params);
    },
    onReopened: () => {
      tellAll(feeder, upstream);
    },
  });
  feeder.watched.set(upstream, { watching, standing, names, stood: false, owed: feeder.settled });
}

function hearState(feeder: Feeder, upstream: string, state: WatchState): void {
  const watched = feeder.watched.get(upstream);
  if (watched === undefined || watched.stood || state === "opening") return;
  watched.stood = state === "standing";
  if (!watched.stood) watched.owed = true;
  else if (watched.owed) tellAll(feeder, upstream);
}

/** Whatever was updated while nobody listened: to say so of each is cheaper than to leave a client with the old. */
function tellAll(feeder: Feeder, upstream: string): void {
  for (const uri of feeder.watched.get(upstream)?.names.values() ?? []) feeder.updates.add(uri, {});
}

const updated = "notifications/resources/updated";

function hearUpdate(feeder: Feeder, upstream: string, params: JsonObject): void {
  const own = readOwnString(params, "uri");
  const names = feeder.watched.get(upstream)?.names;
  const uri = own === undefined || names === undefined ? undefined : clientsName(names, own);
  if (uri !== undefined) feeder.updates.add(uri, params);
}

/**
 * The client's name of a URI that it subscribed to, or of one within such a URI: an update "might be of a
 * sub-resource of the one that the client actually subscribed to" (schema, `ResourceUpdatedNotificationParams`).
 */
function clientsName(names: ReadonlyMap<string, string>, own: string): string | undefined {
  const exact = names.get(own);
  if (exact !== undefined) return exact;
  for (const [known, uri] of names) {
    const folder = known.endsWith("/") ? known : `${known}/`;
    if (own.startsWith(folder)) return uri + own.slice(known.length);
  }
  return undefined;
}

/** The policy in force decides each one, by the way that a read would take. */
async function tellUpdate(feeder: Feeder, uri: string, params: JsonObject): Promise<void> {
  const { x, g } = feeder;
  try {
    const readable = await readableAs(x, g, uri);
    if (readable === undefined || feeder.over) return;
    const cleaned = cleanObject(withoutHopMeta(params), { fields: contentFields });
    feeder.options.tell(updated, { ...cleaned.value, uri });
  } catch (cause) {
    g.logRefusal({ ref: x.ref, code: "INTERNAL_FAULT", during: "resource update" }, cause);
  }
}
