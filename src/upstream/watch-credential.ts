import type { CredentialHeaders } from "./credentials/credential.ts";
import type { Link } from "./link.ts";
import type { StreamEnd } from "./watch-connection.ts";

/**
 * Opens a stream with the upstream's credential, and once more with a renewed one after a 401, as `deliver`
 * does for messages. Never rejects.
 */
export async function withCredential(
  link: Pick<Link, "credential">,
  open: (credential: CredentialHeaders) => Promise<StreamEnd>,
): Promise<StreamEnd> {
  const held = await link.credential.headers();
  if (!held.ok) return { kind: "lost", refusal: held.refusal };
  const end = await open(held.value);
  if (end.kind !== "refused" || end.status !== 401 || link.credential.renew === undefined) return end;
  const renewed = await link.credential.renew(held.value);
  return renewed.ok ? open(renewed.value) : { kind: "lost", refusal: renewed.refusal };
}
