import { createHmac } from "node:crypto";

export interface DigestKey {
  /** Names the key in events, so that digests under different keys are never compared. */
  readonly kid: string;
  /** At least 32 bytes. */
  readonly key: Uint8Array;
}

export interface KeyedDigest {
  /** HMAC-SHA-256, hex. */
  readonly digest: string;
  readonly key: string;
}

/**
 * Digests of arguments and results for evidence. They are keyed because content is often guessable: a
 * plain hash of `{"amount":100}` is as good as the text. Equal texts have equal digests under one key, so
 * evidence shows that two calls carried the same thing and not what.
 *
 * Throws `RangeError` for a key shorter than 32 bytes (RFC 2104 §3 discourages keys shorter than the hash).
 */
export function createDigester({ kid, key }: DigestKey): (text: string) => KeyedDigest {
  if (key.byteLength < 32) throw new RangeError("a digest key has at least 32 bytes");
  return (text) => ({ digest: createHmac("sha256", key).update(text, "utf8").digest("hex"), key: kid });
}
