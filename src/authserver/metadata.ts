import type { ProtectedResource } from "./options.ts";
import { paths } from "./paths.ts";

/**
 * The authorization server metadata of RFC 8414 §2, one document for every place it is asked for.
 * It names what is offered and nothing else: no registered client is promised an endpoint that is
 * switched off. `scopes_supported` is what every server grants without being asked, because some
 * clients request the whole list; the library's own document would say more, so ours is written here.
 */
export function serverMetadata(publicUrl: string, resources: readonly ProtectedResource[]): Record<string, unknown> {
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + paths.authorize,
    token_endpoint: publicUrl + paths.token,
    registration_endpoint: publicUrl + paths.register,
    revocation_endpoint: publicUrl + paths.revoke,
    jwks_uri: publicUrl + paths.keys,
    scopes_supported: [...new Set(resources.flatMap((resource) => resource.minimalScopes))],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    authorization_response_iss_parameter_supported: true,
  };
}
