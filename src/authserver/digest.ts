import { createHash } from "node:crypto";

/** What stands in the store in the place of an id: whoever reads it there can present nothing. */
export function digestOf(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}
