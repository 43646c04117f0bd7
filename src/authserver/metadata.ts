import { jwtBearerGrant, type AuthServerOptions } from "./options.ts";
import { paths } from "./paths.ts";
import { clientSigningAlgorithms } from "./provider-settings.ts";

/**
 * The authorization server metadata of RFC 8414 §2, one document for every place it is asked for.
 * It names what is offered and nothing else: no registered client is promised an endpoint that is
 * switched off. `scopes_supported` is what every server grants without being asked, because some
 * clients request the whole list; the library's own document would say more, so ours is written here.
 */
export function serverMetadata(options: AuthServerOptions): Record<string, unknown> {
  const { publicUrl, resources } = options;
  const methods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];
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
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: clientSigningAlgorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: clientSigningAlgorithms,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: options.fetchPublic !== undefined,
    ...grantMetadata(options),
  };
}

/** The profile of identity assertions is told beside the grant that carries them. */
function grantMetadata({ assertionIssuers = [] }: AuthServerOptions): Record<string, unknown> {
  const grants = ["authorization_code", "refresh_token", "client_credentials"];
  if (assertionIssuers.length === 0) return { grant_types_supported: grants };
  return {
    grant_types_supported: [...grants, jwtBearerGrant],
    authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
  };
}
