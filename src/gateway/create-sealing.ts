import { createAead, type AeadKeys } from "./aead.ts";
import type { Bound, Sealing } from "./sealing.ts";

export interface SealingOptions {
  readonly keys: AeadKeys;
  /** Cryptographically random bytes. */
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Characters of a handle; a longer one is neither made nor looked at. */
  readonly sealedHandleCharsMax: number;
}

const expiryBytes = 6;

/**
 * Seals with AES-256-GCM. The expiry (milliseconds since the epoch) stands readable at the head of the
 * ciphertext and is authentic like every field of `Bound`, which is associated data: a JSON list of strings in
 * the order of the fields, so that no two bounds read alike. `seal` throws on a text that makes too long a
 * handle: whoever seals what a peer sent bounds it first. A handle can be opened as often as one likes until it
 * expires: single use is the business of whoever needs it.
 */
export function createSealing({ keys, random, now, sealedHandleCharsMax }: SealingOptions): Sealing {
  const aead = createAead(keys, random);
  return {
    seal: (bound, text, ttlMs) => {
      const handle = aead.encrypt(associatedText(bound), writeExpiry(now() + ttlMs), text);
      if (handle.length > sealedHandleCharsMax) throw new RangeError(`a handle of ${handle.length} characters`);
      return handle;
    },
    open: (bound, handle) => {
      if (handle.length > sealedHandleCharsMax) return { ok: false, reason: "malformed" };
      const opened = aead.decrypt(associatedText(bound), expiryBytes, handle);
      if (!opened.ok) return { ok: false, reason: opened.reason === "not-authentic" ? "not-for-this" : opened.reason };
      const expiresAt = opened.prefix.readUIntBE(0, expiryBytes);
      return expiresAt > now() ? { ok: true, text: opened.text, expiresAt } : { ok: false, reason: "expired" };
    },
  };
}

function associatedText({ purpose, tenant, server, principalKey, upstream, item, args }: Bound): string {
  return JSON.stringify([purpose, tenant, server, principalKey, upstream, item, args]);
}

function writeExpiry(expiresAt: number): Buffer {
  const bytes = Buffer.alloc(expiryBytes);
  bytes.writeUIntBE(Math.floor(expiresAt), 0, expiryBytes);
  return bytes;
}
