import type { Principal } from "../model/principal.ts";
import type { IssuerKeys } from "./issuer-keys.ts";

/** A token that was verified a moment ago. */
export interface RememberedToken {
  readonly principal: Principal;
  /** See `deniedTokenKey`. */
  readonly denyDigest: string;
  readonly keys: IssuerKeys;
  readonly generation: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

export interface VerifiedTokens {
  get(key: string, now: number): RememberedToken | undefined;
  put(key: string, token: RememberedToken): void;
}

/**
 * Remembers verified tokens, at most `entriesMax` of them; the one used longest ago goes first. A token is
 * forgotten at its `until`, and when its issuer's key set has changed since. Revocation is not seen here:
 * the deny list is read on every request.
 */
export function createVerifiedTokens(entriesMax: number): VerifiedTokens {
  // A Map keeps insertion order; putting an entry in again makes it the youngest.
  const tokens = new Map<string, RememberedToken>();

  function get(key: string, now: number): RememberedToken | undefined {
    const found = tokens.get(key);
    if (found === undefined) return undefined;
    tokens.delete(key);
    if (now >= found.until || found.keys.generation() !== found.generation) return undefined;
    tokens.set(key, found);
    return found;
  }

  function put(key: string, token: RememberedToken): void {
    tokens.delete(key);
    tokens.set(key, token);
    for (const oldest of tokens.keys()) {
      if (tokens.size <= entriesMax) break;
      tokens.delete(oldest);
    }
  }

  return { get, put };
}
