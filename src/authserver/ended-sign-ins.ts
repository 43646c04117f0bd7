import { createHash } from "node:crypto";
import { limits } from "../model/limits.ts";
import type { RecordKey } from "../model/records.ts";
import type { GrantRecords } from "./port.ts";

/**
 * Ends every sign-in of somebody so far: sessions of browsers, codes and refresh tokens. Being let in again, or vouched
 * for anew, brings none of them back. `refreshTokenSeconds` is what sign-ins live; `now` in milliseconds.
 */
export function endSignIns(
  records: Pick<GrantRecords, "set">,
  subject: string,
  { now, refreshTokenSeconds }: { readonly now: number; readonly refreshTokenSeconds: number },
): Promise<void> {
  const lifeSeconds = Math.max(refreshTokenSeconds, limits.oauthSignInSeconds);
  return records.set(endedKey(subject), String(now), lifeSeconds * 1_000);
}

/**
 * Whether what began at `since`, in seconds since the epoch, ended with its person's sign-ins. What began in the very
 * second did too: nobody is let in then. What does not say when it began is taken for older.
 */
export async function hasEnded(
  records: Pick<GrantRecords, "get">,
  subject: string,
  since: number | undefined,
): Promise<boolean> {
  const ended = await records.get(endedKey(subject));
  return ended !== undefined && !((since ?? 0) > Math.floor(Number(ended) / 1_000));
}

function endedKey(subject: string): RecordKey {
  return ["oauthEnded", "default", createHash("sha256").update(subject).digest("base64url")];
}
