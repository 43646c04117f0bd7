import { createHash, timingSafeEqual } from "node:crypto";

const prefix = "sha256:";

/** How a generated client secret is stored. It carries 512 random bits, so a plain digest cannot be guessed back. */
export function protectSecret(secret: string): string {
  return secret.startsWith(prefix) ? secret : prefix + digest(secret).toString("base64url");
}

/** Whether `presented` is the secret `known`, which is a stored digest or the text from configuration. Constant time. */
export function isSecret(known: string, presented: string): boolean {
  const expected = known.startsWith(prefix) ? Buffer.from(known.slice(prefix.length), "base64url") : digest(known);
  const actual = digest(presented);
  return expected.byteLength === actual.byteLength && timingSafeEqual(expected, actual);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
