import { isSubject, readPrincipalKey, type Subject } from "../model/principal.ts";
import type { DefinitionSource } from "./port.ts";
import type { Reading, Snapshots } from "./snapshots.ts";
import type { ServerTable } from "./table.ts";

/** Somebody for whom lists are read on their own account. */
export interface Reader {
  /** Differs whenever what upstreams would list might: for another principal, and for other rights of the same one. */
  readonly key: string;
  readonly principalKey: string;
  /** Asks upstreams on the reader's account. */
  readonly source: DefinitionSource;
}

/** What upstreams list to one reader. */
export interface OwnLists {
  readonly snapshots: Snapshots;
  /** Tables that were built of them, by server and presentation. */
  readonly tables: Map<string, ServerTable>;
}

/** Lists that are read for one person at a time: nobody sees another's. */
export interface PersonalCatalogs {
  of(reader: Reader): OwnLists;
  /** Somebody's account at an upstream is another now, or none: what was read for them is forgotten, and their streams told. */
  forget(who: Subject): void;
  /** Calls `hear` whenever what is listed to the principal may have changed, until the returned function is called. */
  follow(principalKey: string, hear: () => void): () => void;
}

export interface PersonalOptions {
  /** Lists that are read from whatever source stands there at the time. */
  readonly open: (source: () => DefinitionSource, onReading: (reading: Reading) => void) => Snapshots;
  readonly now: () => number;
  readonly bounds: { readonly personalCatalogsMax: number; readonly catalogStaleMsMax: number };
}

interface Kept extends OwnLists {
  /** As it came last: the token behind it is the newest. */
  reader: Reader;
  usedAt: number;
}

/** In the order of their use; the oldest goes when there are too many, and each goes that nobody asks for any more. */
export function createPersonalCatalogs(options: PersonalOptions): PersonalCatalogs {
  const kept = new Map<string, Kept>();
  const followers = new Map<string, Set<() => void>>();
  const tell = (principalKey: string): void => {
    for (const hear of [...(followers.get(principalKey) ?? [])]) hear();
  };
  return {
    of: (reader) => {
      const known = kept.get(reader.key);
      const lists = known ?? openFor(options, reader, tell);
      lists.reader = reader;
      lists.usedAt = options.now();
      kept.delete(reader.key);
      kept.set(reader.key, lists);
      if (known === undefined) dropOld(kept, options);
      return lists;
    },
    forget: (who) => {
      for (const [key, { reader }] of kept) if (isOf(reader.principalKey, who)) kept.delete(key);
      for (const principalKey of followers.keys()) if (isOf(principalKey, who)) tell(principalKey);
    },
    follow: (principalKey, hear) => {
      const others = followers.get(principalKey) ?? new Set();
      followers.set(principalKey, others.add(hear));
      return () => {
        others.delete(hear);
        if (others.size === 0 && followers.get(principalKey) === others) followers.delete(principalKey);
      };
    },
  };
}

function openFor(options: PersonalOptions, reader: Reader, tell: (principalKey: string) => void): Kept {
  const lists: Kept = {
    reader,
    usedAt: options.now(),
    tables: new Map(),
    snapshots: options.open(
      () => lists.reader.source,
      ({ changed }) => {
        if (changed) tell(lists.reader.principalKey);
      },
    ),
  };
  return lists;
}

function dropOld(kept: Map<string, Kept>, { now, bounds }: PersonalOptions): void {
  for (const [key, { usedAt }] of kept) {
    if (kept.size <= bounds.personalCatalogsMax && now() - usedAt <= bounds.catalogStaleMsMax) return;
    kept.delete(key);
  }
}

function isOf(principalKey: string, who: Subject): boolean {
  const identity = readPrincipalKey(principalKey);
  return identity !== undefined && isSubject(identity, who);
}
