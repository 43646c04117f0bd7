import type { Json } from "../../model/json.ts";
import { digestOf } from "../../protocol/json/canonical.ts";

const prefix = "sha256:";

/** A digest as the lock has it: what was hashed, and how, is said with it. Over RFC 8785, so layout counts for nothing. */
export function lockDigest(value: Json): string {
  return asLockDigest(digestOf(value));
}

/** The catalog's own digest of an item (hex), as the lock has it. */
export function asLockDigest(hex: string): string {
  return prefix + hex;
}
