import type { LimitMeasure } from "./obligations.ts";

/**
 * What rooms that keep records ask of a store. Each room declares the part it needs as its own port
 * (`session/port.ts` and the like) with these operations; `store/` implements all of them, and
 * `compose.ts` joins them. A key is a list of parts that begins with the record's kind and the tenant.
 * Every operation rejects with `StoreUnavailable` within `storeCommandTimeoutMs` when the store is
 * down, slow or full; none of them is retried.
 */
export type RecordKey = readonly [kind: string, tenant: string, ...rest: string[]];

export interface RecordReads {
  get(key: RecordKey): Promise<string | undefined>;
  /**
   * The same without a wait, where a store holds its records in this process: two promises less for every
   * request. Throws `StoreUnavailable` where `get` rejects with it.
   */
  readonly getNow?: (key: RecordKey) => string | undefined;
}

export interface RecordWrites {
  set(key: RecordKey, value: string, ttlMs: number): Promise<void>;
  /** True when this call wrote the record, false when one was there. Atomic. */
  setIfAbsent(key: RecordKey, value: string, ttlMs: number): Promise<boolean>;
  /** Writes only while the record still equals `expected`. Atomic. */
  replace(key: RecordKey, expected: string, value: string, ttlMs: number): Promise<boolean>;
  /** Extends the record's life; false when it is gone. */
  touch(key: RecordKey, ttlMs: number): Promise<boolean>;
  /** True when a record was removed. */
  delete(key: RecordKey): Promise<boolean>;
  /** Reads and removes in one step: of two callers, one gets the value. */
  take(key: RecordKey): Promise<string | undefined>;
}

export interface RecordSets {
  /** Adds a member with its own expiry and returns the number of live members. */
  addMember(key: RecordKey, member: string, ttlMs: number): Promise<number>;
  removeMember(key: RecordKey, member: string): Promise<void>;
  members(key: RecordKey): Promise<readonly string[]>;
}

export interface RecordTrims {
  /**
   * Removes the live members that expire first until `keepMax` are left, at most `takeMax` of them, and returns
   * them. Atomic: of two callers each member goes to one.
   */
  takeExcess(
    key: RecordKey,
    bounds: { readonly keepMax: number; readonly takeMax: number },
  ): Promise<readonly string[]>;
}

export interface RecordCounters {
  /** Adds one and returns the new count; the first of a window sets its life. */
  increment(key: RecordKey, windowMs: number): Promise<number>;
}

/** A limit on uses, as a store counts it. `name` tells its counter from every other one of the tenant. */
export type UseLimit = { readonly name: readonly string[] } & LimitMeasure;

/** Stands for one use under way, until it is ended or `lifeMs` have passed since it was last kept. */
export interface UseLease {
  readonly id: string;
  readonly lifeMs: number;
}

export type UseTaken =
  | { readonly taken: true }
  /** `at`: the limit whose next use is farthest off, by its position. `waitMs` until then; 0 where nobody can tell. */
  | { readonly taken: false; readonly at: number; readonly waitMs: number };

export interface RecordUses {
  /**
   * Takes one use from every limit, or from none where one has none left. Atomic, and by the store's own clock: replicas
   * whose clocks differ agree. Names differ among the limits of one call.
   */
  takeUse(tenant: string, limits: readonly UseLimit[], lease: UseLease): Promise<UseTaken>;
  /** Keeps a lease alive, also one that a store has lost; `names` are those of its `concurrency` limits. */
  keepLease(tenant: string, names: readonly UseLimit["name"][], lease: UseLease): Promise<void>;
  endLease(tenant: string, names: readonly UseLimit["name"][], leaseId: string): Promise<void>;
}

/** The store is down, slow, full or answers nonsense. Security state fails closed on it. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}
