import type { IncomingMessage, ServerResponse } from "node:http";
import { limits } from "../model/limits.ts";
import { createCookie } from "./cookies.ts";
import { paths } from "./paths.ts";
import type { Sealer } from "./port.ts";
import { readList, textsOf } from "./written-list.ts";

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
  const seal = ({ way, state, kept, target }: SignInAttempt): string =>
    of.sealer.seal(associated, JSON.stringify([of.now() + limits.browserAttemptMs, way, state, kept, target]));
  return {
    keep: (res, attempt) => {
      const sealed = seal(attempt);
      // A link that does not fit is opened anew once its owner has signed in.
      const fitting = sealed.length <= limits.browserCookieCharsMax ? sealed : seal({ ...attempt, target: paths.home });
      cookie.set(res, fitting, limits.browserAttemptMs);
    },
    take: (req, res, state) => {
      const text = of.sealer.open(associated, cookie.read(req) ?? "");
      const attempt = text === undefined ? undefined : attemptOf(text, of.now());
      // Any page can send this browser here, and must not thereby end a sign-in that is under way.
      if (attempt !== undefined && attempt.state !== state) return undefined;
      cookie.clear(res);
      return attempt;
    },
  };
}

/** Authentic, so our own writing. */
function attemptOf(text: string, now: number): SignInAttempt | undefined {
  const [until, ...rest] = readList(text);
  const [way, state, kept, target] = textsOf(rest);
  if (way === undefined || state === undefined || kept === undefined || target === undefined) return undefined;
  return typeof until === "number" && now < until ? { way, state, kept, target } : undefined;
}

const associated = "connect-sign-in";
