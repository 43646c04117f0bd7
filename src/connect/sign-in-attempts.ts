import type { IncomingMessage, ServerResponse } from "node:http";
import { limits } from "../model/limits.ts";
import { createCookie } from "../web/cookies.ts";
import { createSealedTexts } from "../web/sealed-texts.ts";
import { paths } from "./paths.ts";
import type { Sealer } from "./port.ts";

/** A sign-in that this browser has under way at a provider. */
export interface SignInAttempt {
  /** Id of the way. */
  readonly way: string;
  readonly state: string;
  /** What the relying party needs again: nonce and verifier. */
  readonly kept: string;
  /** The page of ours to go on with. */
  readonly target: string;
}

export interface SignInAttempts {
  /** One at a time: a later one takes the place of the one before. */
  keep(res: ServerResponse, attempt: SignInAttempt): void;
  /**
   * The attempt of the browser that sent `req`, which forgets it; undefined in any other browser, and after
   * `browserAttemptMs`. An answer with another state than the attempt's leaves it where it is.
   */
  take(req: IncomingMessage, res: ServerResponse, state: string): SignInAttempt | undefined;
}

/**
 * Attempts live in the browser, sealed in a cookie: strangers begin them, and nothing of a stranger's is kept in the
 * store. An answer that is played twice meets the provider, where a code works once (RFC 6749 §4.1.2).
 */
export function createSignInAttempts(of: {
  readonly publicUrl: string;
  readonly sealer: Sealer;
  readonly now: () => number;
}): SignInAttempts {
  const cookie = createCookie(of.publicUrl, "sallyport_sign_in");
  const texts = createSealedTexts({ ...of, purpose: "connect-sign-in", lifeMs: limits.browserAttemptMs });
  const seal = ({ way, state, kept, target }: SignInAttempt): string => texts.seal([way, state, kept, target]);
  return {
    keep: (res, attempt) => {
      const sealed = seal(attempt);
      // A link that does not fit is opened anew once its owner has signed in.
      const fitting = sealed.length <= limits.browserCookieCharsMax ? sealed : seal({ ...attempt, target: paths.home });
      cookie.set(res, fitting, limits.browserAttemptMs);
    },
    take: (req, res, state) => {
      const attempt = attemptOf(texts.open(cookie.read(req) ?? ""));
      // Any page can send this browser here, and must not thereby end a sign-in that is under way.
      if (attempt !== undefined && attempt.state !== state) return undefined;
      cookie.clear(res);
      return attempt;
    },
  };
}

/** Authentic, so our own writing. */
function attemptOf([way, state, kept, target]: readonly string[]): SignInAttempt | undefined {
  if (way === undefined || state === undefined || kept === undefined || target === undefined) return undefined;
  return { way, state, kept, target };
}
