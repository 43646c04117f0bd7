import type { Limits } from "../../model/limits.ts";
import { ok } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import { createSingleFlight } from "../single-flight.ts";
import type { CredentialHeaders } from "./credential.ts";

/** A token as it is shown, with its times in milliseconds since the epoch. */
export interface Held {
  readonly headers: CredentialHeaders;
  /** From then on another is wanted. */
  readonly renewAt: number;
  readonly endsAt: number;
}

export type Ask = () => Promise<Result<Held>>;

export type HeldTokensLimits = Pick<Limits, "upstreamCredentialsHeldMax" | "upstreamCredentialRetryMsMin">;

/** Tokens in memory, by a key that says for whom they are. */
export interface HeldTokens {
  /** One that is good for a while. */
  fresh(key: string): CredentialHeaders | undefined;
  /** One that has not ended. */
  good(key: string): CredentialHeaders | undefined;
  endsAt(key: string): number | undefined;
  /**
   * Asks for another, for all who want it at the same moment at once. After a failure the next attempt waits
   * `upstreamCredentialRetryMsMin`. What cannot be renewed just now and has not ended serves on, unless it was
   * said to be over.
   */
  obtain(key: string, ask: Ask): Promise<Result<CredentialHeaders>>;
  /** Another after `used` was not accepted. */
  renew(key: string, used: CredentialHeaders, ask: Ask): Promise<Result<CredentialHeaders>>;
}

interface Entry {
  held: Held | undefined;
  failed: { readonly until: number; readonly result: Result<never> } | undefined;
}

/** Beyond `upstreamCredentialsHeldMax` whoever was longest unused goes, and is asked for anew when needed. */
export function createHeldTokens({ now, limits }: { now: () => number; limits: HeldTokensLimits }): HeldTokens {
  const entries = new Map<string, Entry>();
  const flight = createSingleFlight<Result<CredentialHeaders>>();
  const good = (key: string): Held | undefined => {
    const held = entries.get(key)?.held;
    return held !== undefined && now() < held.endsAt ? held : undefined;
  };
  const obtain = (key: string, ask: Ask): Promise<Result<CredentialHeaders>> =>
    flight.run(key, async () => {
      const entry = entryOf(entries, key, limits.upstreamCredentialsHeldMax);
      if (entry.failed !== undefined && now() < entry.failed.until) return entry.failed.result;
      const asked = await ask();
      if (asked.ok) {
        entry.held = asked.value;
        entry.failed = undefined;
        return ok(asked.value.headers);
      }
      const last = good(key);
      if (last !== undefined && mayPass(asked)) return ok(last.headers);
      entry.failed = { until: now() + limits.upstreamCredentialRetryMsMin, result: asked };
      return asked;
    });
  return {
    fresh(key) {
      const entry = entries.get(key);
      if (entry?.held === undefined || now() >= entry.held.renewAt) return undefined;
      if (entries.size > 1) use(entries, key, entry);
      return entry.held.headers;
    },
    good: (key) => good(key)?.headers,
    endsAt: (key) => entries.get(key)?.held?.endsAt,
    obtain,
    renew(key, used, ask) {
      const entry = entries.get(key);
      // Another call may have renewed it meanwhile: then that one is tried.
      if (entry?.held !== undefined && entry.held.headers !== used) return Promise.resolve(ok(entry.held.headers));
      if (entry !== undefined) entry.held = undefined;
      return obtain(key, ask);
    },
  };
}

function entryOf(entries: Map<string, Entry>, key: string, max: number): Entry {
  const entry = entries.get(key) ?? { held: undefined, failed: undefined };
  use(entries, key, entry);
  const oldest = entries.keys().next();
  if (entries.size > max && oldest.done !== true) entries.delete(oldest.value);
  return entry;
}

function use(entries: Map<string, Entry>, key: string, entry: Entry): void {
  entries.delete(key);
  entries.set(key, entry);
}

/** An outage may pass; what the authorization server says of the request itself is meant (RFC 6749 §5.2). */
function mayPass(failed: Result<never>): boolean {
  return !failed.ok && failed.refusal.code === "UPSTREAM_CREDENTIAL_UNAVAILABLE" && !("error" in failed.refusal.facts);
}
