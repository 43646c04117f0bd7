import type { JsonObject } from "../model/json.ts";

/**
 * Where a resource's metadata is published: the well-known part goes between origin and path (RFC 9728
 * §3.1). Takes an absolute http(s) URL, which configuration has checked; throws on anything else.
 */
export function protectedResourceMetadataUrl(resource: string): string {
  const { origin, pathname, search } = new URL(resource);
  return `${origin}/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}${search}`;
}

export interface ProtectedResource {
  /** Byte-equal to the URL that users configure in their clients. */
  readonly resource: string;
  /** The one issuer that is advertised; clients read only the first. */
  readonly issuer: string;
  /** The least that is useful: some clients request all of it. */
  readonly scopes: readonly string[];
  readonly name: string;
  /** Algorithms of DPoP proofs; absent: the issuer's tokens are taken without any. */
  readonly proofAlgorithms?: readonly string[] | undefined;
  /** Tokens that are bound to no key are refused. */
  readonly needsProof?: boolean | undefined;
  /** Tokens that are bound to a client certificate are taken. */
  readonly takesCertificates?: boolean | undefined;
}

/**
 * The metadata document (RFC 9728 §2). `offline_access` is never in it: it is a client's wish towards the
 * authorization server, not a scope of this resource. Without scopes the list is left out (§3.2).
 */
export function protectedResourceMetadata(about: ProtectedResource): JsonObject {
  const scopes = about.scopes.filter((scope) => scope !== "offline_access");
  return {
    resource: about.resource,
    authorization_servers: [about.issuer],
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ["header"],
    ...(about.takesCertificates === true ? { tls_client_certificate_bound_access_tokens: true } : {}),
    ...(about.proofAlgorithms === undefined ? {} : { dpop_signing_alg_values_supported: [...about.proofAlgorithms] }),
    ...(about.needsProof === true ? { dpop_bound_access_tokens_required: true } : {}),
    resource_name: about.name,
  };
}
