import { randomBytes } from "node:crypto";
import { limits } from "../model/limits.ts";
import { createBrowserAttempts, type BrowserExchange } from "../web/browser-attempts.ts";
import type { Sealer } from "./port.ts";

/** A sign-in that this browser has under way at the provider. */
export interface Attempt {
  /** The interaction that it is for. */
  readonly uid: string;
  /** What the relying party needs again: nonce and verifier. */
  readonly kept: string;
}

export interface ProviderAttempts {
  /** A state for an attempt that begins now: it names the attempt's cookie, and nobody can guess it. */
  newState(): string;
  /** Several at a time, as clients open several tabs; beyond `oauthProviderAttemptsMax` the oldest is forgotten. */
  keep(exchange: BrowserExchange, state: string, attempt: Attempt): void;
  /**
   * The attempt of the browser that sent the request, which forgets it; undefined in any other browser, for another
   * state, and once its interaction's time is over.
   */
  take(exchange: BrowserExchange, state: string): Attempt | undefined;
}

/** Not checked: that an attempt is used once; whoever takes it notes that, when the provider has answered. */
export function createProviderAttempts(of: {
  readonly publicUrl: string;
  readonly sealer: Sealer;
  readonly now: () => number;
}): ProviderAttempts {
  const attempts = createBrowserAttempts({
    ...of,
    random: randomBytes,
    purpose: "provider sign-in attempt",
    cookiePrefix: "sallyport_provider_",
    lifeMs: limits.oauthInteractionSeconds * 1_000,
    attemptsMax: limits.oauthProviderAttemptsMax,
    cookieCharsMax: limits.browserCookieCharsMax,
  });
  return {
    newState: () => attempts.newState(),
    keep: (exchange, state, { uid, kept }) => {
      if (!attempts.keep(exchange, state, [uid, kept])) throw new Error("a provider attempt is longer than a cookie");
    },
    take: (exchange, state) => {
      const [uid, kept] = attempts.take(exchange, state);
      return uid === undefined || kept === undefined ? undefined : { uid, kept };
    },
  };
}
