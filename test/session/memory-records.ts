import { StoreUnavailable } from "../../src/model/records.ts";
import type { RecordKey } from "../../src/model/records.ts";
import type { SessionRecords } from "../../src/session/port.ts";

type Operation = keyof SessionRecords;

export interface MemoryRecords extends SessionRecords {
  /** Values and sets that have not expired, by the JSON text of their key. */
  readonly values: Map<string, { value: string; until: number }>;
  readonly sets: Map<string, Map<string, number>>;
  /** Every operation, in order. */
  readonly calls: Operation[];
  /** Operations that fail, with this error. */
  readonly failing: Map<Operation, Error>;
}

/** The store's contract over Maps and a given clock. */
export function memoryRecords(now: () => number): MemoryRecords {
  const values: MemoryRecords["values"] = new Map();
  const sets: MemoryRecords["sets"] = new Map();
  const calls: Operation[] = [];
  const failing = new Map<Operation, Error>();

  const live = (key: RecordKey): string | undefined => {
    const found = values.get(JSON.stringify(key));
    return found !== undefined && found.until > now() ? found.value : undefined;
  };
  const put = (key: RecordKey, value: string, ttlMs: number): void => {
    if (!(ttlMs > 0)) throw new RangeError("a record needs a life");
    values.set(JSON.stringify(key), { value, until: now() + ttlMs });
  };
  const members = (key: RecordKey): Map<string, number> => {
    const set = sets.get(JSON.stringify(key)) ?? new Map<string, number>();
    for (const [member, until] of set) if (until <= now()) set.delete(member);
    sets.set(JSON.stringify(key), set);
    return set;
  };
  function run<T>(operation: Operation, work: () => T): Promise<T> {
    calls.push(operation);
    const failure = failing.get(operation);
    return failure === undefined ? Promise.resolve().then(work) : Promise.reject(failure);
  }

  return {
    values,
    sets,
    calls,
    failing,
    get: (key) => run("get", () => live(key)),
    set: (key, value, ttlMs) =>
      run("set", () => {
        put(key, value, ttlMs);
      }),
    setIfAbsent: (key, value, ttlMs) =>
      run("setIfAbsent", () => {
        if (live(key) !== undefined) return false;
        put(key, value, ttlMs);
        return true;
      }),
    replace: (key, expected, value, ttlMs) =>
      run("replace", () => {
        if (live(key) !== expected) return false;
        put(key, value, ttlMs);
        return true;
      }),
    touch: (key, ttlMs) =>
      run("touch", () => {
        const value = live(key);
        if (value !== undefined) put(key, value, ttlMs);
        return value !== undefined;
      }),
    delete: (key) => run("delete", () => live(key) !== undefined && values.delete(JSON.stringify(key))),
    members: (key) => run("members", () => [...members(key).keys()]),
    addMember: (key, member, ttlMs) => run("addMember", () => members(key).set(member, now() + ttlMs).size),
    removeMember: (key, member) =>
      run("removeMember", () => {
        members(key).delete(member);
      }),
  };
}

export const down = (): StoreUnavailable => new StoreUnavailable("down");
