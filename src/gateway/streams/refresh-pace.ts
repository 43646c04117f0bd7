export interface PaceBounds {
  readonly catalogSettleMs: number;
  readonly catalogRefreshBurst: number;
  readonly catalogRefreshMsMin: number;
  readonly catalogRefreshMsMax: number;
  readonly catalogRefreshCalmMs: number;
}

/** When an upstream's lists were last read because it said so, and how many such readings came before in a row. */
export interface Pace {
  readonly lastAt: number;
  readonly streak: number;
}

export const unhurried: Pace = { lastAt: -Infinity, streak: 0 };

/**
 * How long to wait before lists are read that an upstream says have changed. A quiet upstream waits for a moment
 * in which it may have more to say; one that goes on beyond a few times waits twice as long every time, so that a
 * flood of notices costs a bounded number of readings.
 */
export function waitMs({ lastAt, streak }: Pace, now: number, bounds: PaceBounds): number {
  if (streak < bounds.catalogRefreshBurst) return bounds.catalogSettleMs;
  // 2^20 times the least is far beyond any most: the exponent stays where numbers are exact.
  const pause = Math.min(
    bounds.catalogRefreshMsMin * 2 ** Math.min(streak - bounds.catalogRefreshBurst, 20),
    bounds.catalogRefreshMsMax,
  );
  return Math.max(bounds.catalogSettleMs, lastAt + pause - now);
}

/** The pace after a reading that begins now. */
export function stepped({ lastAt, streak }: Pace, now: number, bounds: PaceBounds): Pace {
  return { lastAt: now, streak: now - lastAt > bounds.catalogRefreshCalmMs ? 1 : streak + 1 };
}
