/** Whether a configured claim is the e-mail address, by its name or as a JSON pointer. */
export function isEmailClaim(claim: string): boolean {
  return claim === "email" || claim === "/email";
}

/**
 * A subject in the one spelling that counts. An e-mail address is taken in small letters, the part before the `@` too:
 * RFC 5321 §2.4 lets a server tell `Ada@` from `ada@`, none in use does, and providers write the address of one person
 * in both ways. Two spellings would be two people, and denying one would leave the other.
 *
 * ASCII letters alone: what a small letter of another alphabet is depends on the language, and the capital letters of
 * some (U+212A) have a small one in ASCII, so that an address which is another one would turn into somebody else's.
 * A subject of any other claim is its issuer's exact text.
 */
export function spelledSubject(claim: string, subject: string): string {
  return isEmailClaim(claim) ? subject.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) : subject;
}
