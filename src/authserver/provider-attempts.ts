import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { limits } from "../model/limits.ts";
import { cookieNames, createCookie } from "../web/cookies.ts";
import { createSealedTexts } from "../web/sealed-texts.ts";
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

export interface BrowserExchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/**
 * Attempts live in the browser, each sealed in a cookie of its own: strangers begin them, and nothing of a stranger's is
 * kept in the store. Not checked: that one is used once; whoever takes it notes that, when the provider has answered.
 */
export function createProviderAttempts(of: {
  readonly publicUrl: string;
  readonly sealer: Sealer;
  readonly now: () => number;
}): ProviderAttempts {
  const lifeMs = limits.oauthInteractionSeconds * 1_000;
  const texts = createSealedTexts({ ...of, purpose: "provider sign-in attempt", lifeMs });
  const cookieOf = (id: string): ReturnType<typeof createCookie> => createCookie(of.publicUrl, prefix + id);
  return {
    // The time comes first, so that names say which cookie is the oldest.
    newState: () => `${of.now().toString(36)}-${secret(4)}.${secret(32)}`,
    keep: ({ req, res }, state, { uid, kept }) => {
      const known = cookieNames(req, of.publicUrl, prefix).toSorted();
      const beyond = known.slice(0, Math.max(known.length + 1 - limits.oauthProviderAttemptsMax, 0));
      for (const name of beyond) createCookie(of.publicUrl, name).clear(res);
      cookieOf(idOf(state)).set(res, texts.seal([state, uid, kept]), lifeMs);
    },
    take: ({ req, res }, state) => {
      const cookie = cookieOf(idOf(state));
      const [sealedState, uid, kept] = texts.open(cookie.read(req) ?? "");
      if (sealedState !== state || uid === undefined || kept === undefined) return undefined;
      cookie.clear(res);
      return { uid, kept };
    },
  };
}

const prefix = "sallyport_provider_";
const shape = /^([a-z0-9]{1,12}-[\w-]{6})\.[\w-]{43}$/;

/** Part of a cookie's name. What is no state of ours has a name under which there is none. */
function idOf(state: string): string {
  return shape.exec(state)?.[1] ?? "none";
}

function secret(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}
