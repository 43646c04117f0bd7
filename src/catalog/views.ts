import type { ItemKind } from "../model/item.ts";
import type { Principal } from "../model/principal.ts";
import { colliding, lookups, type EntriesByName, type Entry, type ServerTable } from "./table.ts";

/** The part of a server's table that one principal sees, as this principal sees it, and its lists already written as JSON. */
export interface View {
  readonly table: ServerTable;
  readonly visible: ReadonlySet<Entry>;
  /** What the principal would see, were it not for another item of the same kind and name that it would see too. */
  readonly collided: ReadonlySet<Entry>;
  /** The visible by kind, in the order of the table. */
  readonly visibleBy: Readonly<Record<ItemKind, readonly Entry[]>>;
  /**
   * Everything that the server has, by the names that this principal knows it under: what is visible, and beside it what
   * is hidden, collided or withheld, of which `visible` has nothing.
   */
  readonly byName: EntriesByName;
  readonly templates: readonly Entry[];
  /** Written text by whatever key the caller chooses, made once per view. */
  listText(key: string, write: () => string): WrittenText;
}

/** A text and its UTF-8: encoding a list of 40 tools for every answer was a fifth of what the answer cost. */
export interface WrittenText {
  readonly text: string;
  readonly bytes: Buffer;
}

export interface ViewRequest {
  readonly table: ServerTable;
  readonly principal: Principal;
  /** Of the request's era and protocol revision, which policy may read. */
  readonly revision: string;
  /** Digest of the policy in force: a view made under another one is not served. */
  readonly policy: string;
  readonly visible: (entry: Entry) => boolean;
  /**
   * An entry as it is for this principal under the policy: with another shape, withheld, or not there at all
   * (undefined). The same entry where nothing is different. Asked of visible entries alone.
   */
  readonly present?: ((entry: Entry) => Entry | undefined) | undefined;
}

export interface Views {
  of(request: ViewRequest): View;
}

interface Kept {
  readonly view: View;
  readonly policy: string;
  readonly madeAt: number;
}

/**
 * Views by server and everything of a principal that policy may read. Kept for `viewAgeMsMax`, since
 * conditions may read the time, and while table and policy stay the same. The oldest goes when full.
 */
export function createViews(options: { viewsMax: number; viewAgeMsMax: number; now: () => number }): Views {
  const kept = new Map<string, Kept>();
  const of = (request: ViewRequest): View => {
    const key = keyOf(request);
    const found = kept.get(key);
    const now = options.now();
    if (
      found?.view.table === request.table &&
      found.policy === request.policy &&
      now - found.madeAt <= options.viewAgeMsMax
    )
      return found.view;
    const view = makeView(request);
    kept.delete(key);
    kept.set(key, { view, policy: request.policy, madeAt: now });
    // In the order of their making. A view past its age is given to nobody, yet holds a whole table and its texts.
    for (const [oldest, { madeAt }] of kept) {
      if (kept.size <= options.viewsMax && now - madeAt <= options.viewAgeMsMax) break;
      kept.delete(oldest);
    }
    return view;
  };
  return { of };
}

function makeView(request: ViewRequest): View {
  const { table } = request;
  const { entitled, changed } = presented(request);
  // The gateway's own keep their names.
  const collided = new Set(colliding(entitled).filter(({ connects }) => !connects));
  const visible = new Set(entitled.filter((entry) => !collided.has(entry)));
  const ofKind = (kind: ItemKind): Entry[] => [...visible].filter((entry) => entry.item.kind === kind);
  const visibleBy = {
    tool: ofKind("tool"),
    prompt: ofKind("prompt"),
    resource: ofKind("resource"),
    template: ofKind("template"),
  };
  const found = changed.size === 0 ? table : lookups(table.entries.map((entry) => changed.get(entry) ?? entry));
  const { byName, templates } = found;
  return { table, visible, collided, visibleBy, byName, templates, listText: textsKept() };
}

/** What the principal is entitled to see, in the order of the table, and the entries that are others for it. */
function presented({ table, visible, present }: ViewRequest): {
  readonly entitled: readonly Entry[];
  readonly changed: ReadonlyMap<Entry, Entry>;
} {
  const entitled: Entry[] = [];
  const changed = new Map<Entry, Entry>();
  for (const entry of table.entries) {
    if (entry.withheld !== undefined || !visible(entry)) continue;
    const own = present === undefined ? entry : present(entry);
    if (own === undefined) continue;
    if (own !== entry) changed.set(entry, own);
    if (own.withheld === undefined) entitled.push(own);
  }
  return { entitled, changed };
}

function textsKept(): View["listText"] {
  const texts = new Map<string, WrittenText>();
  return (key, write) => {
    const known = texts.get(key);
    if (known !== undefined) return known;
    const text = write();
    const written = { text, bytes: Buffer.from(text, "utf8") };
    texts.set(key, written);
    return written;
  };
}

/**
 * A remembered token yields the same principal object, so this is made once per token and server: a key that is
 * joined anew has to be hashed anew at every call.
 */
const keys = new WeakMap<Principal, Map<string, string>>();

/** Everything of a principal and its request that policy may read but the time. Servers and revisions are few. */
function keyOf({ table: { server }, principal, revision }: ViewRequest): string {
  let known = keys.get(principal);
  if (known === undefined) keys.set(principal, (known = new Map<string, string>()));
  const where = `${server} ${revision}`;
  let key = known.get(where);
  if (key === undefined) {
    const { key: who, issuerAlias, groups, scopes, claims } = principal;
    known.set(where, (key = `${where} ${JSON.stringify([who, issuerAlias, groups, scopes, claims])}`));
  }
  return key;
}
