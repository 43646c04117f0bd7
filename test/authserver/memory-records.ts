import { StoreUnavailable } from "../../src/model/records.ts";
import type { RecordKey } from "../../src/model/records.ts";
import type { GrantRecords } from "../../src/authserver/port.ts";

interface Entry {
  readonly value: string;
  readonly expiresAt: number;
}

export interface MemoryRecords extends GrantRecords {
  /** Everything that lies in the store, keys and values, as text. */
  dump(): string;
  keysOf(kind: string): readonly string[];
  /** Forgets everything, as a wiped store does. */
  clear(): void;
  setDown(down: boolean): void;
}

/** The records port over maps. Each operation yields once, so that races between callers show. */
export function createMemoryRecords(now: () => number = Date.now): MemoryRecords {
  const entries = new Map<string, Entry>();
  const sets = new Map<string, Map<string, number>>();
  let down = false;
  const yieldOnce = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    if (down) throw new StoreUnavailable("down");
  };
  const live = (name: string): string | undefined => {
    const entry = entries.get(name);
    return entry !== undefined && entry.expiresAt > now() ? entry.value : undefined;
  };
  const write = (name: string, value: string, ttlMs: number): void => {
    if (!(ttlMs > 0)) throw new Error(`a record needs a life, found ${String(ttlMs)}`);
    entries.set(name, { value, expiresAt: now() + ttlMs });
  };
  const membersOf = (name: string): Map<string, number> => {
    const found = sets.get(name) ?? new Map<string, number>();
    for (const [member, expiresAt] of found) if (expiresAt <= now()) found.delete(member);
    sets.set(name, found);
    return found;
  };
  return {
    get: async (key) => {
      await yieldOnce();
      return live(nameOf(key));
    },
    set: async (key, value, ttlMs) => {
      await yieldOnce();
      write(nameOf(key), value, ttlMs);
    },
    setIfAbsent: async (key, value, ttlMs) => {
      await yieldOnce();
      if (live(nameOf(key)) !== undefined) return false;
      write(nameOf(key), value, ttlMs);
      return true;
    },
    replace: async (key, expected, value, ttlMs) => {
      await yieldOnce();
      if (live(nameOf(key)) !== expected) return false;
      write(nameOf(key), value, ttlMs);
      return true;
    },
    touch: async (key, ttlMs) => {
      await yieldOnce();
      const value = live(nameOf(key));
      if (value === undefined) return false;
      write(nameOf(key), value, ttlMs);
      return true;
    },
    delete: async (key) => {
      await yieldOnce();
      return entries.delete(nameOf(key));
    },
    take: async (key) => {
      await yieldOnce();
      const value = live(nameOf(key));
      entries.delete(nameOf(key));
      return value;
    },
    addMember: async (key, member, ttlMs) => {
      await yieldOnce();
      return membersOf(nameOf(key)).set(member, now() + ttlMs).size;
    },
    removeMember: async (key, member) => {
      await yieldOnce();
      membersOf(nameOf(key)).delete(member);
    },
    members: async (key) => {
      await yieldOnce();
      return [...membersOf(nameOf(key)).keys()];
    },
    takeExcess: async (key, { keepMax, takeMax }) => {
      await yieldOnce();
      const set = membersOf(nameOf(key));
      const excess = Math.max(Math.min(set.size - keepMax, takeMax), 0);
      const first = [...set].sort(([, one], [, other]) => one - other).slice(0, excess);
      for (const [member] of first) set.delete(member);
      return first.map(([member]) => member);
    },
    dump: () => JSON.stringify([...entries, ...[...sets].map(([name, members]) => [name, [...members.keys()]])]),
    keysOf: (kind) => [...entries.keys()].filter((name) => name.startsWith(`["${kind}"`) && live(name) !== undefined),
    clear: () => {
      entries.clear();
      sets.clear();
    },
    setDown: (value) => {
      down = value;
    },
  };
}

function nameOf(key: RecordKey): string {
  return JSON.stringify(key);
}
