/**
 * Whether an upstream offers streams, as far as anybody has found out. While nobody has, one attempt goes ahead
 * and the others wait for what it finds: an upstream that answers 405 is asked once, however many watch it.
 */
export interface StreamOffer {
  /** Resolves when an attempt may go ahead, or is pointless for the time being. Whoever may go ahead tells. */
  enter(signal: AbortSignal): Promise<"go" | "refused" | "aborted">;
  tell(found: "offered" | "refused" | "nothing"): void;
}

export interface StreamOfferOptions {
  readonly refusedMs: number;
  readonly now: () => number;
}

type State =
  | { readonly kind: "unknown" }
  | { readonly kind: "being-asked" }
  | { readonly kind: "offered" }
  | { readonly kind: "refused"; readonly until: number };

export function createStreamOffer({ refusedMs, now }: StreamOfferOptions): StreamOffer {
  let state: State = { kind: "unknown" };
  /** As many as there are watches, each of which has one attempt at a time. */
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const go of [...waiting]) go();
  };
  return {
    async enter(signal) {
      for (;;) {
        if (signal.aborted) return "aborted";
        if (state.kind === "refused" && now() >= state.until) state = { kind: "unknown" };
        if (state.kind === "refused") return "refused";
        if (state.kind === "offered") return "go";
        if (state.kind === "unknown") {
          state = { kind: "being-asked" };
          return "go";
        }
        await oneOf(waiting, signal);
      }
    },
    tell(found) {
      if (found === "refused") state = { kind: "refused", until: now() + refusedMs };
      else if (found === "offered") state = { kind: "offered" };
      else if (state.kind === "being-asked") state = { kind: "unknown" };
      wake();
    },
  };
}

function oneOf(waiting: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      waiting.delete(go);
      signal.removeEventListener("abort", go);
      resolve();
    };
    waiting.add(go);
    signal.addEventListener("abort", go, { once: true });
  });
}
