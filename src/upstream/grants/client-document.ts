/**
 * The client id metadata document (draft-ietf-oauth-client-id-metadata-document) under which authorization servers
 * of upstreams know this gateway. Its `client_id` is the URL it stands at. The client is public: what ties an
 * answer to the gateway is the redirect URI and PKCE.
 */
export function clientDocument(of: {
  readonly url: string;
  readonly name: string;
  readonly home: string;
  readonly redirectUris: readonly string[];
}): Record<string, unknown> {
  return {
    client_id: of.url,
    client_name: of.name,
    client_uri: of.home,
    redirect_uris: [...of.redirectUris],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    application_type: "web",
    token_endpoint_auth_method: "none",
  };
}
