import { limits } from "../model/limits.ts";
import type { Subject } from "../model/principal.ts";
import type { RecordKey } from "../model/records.ts";
import { digestOf } from "./digest.ts";
import type { GrantRecords } from "./port.ts";

/**
 * Ends every sign-in of somebody so far: sessions of browsers, here and on the connect pages, codes and refresh tokens.
 * Being let in again, or vouched for anew, brings none of them back. `refreshTokenSeconds` is what sign-ins at the
 * authorization server live, 0 where there is none; `now` in milliseconds.
 */
export function endSignIns(
  records: Pick<GrantRecords, "set">,
  who: Subject,
  { now, refreshTokenSeconds }: { readonly now: number; readonly refreshTokenSeconds: number },
): Promise<void> {
  const lifeMs = Math.max(refreshTokenSeconds * 1_000, limits.oauthSignInSeconds * 1_000, limits.browserSessionMs);
  return records.set(endedKey(who), String(now), lifeMs);
}

/**
 * Whether what began at `since`, in milliseconds since the epoch, ended with its person's sign-ins. Of a moment that is
 * known to the second give its beginning: what began in the very second ended too, as nobody is let in then. What does
 * not say when it began is taken for older.
 */
export async function hasEnded(
  records: Pick<GrantRecords, "get">,
  who: Subject,
  since: number | undefined,
): Promise<boolean> {
  const ended = await records.get(endedKey(who));
  return ended !== undefined && !((since ?? 0) > Number(ended));
}

function endedKey({ tenant, issuer, subject }: Subject): RecordKey {
  return ["sign-ins-ended", tenant, digestOf(JSON.stringify([issuer, subject]))];
}
