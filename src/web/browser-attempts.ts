import type { IncomingMessage, ServerResponse } from "node:http";
import { cookieNames, createCookie } from "./cookies.ts";
import { createSealedTexts, type Sealer } from "./sealed-texts.ts";

/** What a browser has under way elsewhere and comes back from with a state: each by itself, several at a time. */
export interface BrowserAttempts {
  /** A state for an attempt that begins now: it names the attempt's cookie, and nobody can guess it. */
  newState(): string;
  /**
   * Keeps these texts with the browser; beyond `attemptsMax` the oldest attempt is forgotten. False, and nothing is kept,
   * where the cookie would be of more than `cookieCharsMax` characters.
   */
  keep(exchange: BrowserExchange, state: string, texts: readonly string[]): boolean;
  /**
   * The texts of the attempt with this state, which the browser that sent the request then forgets. None in any other
   * browser, for another state, and after `lifeMs`.
   */
  take(exchange: BrowserExchange, state: string): readonly string[];
}

export interface BrowserExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

export interface BrowserAttemptsOptions {
  readonly publicUrl: string;
  readonly sealer: Sealer;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** What the texts are sealed for, and how the cookies' names begin. */
  readonly purpose: string;
  readonly cookiePrefix: string;
  readonly lifeMs: number;
  readonly attemptsMax: number;
  readonly cookieCharsMax: number;
}

/**
 * Attempts live in the browser, each sealed in a cookie of its own: strangers begin them, and nothing of a stranger's is
 * kept in the store. Not checked: that one is used once, since the browser may send its cookie again.
 */
export function createBrowserAttempts(of: BrowserAttemptsOptions): BrowserAttempts {
  const texts = createSealedTexts(of);
  const cookieOf = (id: string): ReturnType<typeof createCookie> => createCookie(of.publicUrl, of.cookiePrefix + id);
  const secret = (bytes: number): string => Buffer.from(of.random(bytes)).toString("base64url");
  return {
    // The time comes first, so that names say which cookie is the oldest.
    newState: () => `${of.now().toString(36)}-${secret(4)}.${secret(32)}`,
    keep: ({ req, res }, state, kept) => {
      const sealed = texts.seal([state, ...kept]);
      if (sealed.length > of.cookieCharsMax) return false;
      const known = cookieNames(req, of.publicUrl, of.cookiePrefix).toSorted();
      const beyond = known.slice(0, Math.max(known.length + 1 - of.attemptsMax, 0));
      for (const name of beyond) createCookie(of.publicUrl, name).clear(res);
      cookieOf(idOf(state)).set(res, sealed, of.lifeMs);
      return true;
    },
    take: ({ req, res }, state) => {
      const cookie = cookieOf(idOf(state));
      const [sealedState, ...kept] = texts.open(cookie.read(req) ?? "");
      if (sealedState !== state) return [];
      cookie.clear(res);
      return kept;
    },
  };
}

const shape = /^([a-z0-9]{1,12}-[\w-]{6})\.[\w-]{43}$/;

/** Part of a cookie's name. What is no state of ours has a name under which there is none. */
function idOf(state: string): string {
  return shape.exec(state)?.[1] ?? "none";
}
