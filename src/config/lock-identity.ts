import type { UpstreamConfig } from "./types.ts";

/**
 * An upstream as the catalog lock knows it: where it is dialled and who vouches for the gateway there. Without the
 * URL's query, in which some upstreams take a secret, since the lock stands in version control.
 */
export function lockIdentityOf({ url, credential }: Pick<UpstreamConfig, "url" | "credential">): {
  readonly url: string;
  readonly authorization: string;
} {
  const { origin, pathname } = new URL(url);
  const issuer = "issuer" in credential ? credential.issuer : undefined;
  return { url: origin + pathname, authorization: issuer ?? credential.type };
}
