import type { Result } from "../../model/result.ts";
import type { OnAccountOf } from "../port.ts";

/** Header names and values in turn, as undici takes them. */
export type CredentialHeaders = readonly string[];

/**
 * What the gateway shows an upstream, for one account after the other. Which kind it is, configuration alone
 * chooses; of a caller it depends on who that is, and only token exchange looks at the caller's token, to have
 * it exchanged for another (design, decision 8).
 */
export interface Credential {
  /**
   * Differs whenever the identity that would be presented differs; part of every key that depends on it. It
   * outlives the single token: an upstream session does not end because a token was renewed.
   */
  generation(account: OnAccountOf): string;
  /**
   * Synchronous when it is at hand. Refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE, UPSTREAM_CONNECTION_REQUIRED
   * where the caller has to act, and UPSTREAM_ADDRESS_FORBIDDEN from the egress guard.
   */
  headers(account: OnAccountOf): Result<CredentialHeaders> | Promise<Result<CredentialHeaders>>;
  /** Another credential after the upstream answered 401 to `used`. Absent where there is no other. */
  renew?(account: OnAccountOf, used: CredentialHeaders): Promise<Result<CredentialHeaders>>;
  /** What a 403 with this challenge comes to; undefined where nothing better can be said than that it was refused. */
  forbidden?(account: OnAccountOf, challenge: string | undefined): Promise<Result<never> | undefined>;
  /**
   * When what the account was given last ends, in milliseconds since the epoch: a stream that was opened with it
   * ends then too. Absent, or undefined: streams need not care.
   */
  endsAt?(account: OnAccountOf): number | undefined;
}
