import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Refused, Result } from "../model/result.ts";
import { fits, signingKeys } from "./signing-key.ts";
import type { SigningKey } from "./signing-key.ts";

export type IssuerKeyLimits = Pick<
  Limits,
  | "issuerKeysMax"
  | "issuerKeysAgeMsMax"
  | "issuerKeysStaleMsMax"
  | "issuerKeysRefetchMsMin"
  | "issuerKeysRetryMsMin"
  | "issuerKeysTriedMax"
>;

export interface IssuerKeysOptions {
  readonly alias: string;
  /** Loads the issuer's JWK Set, within a time of its own; rejects when it cannot. */
  readonly load: () => Promise<JsonObject>;
  readonly limits: IssuerKeyLimits;
}

export interface WantedKey {
  readonly kid: string | undefined;
  readonly algorithm: string;
}

export interface IssuerKeys {
  /**
   * The keys to try, at most `issuerKeysTriedMax`. Refuses AUTH_KEY_UNKNOWN, and AUTH_ISSUER_UNAVAILABLE
   * when no answer can be given because keys could not be fetched. Never rejects. `now` in milliseconds.
   */
  find(wanted: WantedKey, now: number): Promise<Result<readonly SigningKey[]>>;
  /** Grows whenever a fetch brings another key set than the one before. */
  generation(): number;
}

interface State {
  keys: readonly SigningKey[];
  fingerprint: string;
  generation: number;
  /** When `keys` was last fetched, and when a fetch was last begun. */
  fetchedAt: number;
  attemptedAt: number;
  /** When an unknown `kid` last provoked a fetch. */
  provokedAt: number;
  /** Why the latest fetch failed; undefined after a good one. */
  failure: Error | undefined;
  underWay: Promise<void> | undefined;
}

/**
 * One issuer's keys: fetched when first needed, anew when older than `issuerKeysAgeMsMax` or when a token
 * names a key that is not among them. Concurrent callers share one fetch.
 *
 * - *Slow or down:* known keys stay trusted until `issuerKeysStaleMsMax` after their last good fetch;
 *   meanwhile a fetch is tried every `issuerKeysRetryMsMin` and only the first failing one is waited for.
 * - *Strangers:* unknown `kid`s provoke one fetch per `issuerKeysRefetchMsMin`, whatever their number. So a
 *   stranger can delay a rotated key by that much; issuers publish keys before they sign with them.
 * - *Lying:* whoever serves the key set decides who is trusted. An empty set is believed.
 */
export function createIssuerKeys({ alias, load, limits }: IssuerKeysOptions): IssuerKeys {
  const state: State = {
    keys: [],
    fingerprint: "",
    generation: 0,
    fetchedAt: -Infinity,
    attemptedAt: -Infinity,
    provokedAt: -Infinity,
    failure: undefined,
    underWay: undefined,
  };

  /** Never rejects: a failure is part of the state. */
  function fetchOnce(now: number): Promise<void> {
    state.underWay ??= fetchKeys(now).finally(() => {
      state.underWay = undefined;
    });
    return state.underWay;
  }

  async function fetchKeys(now: number): Promise<void> {
    state.attemptedAt = now;
    try {
      replaceKeys(state, signingKeys(await load(), limits.issuerKeysMax), now);
    } catch (cause) {
      state.failure = new Error(`the keys of issuer ${alias} could not be fetched`, { cause });
    }
  }

  async function ensureCurrent(now: number): Promise<void> {
    const age = now - state.fetchedAt;
    if (age < limits.issuerKeysAgeMsMax) return;
    const resting = state.failure !== undefined && now - state.attemptedAt < limits.issuerKeysRetryMsMin;
    if (resting && state.underWay === undefined) return;
    const fetched = fetchOnce(now);
    const usable = age < limits.issuerKeysStaleMsMax;
    if (state.failure === undefined || !usable) await fetched;
  }

  async function refetchForUnknown(now: number): Promise<void> {
    if (state.underWay !== undefined) return state.underWay;
    if (state.fetchedAt === now || now - state.provokedAt < limits.issuerKeysRefetchMsMin) return;
    state.provokedAt = now;
    await fetchOnce(now);
  }

  function unavailable(): Refused {
    return refuse("AUTH_ISSUER_UNAVAILABLE", { issuer: alias }, { cause: state.failure });
  }

  async function find(wanted: WantedKey, now: number): Promise<Result<readonly SigningKey[]>> {
    await ensureCurrent(now);
    if (now - state.fetchedAt >= limits.issuerKeysStaleMsMax) return unavailable();
    if (matching(state.keys, wanted).length === 0) await refetchForUnknown(now);
    const found = matching(state.keys, wanted).slice(0, limits.issuerKeysTriedMax);
    if (found.length > 0) return ok(found);
    return state.failure === undefined ? refuse("AUTH_KEY_UNKNOWN", { issuer: alias }) : unavailable();
  }

  return { find, generation: () => state.generation };
}

function replaceKeys(state: State, keys: readonly SigningKey[], now: number): void {
  const fingerprint = JSON.stringify(keys);
  // The same objects are kept while nothing changed: imported keys are remembered by object.
  if (fingerprint !== state.fingerprint) {
    state.keys = keys;
    state.fingerprint = fingerprint;
    state.generation += 1;
  }
  state.fetchedAt = now;
  state.failure = undefined;
}

/** Without a `kid` (RFC 7515 §4.1.4: optional) every key of the algorithm's family is a candidate. */
function matching(keys: readonly SigningKey[], { kid, algorithm }: WantedKey): readonly SigningKey[] {
  return keys.filter((key) => fits(key, algorithm) && (kid === undefined || key.kid === kid));
}
