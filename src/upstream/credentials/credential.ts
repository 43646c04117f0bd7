import type { Result } from "../../model/result.ts";

/** Header names and values in turn, as undici takes them. */
export type CredentialHeaders = readonly string[];

/**
 * What the gateway shows an upstream of itself. It is chosen by configuration alone: nothing that a caller
 * sends can get here, so a caller's token cannot either (design, decision 8).
 */
export interface Credential {
  /** Differs whenever the identity that would be presented differs; part of every key that depends on it. */
  readonly generation: string;
  /** Synchronous when it is at hand. Refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE. */
  headers(): Result<CredentialHeaders> | Promise<Result<CredentialHeaders>>;
  /** Another credential after the upstream answered 401 to `used`. Absent where there is no other. */
  renew?(used: CredentialHeaders): Promise<Result<CredentialHeaders>>;
}
