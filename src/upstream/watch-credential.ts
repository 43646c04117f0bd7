import { refuse } from "../model/refusal.ts";
import type { CredentialHeaders } from "./credentials/credential.ts";
import type { Link } from "./link.ts";
import type { OnAccountOf } from "./port.ts";
import type { StreamEnd } from "./watch-connection.ts";
import type { OpenStream } from "./watch-stream.ts";

type Opening = Pick<OpenStream, "over" | "fail">;

/**
 * Opens a stream with the account's credential, and once more with a renewed one after a 401, as `deliver`
 * does for messages. It ends with the credential: what goes on after that needs one that is good. Never rejects.
 */
export async function withCredential(
  link: Pick<Link, "credential" | "now">,
  account: OnAccountOf,
  open: (credential: CredentialHeaders) => Opening,
): Promise<StreamEnd> {
  const { credential } = link;
  const held = await credential.headers(account);
  if (!held.ok) return { kind: "lost", refusal: held.refusal };
  const end = await whileGood(link, account, open(held.value));
  if (end.kind !== "refused" || end.status !== 401 || credential.renew === undefined) return end;
  const renewed = await credential.renew(account, held.value);
  if (!renewed.ok) return { kind: "lost", refusal: renewed.refusal };
  return whileGood(link, account, open(renewed.value));
}

async function whileGood(
  { credential, now }: Pick<Link, "credential" | "now">,
  account: OnAccountOf,
  stream: Opening,
): Promise<StreamEnd> {
  const endsAt = credential.endsAt?.(account);
  if (endsAt === undefined) return stream.over;
  const expire = (): void => {
    stream.fail(refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { reason: "expired" }).refusal);
  };
  // A later end than a timer can hold is not lived to see by a stream.
  const timer = setTimeout(expire, Math.min(endsAt - now(), timerMsMax));
  return stream.over.finally(() => {
    clearTimeout(timer);
  });
}

const timerMsMax = 2_147_483_647;
