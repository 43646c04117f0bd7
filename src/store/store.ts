import type {
  RecordCounters,
  RecordReads,
  RecordSets,
  RecordTrims,
  RecordUses,
  RecordWrites,
} from "../model/records.ts";

/** Everything that rooms ask of a store. Their ports are parts of this. */
export interface Store extends RecordReads, RecordWrites, RecordSets, RecordTrims, RecordCounters, RecordUses {
  /**
   * Resolves when the store answers; rejects with `StoreUnavailable`. What readiness asks. It does not
   * show that the store accepts writes: a full or read-only one answers.
   */
  ping(): Promise<void>;
  /** Lets go of connections and timers. Every operation afterwards rejects with `StoreUnavailable`. */
  close(): Promise<void>;
}

/** About 31 years: a life beyond it is an arithmetic slip of ours. */
const ttlMsMax = 1_000_000_000_000;

/**
 * A life in whole milliseconds, at least 1: a record whose last moment has come is written and gone.
 * Throws on what is no life at all (NaN, infinite, absurdly long), which is our own bug.
 */
export function lifeMs(ttlMs: number): number {
  if (!Number.isFinite(ttlMs) || ttlMs > ttlMsMax) throw new RangeError("a record's life must be a number of ms");
  return Math.max(1, Math.ceil(ttlMs));
}

/** Throws when a value is longer than its bound: who keeps records bounds what it keeps. */
export function assertRecordFits(value: string, recordCharsMax: number): void {
  if (value.length > recordCharsMax) throw new RangeError(`a record must hold at most ${recordCharsMax} characters`);
}
