import { createBackoff } from "./backoff.ts";

/**
 * What an exchange says of the health of its upstream. `cut` is a failure that one event at the upstream causes
 * in many exchanges at once: of those under way together it counts once. `neither` tells nothing: whoever asked
 * went away, or the fault is the request's.
 */
export type Health = "well" | "ill" | "cut" | "neither";

export type Admission =
  /** To be told once what came of it. */
  | { readonly kind: "admitted"; readonly settle: (health: Health) => void }
  | { readonly kind: "suspended"; readonly retryMs: number };

/** Spares an upstream that fails again and again, and its callers the wait for it. */
export interface Breaker {
  admit(): Admission;
}

export interface BreakerOptions {
  /** Consecutive failures within `windowMs` that open it; 0: it never opens. */
  readonly failures: number;
  readonly windowMs: number;
  /** Shortest and longest suspension. Each that ends in another failure makes the next longer, with jitter. */
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly onChange: (suspended: boolean, pauseMs: number) => void;
}

type State =
  | { readonly kind: "closed" }
  | { readonly kind: "open"; readonly until: number }
  /** One exchange at a time finds out. */
  | { readonly kind: "half-open"; trying: boolean };

/**
 * Closed, open, half-open. What an exchange that began under an earlier state comes to is not counted: calls
 * that were cut off together with those that opened it say nothing new.
 */
export function createBreaker(options: BreakerOptions): Breaker {
  const { failures, windowMs, now, onChange } = options;
  const backoff = createBackoff({ ...options, msMin: options.pauseMs, msMax: options.pauseMsMax });
  let state: State = { kind: "closed" };
  /** When the failures in a row happened, at most as many as open it. */
  let failedAt: number[] = [];
  /** Counts admissions and failures, to tell which came first. */
  let order = 0;
  let lastFailure = 0;

  const open = (): void => {
    const pauseMs = backoff.next();
    state = { kind: "open", until: now() + pauseMs };
    failedAt = [];
    onChange(true, pauseMs);
  };
  const close = (): void => {
    state = { kind: "closed" };
    backoff.reset();
    onChange(false, 0);
  };
  const count = (health: Health, admission: number): void => {
    if (health === "well") failedAt = [];
    if (health !== "ill" && health !== "cut") return;
    if (health === "cut" && admission < lastFailure) return;
    lastFailure = order += 1;
    failedAt = [...failedAt.slice(1 - failures), now()];
    const first = failedAt[0] ?? 0;
    if (failedAt.length >= failures && now() - first <= windowMs) open();
  };
  const judgeTrial = (health: Health): void => {
    if (health === "neither") state = { kind: "half-open", trying: false };
    else if (health === "well") close();
    else open();
  };
  const admitted = (settle: (health: Health) => void): Admission => {
    const began = state;
    return {
      kind: "admitted",
      settle: (health) => {
        if (state === began) settle(health);
      },
    };
  };
  return {
    admit() {
      if (failures === 0) return { kind: "admitted", settle: () => undefined };
      if (state.kind === "open" && now() >= state.until) state = { kind: "half-open", trying: false };
      if (state.kind === "open") return { kind: "suspended", retryMs: state.until - now() };
      if (state.kind === "half-open") {
        if (state.trying) return { kind: "suspended", retryMs: options.pauseMs };
        state = { kind: "half-open", trying: true };
        return admitted(judgeTrial);
      }
      const admission = (order += 1);
      return admitted((health) => {
        count(health, admission);
      });
    },
  };
}
