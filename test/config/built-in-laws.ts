/** What breaks a rule, the one place it is reported at, and the nearest thing that does not break it. */
export interface Law {
  readonly rule: string;
  readonly at: string;
  readonly broken: readonly Change[];
  readonly held: readonly Change[];
}

export type Change = readonly [path: string, value: unknown];

const secret = "${env:SECRET}";
const users = [{ username: "ada", password: secret }];
const service = { clientId: "batch", clientSecret: secret };
const app = { clientId: "app", redirectUris: ["https://app.example.com/cb"] };
const asserting = { clientId: "desk", clientSecret: secret, grants: ["identityAssertion"] };
const okta = { alias: "okta", issuer: "https://id.example.com" };
const provider = { issuer: "https://id.example.com", clientId: "gateway", clientSecret: secret };
const supported: Change = ["servers.support.scopes", { supported: ["crm:read"] }];

/** A law about `auth.builtIn`. */
function law(rule: string, at: string, broken: object, held: object): Law {
  return {
    rule,
    at: `auth.builtIn${at}`,
    broken: [["auth.builtIn", broken], supported],
    held: [["auth.builtIn", held], supported],
  };
}

const unsafeRedirects = [
  "http://app.example.com/cb",
  "http://localhost.example.com/cb",
  "javascript:alert(1)",
  "https://u:p@app.example.com/cb",
  "https://app.example.com/cb#x",
  "https://*.example.com/cb",
  "/cb",
];

/** The laws of the built-in authorization server that are about scopes, clients, and providers. */
export const builtInLaws: readonly Law[] = [
  law(
    "permittedScopesAreSupported",
    ".users[0].scopes",
    { users: [{ ...users[0], scopes: ["crm:raed"] }] },
    { users: [{ ...users[0], scopes: ["crm:read"] }] },
  ),
  law(
    "permittedScopesAreSupported",
    ".scopesByGroup.support",
    { users, scopesByGroup: { support: ["crm:raed"] } },
    { users, scopesByGroup: { support: ["crm:read"], "*": [] } },
  ),
  law("providerStandsInForUsers", ".users", { users, provider }, { provider }),
  law(
    "providerUrlsAreUsable",
    ".provider.issuer",
    { provider: { ...provider, issuer: "http://127.0.0.1:9000" } },
    { provider: { ...provider, issuer: "http://127.0.0.1:9000", addresses: "loopback" } },
  ),
  law(
    "providerUrlsAreUsable",
    ".assertionIssuers[0].jwksUri",
    { users, assertionIssuers: [{ ...okta, jwksUri: "http://id.example.com/keys" }] },
    { users, assertionIssuers: [{ ...okta, jwksUri: "https://id.example.com/keys" }] },
  ),
  law("clientsCanProveThemselves", ".clients[0]", { clients: [{ clientId: "batch" }] }, { clients: [service] }),
  law(
    "clientsCanProveThemselves",
    ".clients[0]",
    { clients: [{ ...service, jwks: "${env:PUBLIC_JWKS}" }] },
    { clients: [{ clientId: "batch", jwks: "${env:PUBLIC_JWKS}" }] },
  ),
  law(
    "clientsCanProveThemselves",
    ".clients[0]",
    { clients: [{ ...app, grants: ["authorizationCode", "clientCredentials"] }] },
    { clients: [app] },
  ),
  ...["PRIVATE_JWKS", "OCT_JWKS", "SECRET"].map((name) =>
    law(
      "clientKeysArePublic",
      ".clients[0].jwks",
      { clients: [{ clientId: "batch", jwks: `\${env:${name}}` }] },
      { clients: [{ clientId: "batch", jwks: "${env:PUBLIC_JWKS}" }] },
    ),
  ),
  ...unsafeRedirects.map((uri) =>
    law(
      "clientRedirectsAreSafe",
      ".clients[0].redirectUris[1]",
      { clients: [{ ...app, redirectUris: [...app.redirectUris, uri] }] },
      { clients: [{ ...app, redirectUris: [...app.redirectUris, "http://127.0.0.1/cb", "com.example.app:/cb"] }] },
    ),
  ),
  law(
    "clientGrantsHaveTheirMeans",
    ".clients[0].redirectUris",
    { clients: [{ ...service, grants: ["authorizationCode"] }] },
    { clients: [{ ...service, ...app, grants: ["authorizationCode"] }] },
  ),
  law(
    "clientGrantsHaveTheirMeans",
    ".clients[0].redirectUris",
    { clients: [{ ...app, clientSecret: secret, grants: ["clientCredentials"] }] },
    { clients: [{ ...app, clientSecret: secret, grants: ["clientCredentials", "authorizationCode"] }] },
  ),
  law(
    "clientGrantsHaveTheirMeans",
    ".clients[0].grants",
    { clients: [asserting] },
    { clients: [asserting], assertionIssuers: [okta] },
  ),
  law(
    "assertionClientsHaveTheGrant",
    ".assertionIssuers[0].clients[0]",
    { clients: [service], assertionIssuers: [{ ...okta, clients: ["batch"] }] },
    { clients: [asserting], assertionIssuers: [{ ...okta, clients: ["desk"] }] },
  ),
  law(
    "assertionIssuersAreUnique",
    ".assertionIssuers[1].issuer",
    { users, assertionIssuers: [okta, { ...okta, alias: "other" }] },
    { users, assertionIssuers: [okta, { alias: "other", issuer: "https://id2.example.com" }] },
  ),
  law(
    "assertionIssuersAreUnique",
    ".assertionIssuers[0].issuer",
    { users, assertionIssuers: [{ ...okta, issuer: "https://mcp.example.com" }] },
    { users, assertionIssuers: [okta] },
  ),
  law(
    "issuerAliasesAreUnique",
    ".assertionIssuers[0].alias",
    { users, assertionIssuers: [{ ...okta, alias: "local" }] },
    { users, assertionIssuers: [okta] },
  ),
  law(
    "assertionSubjectsAreTheirOwn",
    ".users[0].subject",
    { users: [{ ...users[0], subject: "okta:ada" }], assertionIssuers: [okta] },
    { users: [{ ...users[0], subject: "oktaada" }], assertionIssuers: [okta] },
  ),
  law(
    "assertionsOfTheProviderNameAlike",
    ".assertionIssuers[0]",
    { provider: { ...provider, groupsClaim: "groups" }, assertionIssuers: [okta] },
    { provider: { ...provider, groupsClaim: "groups" }, assertionIssuers: [{ ...okta, groupsClaim: "groups" }] },
  ),
  law(
    "keysAreLongEnough",
    ".cookieSecretPrevious[0]",
    { users, cookieSecret: secret, cookieSecretPrevious: ["${env:SHORT}"] },
    { users, cookieSecret: secret, cookieSecretPrevious: ["${env:EDGE_32}"] },
  ),
];
