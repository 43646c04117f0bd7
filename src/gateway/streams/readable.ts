import { readOwn } from "../../model/json.ts";
import type { Era } from "../../model/revision.ts";
import { beginExchange, type Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { ownNameOf } from "../own-name.ts";
import { readerOf } from "../reader-of.ts";
import { checkArguments } from "../steps/check-arguments.ts";
import { decideExchange } from "../steps/decide.ts";
import { resolveTarget } from "../steps/resolve-target.ts";

/** A resource that the principal of an exchange may read now. */
export interface Readable {
  /** As the client calls it, and as the upstream does. */
  readonly uri: string;
  readonly own: string;
  readonly upstream: string;
}

/**
 * Whether a read of `uri` would be let through, by the very steps that a read takes. Undefined for what does not
 * exist, is hidden or denied, or would need more scopes.
 */
export async function readableAs(x: Exchange, g: Gateway, uri: string): Promise<Readable | undefined> {
  const read = asRead(x, g, uri);
  for (const step of [resolveTarget, checkArguments, decideExchange])
    if ((await step(read, g)) !== undefined) return undefined;
  const entry = read.target?.entry;
  return entry === undefined ? undefined : { uri, own: ownNameOf(uri, entry), upstream: entry.item.upstream };
}

function asRead(x: Exchange, g: Gateway, uri: string): Exchange {
  const read = beginExchange(x.arrival, x.ref, g.now());
  const message = { kind: "notification", method: "resources/read", params: { uri } } as const;
  read.principal = x.principal;
  read.session = x.session;
  read.classified = x.classified === undefined ? undefined : { ...x.classified, message };
  return read;
}

/** What an upstream says of itself in the catalog, as far as subscriptions are concerned. */
export async function subscribableAt(
  x: Exchange,
  g: Gateway,
  upstream: string,
): Promise<{ readonly era: Era; readonly tellsOfUpdates: boolean } | undefined> {
  const table = await g.catalog.table(x.arrival.server.name, readerOf(x, g));
  const self = table.snapshots.find((snapshot) => snapshot.upstream === upstream)?.self;
  if (self === undefined) return undefined;
  const tellsOfUpdates = readOwn(readOwn(self.capabilities, "resources"), "subscribe") === true;
  return { era: self.era, tellsOfUpdates };
}
