/**
 * Handles that a client keeps for the gateway: request states, cursors, task ids. Their content is encrypted and
 * bound to what they were made for, so that nobody reads, alters, lends or carries one elsewhere.
 */
export interface Sealing {
  /** `v1.kid.nonce.ciphertext`, good for `ttlMs`. */
  seal(bound: Bound, text: string, ttlMs: number): string;
  /** The text of a handle that was made for exactly this, or why not. */
  open(bound: Bound, handle: string): Opened;
}

/** What a handle is bound to, as associated data of the encryption. Every field counts, in this order. */
export interface Bound {
  readonly purpose: "request-state" | "cursor" | "task" | "link";
  readonly tenant: string;
  readonly server: string;
  readonly principalKey: string;
  /** Empty where a handle is not about one upstream, item or set of arguments. */
  readonly upstream: string;
  readonly item: string;
  readonly args: string;
}

export type Opened =
  | { readonly ok: true; readonly text: string; readonly expiresAt: number }
  | { readonly ok: false; readonly reason: "malformed" | "key-unknown" | "not-for-this" | "expired" };
