import { limits } from "../model/limits.ts";

/**
 * How long a document is taken as read: `max-age` of its `Cache-Control` (RFC 9111 §5.2.2.1), within a minute and
 * an hour. `no-store` and the like mean the least of it, since every sign-in asks for the document several times.
 */
export function documentAgeMs(headers: Headers): number {
  const control = headers.get("cache-control") ?? "";
  if (/(?:^|[,\s])no-(?:store|cache)(?:$|[,\s=])/i.test(control)) return limits.oauthClientDocumentAgeMsMin;
  const seconds = /(?:^|[,\s])max-age\s*=\s*"?(\d{1,10})/i.exec(control)?.[1];
  const wanted = seconds === undefined ? limits.oauthClientDocumentAgeMs : Number(seconds) * 1_000;
  return Math.min(Math.max(wanted, limits.oauthClientDocumentAgeMsMin), limits.oauthClientDocumentAgeMsMax);
}
