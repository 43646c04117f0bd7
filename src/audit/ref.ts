/** Crockford's base 32: no I, L, O, U, so that a reference survives being read aloud. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const refChars = 10;
/** Randomness for a hundred references at a time: one draw costs 2 µs whatever its size. */
const drawBytes = 100 * refChars;

/**
 * Makes short references: ten characters, 50 random bits. A reference leads to events for those who may
 * read the evidence; it is no secret and gives access to nothing.
 */
export function createRef(random: (bytes: number) => Uint8Array): () => string {
  let drawn = random(0);
  let at = 0;
  return () => {
    if (at + refChars > drawn.length) {
      drawn = random(drawBytes);
      at = 0;
    }
    let ref = "";
    for (const end = at + refChars; at < end; at += 1) ref += alphabet.charAt((drawn[at] ?? 0) & 31);
    return ref;
  };
}

/** A reference as somebody typed it: any case, hyphens and spaces, O for 0, I and L for 1. */
export function readRef(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s-]/gu, "").replaceAll("O", "0").replaceAll(/[IL]/gu, "1");
}
