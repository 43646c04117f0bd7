import type { RecordReads, RecordSets, RecordTrims, RecordWrites } from "../model/records.ts";

/** What the built-in authorization server needs of a store: codes, grants, clients, sessions, keys. */
export type GrantRecords = RecordReads & RecordWrites & RecordSets & RecordTrims;

/** `fetch` behind the egress guard: no redirects, no addresses inside, bounded in bytes and time. */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Authenticated encryption of what rests in the store; opens what older keys sealed too. */
export interface Sealer {
  seal(associated: string, text: string): string;
  /** Undefined for what was not sealed by a known key under the same associated text. */
  open(associated: string, sealed: string): string | undefined;
}

/** Somebody as the company's OpenID provider describes them. */
export interface ProviderPerson {
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly email?: string | undefined;
  /** The provider's refresh token, where it gave one. It rests sealed and is handed to `recheck` alone. */
  readonly refresh?: string | undefined;
  /** The ID token as the provider signed it, where something is asserted with it. It rests sealed. */
  readonly idToken?: string | undefined;
}

/** One sign-in at the provider: where it returns to, and the random text that it returns with. */
export interface ProviderAttempt {
  readonly redirectUri: string;
  readonly state: string;
}

export type ProviderBegun =
  { readonly ok: true; readonly url: string; readonly kept: string } | { readonly ok: false; readonly reason: string };

/**
 * `declined`: the provider answered with an error, whose OAuth code is `detail`. `refused`: its answer does
 * not hold. `unavailable`: it could not be asked.
 */
export type ProviderFinished =
  | { readonly ok: true; readonly person: ProviderPerson }
  | { readonly ok: false; readonly reason: "declined" | "refused" | "unavailable"; readonly detail?: string };

/**
 * `gone`: the provider no longer honours the sign-in. `unreadable`: it answered, and the answer does not hold.
 * `unavailable`: it could not be asked, or answered that it cannot say; `refresh` is what counts next where it gave
 * a new refresh token before.
 */
export type ProviderRechecked =
  | { readonly kind: "there"; readonly person: ProviderPerson }
  | { readonly kind: "gone" | "unreadable" }
  | { readonly kind: "unavailable"; readonly refresh?: string | undefined };

/**
 * Sign-in at the company's OpenID provider instead of with passwords of ours. It checks what a relying party
 * checks: issuer, `iss`, PKCE, nonce, the ID token. Who the browser is that returns is checked here, not there.
 */
export interface ProviderSignIn {
  /** `kept` is what `finish` needs again, such as verifier and nonce; it rests sealed until then. */
  begin(attempt: ProviderAttempt & { readonly loginHint: string | undefined }): Promise<ProviderBegun>;
  finish(
    attempt: ProviderAttempt & { readonly kept: string; readonly parameters: URLSearchParams },
  ): Promise<ProviderFinished>;
  /** How long one replica asks about one person while the others wait: longer than `recheck` and what surrounds it can take. */
  readonly recheckLockMs: number;
  /** Whether the person is still there, and in which groups. Of two calls at once for one token, one may fail. */
  recheck(refresh: string): Promise<ProviderRechecked>;
}
