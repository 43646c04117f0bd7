import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import { StoreUnavailable } from "../model/records.ts";
import { memoryUses } from "./memory-uses.ts";
import { attempt, assertOpen } from "./memory-attempt.ts";
import { createShelf } from "./shelf.ts";
import type { Shelf } from "./shelf.ts";
import { storeKey } from "./keys.ts";
import { assertRecordFits, lifeMs } from "./store.ts";
import type { Store } from "./store.ts";

export interface MemoryStoreOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Records, counted with the members of sets; and as many counters of limits beside them. Default `limits.memoryStoreEntriesMax`. */
  readonly entriesMax?: number;
  readonly recordCharsMax?: number;
}

/**
 * A store for one process: the quickstart, a sidecar, tests. Its state ends with the process, and no
 * other replica sees it.
 *
 * When it is full of live records it refuses new ones with `StoreUnavailable`. It never evicts: what it
 * holds is security state (a denied token, a consumed code), and whoever fills it must not be able to
 * make it forget.
 */
export function createMemoryStore(options: MemoryStoreOptions): Store {
  const { now, entriesMax = limits.memoryStoreEntriesMax, recordCharsMax = limits.recordCharsMax } = options;
  const shelf = createShelf({ now, entriesMax });
  // Counters of limits are as many as what callers use; however many, they find no room of sessions or denied tokens.
  const counters = createShelf({ now, entriesMax });
  const knownName = rememberingNames(openName);
  let closed = false;

  function openName(key: RecordKey): string {
    assertOpen(closed);
    return storeKey(key);
  }

  function at<T>(key: RecordKey, act: (name: string) => T): Promise<T> {
    return attempt(() => act(openName(key)));
  }

  /** `at`, for operations that carry a value: its bound holds whether or not it would be written. */
  function atWith<T>(key: RecordKey, value: string, act: (name: string) => T): Promise<T> {
    return at(key, (name) => {
      assertRecordFits(value, recordCharsMax);
      return act(name);
    });
  }

  function put(name: string, value: string, ttlMs: number): void {
    shelf.putText(name, value, now() + lifeMs(ttlMs));
  }

  return {
    get: (key) => at(key, (name) => shelf.text(name)?.value),
    getNow: (key) => shelf.text(closed ? openName(key) : knownName(key))?.value,
    set: (key, value, ttlMs) =>
      atWith(key, value, (name) => {
        put(name, value, ttlMs);
      }),
    setIfAbsent: (key, value, ttlMs) =>
      atWith(key, value, (name) => {
        if (shelf.has(name)) return false;
        put(name, value, ttlMs);
        return true;
      }),
    replace: (key, expected, value, ttlMs) =>
      atWith(key, value, (name) => {
        if (shelf.text(name)?.value !== expected) return false;
        put(name, value, ttlMs);
        return true;
      }),
    touch: (key, ttlMs) => at(key, (name) => shelf.extend(name, now() + lifeMs(ttlMs))),
    delete: (key) => at(key, (name) => shelf.remove(name)),
    take: (key) => at(key, (name) => takeText(shelf, name)),
    addMember: (key, member, ttlMs) => at(key, (name) => shelf.addMember(name, member, now() + lifeMs(ttlMs))),
    removeMember: (key, member) =>
      at(key, (name) => {
        shelf.removeMember(name, member);
      }),
    members: (key) => at(key, (name) => shelf.members(name)),
    takeExcess: (key, bounds) => at(key, (name) => shelf.takeExcess(name, bounds)),
    increment: (key, windowMs) => at(key, (name) => increment(shelf, name, now() + lifeMs(windowMs))),
    ...memoryUses({ shelf: counters, now, isClosed: () => closed }),
    ping: () => (closed ? Promise.reject(new StoreUnavailable("the store is closed")) : Promise.resolve()),
    close: () => {
      closed = true;
      shelf.clear();
      counters.clear();
      return Promise.resolve();
    },
  };
}

/** Readers on the way of every request keep their keys, so their names are made once. */
function rememberingNames(openName: (key: RecordKey) => string): (key: RecordKey) => string {
  const names = new WeakMap<RecordKey, string>();
  return (key) => {
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = openName(key);
    names.set(key, name);
    return name;
  };
}

function takeText(shelf: Shelf, name: string): string | undefined {
  const value = shelf.text(name)?.value;
  if (value !== undefined) shelf.remove(name);
  return value;
}

/** A counter is a text of digits, as in Redis: `get` reads it. Its window ends where its first count set it. */
function increment(shelf: Shelf, name: string, firstExpiresAt: number): number {
  const held = shelf.text(name);
  const count = Number(held?.value ?? "0") + 1;
  if (!Number.isSafeInteger(count)) throw new StoreUnavailable("the record is no counter");
  shelf.putText(name, String(count), held?.expiresAt ?? firstExpiresAt);
  return count;
}
