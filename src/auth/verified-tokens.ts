import type { Principal } from "../model/principal.ts";
import type { HeldToken } from "./binding.ts";
import { createRecentEntries } from "./recent-entries.ts";

/** A token that was verified a moment ago. */
export interface RememberedToken extends HeldToken {
  readonly principal: Principal;
  /** See `deniedTokenKey`. */
  readonly denyDigest: string;
  /** Whether the keys that the signature was checked under are the issuer's still. */
  readonly isCurrent: () => boolean;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface VerifiedTokens {
  get(key: string, now: number): RememberedToken | undefined;
  put(key: string, token: RememberedToken): void;
  forget(key: string): void;
}

/**
 * Remembers verified tokens, at most `entriesMax` of them; the one used longest ago goes first. A token is
 * forgotten at its `until`, and when its issuer's key set has changed since. Revocation is not seen here:
 * the deny list is read on every request, and what it denies is forgotten.
 */
export function createVerifiedTokens(entriesMax: number): VerifiedTokens {
  const tokens = createRecentEntries<RememberedToken>(entriesMax);

  function get(key: string, now: number): RememberedToken | undefined {
    const found = tokens.get(key);
    if (found === undefined || (now < found.until && found.isCurrent())) return found;
    tokens.delete(key);
    return undefined;
  }

  return {
    get,
    put: (key, token) => {
      tokens.put(key, token);
    },
    forget: (key) => {
      tokens.delete(key);
    },
  };
}
