import { processDiscoveryResponse } from "oauth4webapi";
import type { AuthorizationServer } from "oauth4webapi";
import type { GuardedFetch } from "../egress.ts";

/**
 * The metadata of an authorization server, from the first well-known form that has it: RFC 8414 §3.1, the
 * same insertion for OpenID Connect, and OpenID Connect Discovery §4, where the path comes first. The
 * `issuer` within must equal the configured one character by character (RFC 8414 §3.3); a document that
 * names another ends the search, since moving on would let a wrong server be tried into place.
 *
 * Rejects when no form is there or a document is unusable.
 */
export async function discoverIssuer(issuer: string, fetch: GuardedFetch): Promise<AuthorizationServer> {
  for (const url of metadataUrls(new URL(issuer))) {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    if (response.status >= 400 && response.status < 500) continue;
    const metadata = await processDiscoveryResponse(new URL(issuer), response);
    if (metadata.issuer !== issuer) throw new Error("the metadata names another issuer");
    return metadata;
  }
  throw new Error("no authorization server metadata was found");
}

/** The well-known URLs of an issuer, in the order in which clients try them. */
export function metadataUrls(issuer: URL): readonly URL[] {
  const path = issuer.pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map((kind) => `/.well-known/${kind}${path}`);
  const appended = path === "" ? [] : [`${path}/.well-known/openid-configuration`];
  return [...inserted, ...appended].map((pathname) => new URL(pathname, issuer));
}
