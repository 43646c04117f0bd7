import type { Lock } from "../catalog/lock/lock.ts";
import type { Config } from "../config/types.ts";
import { noFacts, type ItemFacts } from "../model/item-facts.ts";
import type { Subject } from "../policy/question.ts";
import { notesOf } from "./item-notes.ts";

/**
 * What policy is told of items: what the operator says of them in the configuration, and whether the catalog lock holds
 * them. A lock holds items of upstreams that it is enforced for; of all others each counts as locked, as it would
 * without a lock: what a lock only watches over, it does not take from anybody.
 */
export function itemFactsOf(config: Config, lock: Lock | undefined): (item: Subject) => ItemFacts {
  const notes = new Map(Object.entries(config.upstreams).map(([name, { items }]) => [name, notesOf(items)]));
  const enforced = upstreamsHeld(config);
  return ({ upstream, kind, name }) => {
    if (kind === "clientFeature") return noFacts;
    const said = notes.get(upstream)?.(kind, name);
    const locked = lock === undefined || !enforced.has(upstream) || lock.isLocked(upstream, kind, name);
    const { labels, annotations, possible } = said ?? noFacts;
    return { labels, annotations: { ...annotations }, possible, digest: undefined, locked };
  };
}

/** Upstreams that a catalog lock is enforced for, where one is configured. */
export function upstreamsHeld({ upstreams }: Config): ReadonlySet<string> {
  return new Set(Object.keys(upstreams).filter((name) => upstreams[name]?.lock === "enforce"));
}
