import { limits } from "../model/limits.ts";
import { createBrowserAttempts, type BrowserExchange } from "../web/browser-attempts.ts";
import { paths } from "./paths.ts";
import type { Sealer } from "./port.ts";

/** A sign-in that this browser has under way at a provider. */
export interface SignInAttempt {
  /** Id of the way. */
  readonly way: string;
  /** What the relying party needs again: nonce and verifier. */
  readonly kept: string;
  /** The page of ours to go on with. */
  readonly target: string;
}

export interface SignInAttempts {
  newState(): string;
  /** Several at a time, as people open several tabs; beyond `browserSignInsMax` the oldest is forgotten. */
  keep(exchange: BrowserExchange, state: string, attempt: SignInAttempt): void;
  /**
   * The attempt of the browser that sent the request, which forgets it; undefined in any other browser, for another state,
   * which leaves it where it is, and after `browserAttemptMs`.
   */
  take(exchange: BrowserExchange, state: string): SignInAttempt | undefined;
}

/** An answer that is played twice meets the provider, where a code works once (RFC 6749 §4.1.2). */
export function createSignInAttempts(of: {
  readonly publicUrl: string;
  readonly sealer: Sealer;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
}): SignInAttempts {
  const attempts = createBrowserAttempts({
    ...of,
    purpose: "connect-sign-in",
    cookiePrefix: "sallyport_sign_in_",
    lifeMs: limits.browserAttemptMs,
    attemptsMax: limits.browserSignInsMax,
    cookieCharsMax: limits.browserCookieCharsMax,
  });
  return {
    newState: () => attempts.newState(),
    keep: (exchange, state, { way, kept, target }) => {
      if (attempts.keep(exchange, state, [way, kept, target])) return;
      // A link that does not fit is opened anew once its owner has signed in.
      if (!attempts.keep(exchange, state, [way, kept, paths.home]))
        throw new Error("a sign-in is longer than a cookie");
    },
    take: (exchange, state) => {
      const [way, kept, target] = attempts.take(exchange, state);
      if (way === undefined || kept === undefined || target === undefined) return undefined;
      return { way, kept, target };
    },
  };
}
