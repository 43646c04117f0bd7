import { createCipheriv, createDecipheriv } from "node:crypto";

/** Encryption keys by name: the current one encrypts, every one decrypts, so that keys can be rotated. */
export interface AeadKeys {
  readonly current: AeadKey;
  readonly previous: readonly AeadKey[];
}

export interface AeadKey {
  /** Names the key in what it encrypted: letters, digits, `-` and `_`, at most 16. */
  readonly kid: string;
  /** 32 bytes. */
  readonly key: Uint8Array;
}

export interface Aead {
  /** `v1.kid.nonce.ciphertext`, the last two in base64url. `prefix` stands readable before the ciphertext, and is authentic. */
  encrypt(associated: string, prefix: Uint8Array, text: string): string;
  decrypt(associated: string, prefixBytes: number, sealed: string): Decrypted;
}

export type Decrypted =
  | { readonly ok: true; readonly prefix: Buffer; readonly text: string }
  | { readonly ok: false; readonly reason: "malformed" | "key-unknown" | "not-authentic" };

const shape = /^v1\.([A-Za-z0-9_-]{1,16})\.([A-Za-z0-9_-]{16})\.([A-Za-z0-9_-]+)$/;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce: good for 2³² texts under one key (§8.3). Whoever
 * calls bounds the length of what it encrypts and decrypts. Throws on a key that is none.
 */
export function createAead(keys: AeadKeys, random: (bytes: number) => Uint8Array): Aead {
  const all = [keys.current, ...keys.previous];
  for (const { kid, key } of all)
    if (key.byteLength !== 32 || !/^[A-Za-z0-9_-]{1,16}$/.test(kid)) throw new Error(`encryption key ${kid} is none`);
  const byKid = new Map(all.map(({ kid, key }) => [kid, key]));
  return {
    encrypt: (associated, prefix, text) => {
      const nonce = random(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", keys.current.key, nonce);
      cipher.setAAD(associatedBytes(associated, prefix));
      // As JSON text: UTF-8 alone would repair a lone surrogate, and what is opened must equal what was sealed.
      const content = [cipher.update(JSON.stringify(text), "utf8"), cipher.final(), cipher.getAuthTag()];
      return `v1.${keys.current.kid}.${encode(nonce)}.${encode(Buffer.concat([prefix, ...content]))}`;
    },
    decrypt: (associated, prefixBytes, sealed) => {
      const [, kid = "", nonceText = "", contentText = ""] = shape.exec(sealed) ?? [];
      const nonce = Buffer.from(nonceText, "base64url");
      const content = Buffer.from(contentText, "base64url");
      // One text per value: the spare bits of base64url's last character would let a handle be altered unnoticed.
      const exact = encode(nonce) === nonceText && encode(content) === contentText;
      if (!exact || content.length < prefixBytes + tagBytes) return { ok: false, reason: "malformed" };
      const key = byKid.get(kid);
      if (key === undefined) return { ok: false, reason: "key-unknown" };
      return open({ key, nonce, content, prefixBytes }, associated);
    },
  };
}

interface Parts {
  readonly key: Uint8Array;
  readonly nonce: Buffer;
  readonly content: Buffer;
  readonly prefixBytes: number;
}

function open({ key, nonce, content, prefixBytes }: Parts, associated: string): Decrypted {
  const prefix = content.subarray(0, prefixBytes);
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associatedBytes(associated, prefix));
  decipher.setAuthTag(content.subarray(-tagBytes));
  const plain = decipher.update(content.subarray(prefixBytes, -tagBytes));
  try {
    decipher.final();
  } catch {
    return { ok: false, reason: "not-authentic" };
  }
  return { ok: true, prefix, text: textOf(plain) };
}

/** Authentic, so our own writing. */
function textOf(plain: Buffer): string {
  const value: unknown = JSON.parse(plain.toString("utf8"));
  if (typeof value !== "string") throw new Error("an encrypted text is no text");
  return value;
}

/** The prefix has a fixed length for each use, so it and the associated text cannot run into each other. */
function associatedBytes(associated: string, prefix: Uint8Array): Buffer {
  return Buffer.concat([prefix, Buffer.from(associated, "utf8")]);
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");
}
