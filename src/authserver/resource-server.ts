import type { ResourceServer } from "oidc-provider";
import type { AuthServerOptions, ProtectedResource } from "./options.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** What the library is told of a server: tokens for it are signed JWTs (RFC 9068) with it as their one audience. */
export function resourceServerInfo(
  scopes: readonly string[],
  resource: ProtectedResource,
  { options, signing }: { readonly options: AuthServerOptions; readonly signing: SigningKeys },
): ResourceServer {
  return {
    scope: scopes.join(" "),
    audience: resource.uri,
    accessTokenFormat: "jwt",
    accessTokenTTL: options.accessTokenSeconds,
    jwt: { sign: { alg: signing.alg, kid: signing.kid } },
  };
}
