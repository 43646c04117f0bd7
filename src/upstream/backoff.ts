/** Growing pauses between attempts at the same thing. */
export interface Backoff {
  /** The next pause in milliseconds, between `msMin` and a bound that doubles with each, up to `msMax`. */
  next(): number;
  /** The attempt went well: pauses begin small again. */
  reset(): void;
}

export interface BackoffOptions {
  readonly msMin: number;
  readonly msMax: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * Exponential with full jitter over what exceeds `msMin`: many that lost the same upstream come back spread
 * over the whole pause, and none sooner than `msMin`, which bounds the attempts of a stream that dies at once.
 */
export function createBackoff({ msMin, msMax, random }: BackoffOptions): Backoff {
  let bound = msMin;
  return {
    next() {
      bound = Math.min(2 * bound, Math.max(msMin, msMax));
      return Math.round(msMin + random() * (bound - msMin));
    },
    reset() {
      bound = msMin;
    },
  };
}
