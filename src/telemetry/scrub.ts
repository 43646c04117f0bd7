/** What stands where something was taken out. */
export const redacted = "[redacted]";

/**
 * Takes what looks like a credential out of text from elsewhere: credentials after an authentication
 * scheme, JWTs, user information and queries of URLs, values after secret-looking names, and long runs
 * that mix letters and digits (opaque tokens, keys). Digests go too: a foreign text has none we need.
 *
 * The text is cut to `charsMax` first, and no pattern has nested repetition, so the native engine's work
 * is bounded. This is the second line of defence. The first is that secrets are not handed to the log: a
 * short password inside a sentence passes here.
 */
export function scrubForeign(text: string, charsMax: number): string {
  return scrub(text, charsMax).replaceAll(/\b(?=[\w-]{0,64}?\d)(?=[\w-]{0,64}?[A-Za-z])[\w-]{24,}/gu, redacted);
}

/** `scrubForeign` for text of our own, in which digests, ids and references stay readable. */
export function scrub(text: string, charsMax: number): string {
  return text
    .slice(0, charsMax)
    .replaceAll(/\b(bearer|basic|dpop)\s+[^\s"',]+/giu, `$1 ${redacted}`)
    .replaceAll(/\beyJ[\w-]+(?:\.[\w-]*)*/gu, redacted)
    .replaceAll(/:\/\/[^/\s@"']*@/gu, `://${redacted}@`)
    .replaceAll(/(:\/\/[^\s?#"']*)\?[^\s"']*/gu, `$1?${redacted}`)
    .replaceAll(secretAssignment, `$1${redacted}`);
}

const secretWords = "authorization|cookie|password|passwd|secret|token|api[_-]?key|credential|assertion|code_verifier";
const secretAssignment = new RegExp(`((?:${secretWords})["']?\\s*[=:]\\s*["']?)(?!\\[redacted\\])[^\\s"',;&}]+`, "giu");
const secretName = new RegExp(`(?:${secretWords})$`, "iu");

/** True for a name whose value is a secret by its name: `clientSecret`, `access_token`, `Cookie`. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}
