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
export function itemFactsOf({ upstreams }: Config, lock: Lock | undefined): (item: Subject) => ItemFacts {
  const notes = new Map(Object.entries(upstreams).map(([name, { items }]) => [name, notesOf(items)]));
  const enforced = new Set(Object.keys(upstreams).filter((name) => upstreams[name]?.lock === "enforce"));
  return ({ upstream, kind, name }) => {
    if (kind === "clientFeature") return noFacts;
    const said = notes.get(upstream)?.(kind, name);
    const locked = lock === undefined || !enforced.has(upstream) || lock.isLocked(upstream, kind, name);
    return { labels: said?.labels ?? [], annotations: { ...said?.annotations }, digest: undefined, locked };
  };
}
