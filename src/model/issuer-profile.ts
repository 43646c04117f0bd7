/** Kinds of identity providers whose access tokens are read by their published form; see `docs/identity-providers.md`. */
export const issuerProfileNames = [
  "generic",
  "keycloak",
  "entra",
  "okta",
  "auth0",
  "cognito",
  "ping",
  "authentik",
  "kubernetes",
] as const;

export type IssuerProfileName = (typeof issuerProfileNames)[number];
