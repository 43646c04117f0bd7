import { processDiscoveryResponse } from "oauth4webapi";
import type { AuthorizationServer } from "oauth4webapi";
import type { GuardedFetch } from "../egress.ts";

/** None of the well-known forms has a document. */
export class NoMetadata extends Error {
  override readonly name = "NoMetadata";
}

/** A document names another issuer than the one it was asked for (RFC 8414 §3.3). */
class OtherIssuer extends Error {
  override readonly name = "OtherIssuer";
  readonly code = "OAUTH_OTHER_ISSUER" as const;
}

/**
 * The metadata of an authorization server, from the first well-known form that has it: RFC 8414 §3.1, the
 * same insertion for OpenID Connect, and OpenID Connect Discovery §4, where the path comes first. The
 * `issuer` within must equal the configured one character by character (RFC 8414 §3.3); a document that
 * names another ends the search, since moving on would let a wrong server be tried into place. A form that
 * answers 4xx or 502, or a page in place of JSON, has no document.
 *
 * Rejects with `NoMetadata` when no form has one, `OtherIssuer`, or what the library says of an unusable one.
 */
export async function discoverIssuer(issuer: string, fetch: GuardedFetch): Promise<AuthorizationServer> {
  for (const url of metadataUrls(new URL(issuer))) {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    if ((response.status >= 400 && response.status < 500) || response.status === 502 || isPage(response)) continue;
    const metadata = await processDiscoveryResponse(new URL(issuer), response);
    if (metadata.issuer !== issuer) throw new OtherIssuer("the metadata names another issuer");
    return metadata;
  }
  throw new NoMetadata("no authorization server metadata was found");
}

function isPage(response: Response): boolean {
  return response.status === 200 && (response.headers.get("content-type") ?? "").startsWith("text/html");
}

/** The well-known URLs of an issuer, in the order in which clients try them. */
export function metadataUrls(issuer: URL): readonly URL[] {
  const path = issuer.pathname.replace(/\/$/, "");
  const inserted = ["oauth-authorization-server", "openid-configuration"].map((kind) => `/.well-known/${kind}${path}`);
  const appended = path === "" ? [] : [`${path}/.well-known/openid-configuration`];
  return [...inserted, ...appended].map((pathname) => new URL(pathname, issuer));
}
