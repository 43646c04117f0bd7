/** Crockford's base 32: no I, L, O, U, so that a reference survives being read aloud. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const refChars = 10;

/**
 * Makes short references: ten characters, 50 random bits. A reference leads to events for those who may
 * read the evidence; it is no secret and gives access to nothing.
 */
export function createRef(random: (bytes: number) => Uint8Array): () => string {
  return () => Array.from(random(refChars), (byte) => alphabet.charAt(byte & 31)).join("");
}

/** A reference as somebody typed it: any case, hyphens and spaces, O for 0, I and L for 1. */
export function readRef(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s-]/gu, "").replaceAll("O", "0").replaceAll(/[IL]/gu, "1");
}
