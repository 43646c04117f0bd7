import type { RecordKey } from "../../../src/model/records.ts";
import type { KeyRingRecords } from "../../../src/model/key-ring.ts";
import type { Sealer } from "../../../src/upstream/grants/port.ts";

/** Seals nothing, but opens only what was sealed for the same thing. */
export const plainSealer: Sealer = {
  seal: (associated, text) => JSON.stringify([associated, text]),
  open: (associated, sealed) => {
    const [about, text] = JSON.parse(sealed) as [string, string];
    return about === associated ? text : undefined;
  },
};

export interface KeyRecords extends KeyRingRecords {
  readonly entries: Map<string, string>;
  readonly lives: number[];
}

/** A store of this process. */
export function keyRecords(): KeyRecords {
  const entries = new Map<string, string>();
  const lives: number[] = [];
  const nameOf = (key: RecordKey): string => JSON.stringify(key);
  return {
    ...{ entries, lives },
    get: (key) => Promise.resolve(entries.get(nameOf(key))),
    setIfAbsent: (key, value, ttlMs) => {
      if (entries.has(nameOf(key))) return Promise.resolve(false);
      entries.set(nameOf(key), value);
      lives.push(ttlMs);
      return Promise.resolve(true);
    },
    replace: (key, expected, value, ttlMs) => {
      if (entries.get(nameOf(key)) !== expected) return Promise.resolve(false);
      entries.set(nameOf(key), value);
      lives.push(ttlMs);
      return Promise.resolve(true);
    },
  };
}
