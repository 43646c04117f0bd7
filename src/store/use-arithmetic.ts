import type { UseLimit } from "../model/records.ts";

export const dayMs = 86_400_000;

type RateLimit = Extract<UseLimit, { readonly kind: "rate" }>;

/**
 * A bucket at a moment. `level` is what it holds, in parts of a use of which `perMs` make one: so each millisecond
 * brings back exactly `count` of them, and no rounding ever lets a use too many through.
 */
export interface Bucket {
  readonly level: number;
  readonly seenMs: number;
}

/** The bucket now, one use taken from it where it holds one. A clock that went back brings nothing. */
export function takeFromBucket(
  { count, perMs, burst }: RateLimit,
  held: Bucket | undefined,
  now: number,
): { readonly waitMs: number } | { readonly bucket: Bucket; readonly fullInMs: number } {
  const full = burst * perMs;
  const level = held === undefined ? full : Math.min(full, held.level + Math.max(0, now - held.seenMs) * count);
  if (level < perMs) return { waitMs: Math.ceil((perMs - level) / count) };
  return { bucket: { level: level - perMs, seenMs: now }, fullInMs: Math.ceil((full - level + perMs) / count) };
}

/** Until the day, and with it every quota, ends. */
export function dayEndsInMs(now: number): number {
  return dayMs - (now % dayMs);
}
