import { randomBytes } from "node:crypto";
import { limits } from "../model/limits.ts";
import type { RefusalCode } from "../model/refusal.ts";
import { addressPrefix } from "./address-prefix.ts";
import type { Evidence } from "./port.ts";
import { createRef } from "./ref.ts";

export interface StrangersOptions {
  readonly evidence: Pick<Evidence, "record">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly windowMs?: number;
  readonly bucketsMax?: number;
  readonly newRef?: () => string;
}

/** Refusals before anybody is known, counted instead of recorded one by one. */
export interface Strangers {
  /**
   * Counts one refusal, and returns the reference of the event in which it will stand: the refusals of
   * one code, network and window share it.
   */
  note(code: RefusalCode, address: string): string;
  /** Records windows that are over, a thirtieth of `bucketsMax` at most. A timer calls it 60 times a window. */
  flush(): void;
  /** Records what is counted so far and stops the timer. Before the evidence is closed. */
  close(): void;
}

interface Bucket {
  readonly ref: string;
  readonly code: RefusalCode;
  readonly addressPrefix: string;
  readonly endsAt: number;
  count: number;
}

/**
 * Strangers could otherwise fill the evidence, and the required sink's queue, at no cost: one event per
 * code, network and window leaves them `bucketsMax` events a window. Beyond that many networks, a code's
 * refusals are counted under the prefix `other`, of which there is one per code.
 */
export function createStrangers(options: StrangersOptions): Strangers {
  const { evidence, now, newRef = createRef(randomBytes) } = options;
  const { windowMs = limits.strangerWindowMs, bucketsMax = limits.strangerBucketsMax } = options;
  const buckets = new Map<string, Bucket>();

  function bucketOf(code: RefusalCode, prefix: string): Bucket {
    const key = `${code} ${prefix}`;
    const held = buckets.get(key);
    if (held !== undefined && held.endsAt > now()) return held;
    if (held !== undefined) settle(key, held);
    else if (buckets.size >= bucketsMax && prefix !== "other") return bucketOf(code, "other");
    const bucket = { ref: newRef(), code, addressPrefix: prefix, endsAt: now() + windowMs, count: 0 };
    buckets.set(key, bucket);
    return bucket;
  }

  function settle(key: string, { ref, code, addressPrefix: prefix, count }: Bucket): void {
    buckets.delete(key);
    const refusal = { code, facts: {} };
    evidence.record({ type: "strangers", ref, tenant: "", refusal, strangers: { addressPrefix: prefix, count } });
  }

  // In portions: ten thousand buckets at once would fill a required sink's queue, and refuse everybody.
  const flush = (): void => {
    let left = Math.ceil(bucketsMax / 30);
    for (const [key, bucket] of buckets) {
      // Buckets stand in the order in which they end.
      if (left === 0 || bucket.endsAt > now()) return;
      settle(key, bucket);
      left -= 1;
    }
  };
  const timer = setInterval(flush, windowMs / 60);
  timer.unref();

  return {
    flush,
    note: (code, address) => {
      const bucket = bucketOf(code, addressPrefix(address));
      bucket.count += 1;
      return bucket.ref;
    },
    close: () => {
      clearInterval(timer);
      for (const [key, bucket] of buckets) settle(key, bucket);
    },
  };
}
