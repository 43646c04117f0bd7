import type { Change, Law } from "./built-in-laws.ts";

const builtIn = { users: [{ username: "ada", password: "${env:SECRET}" }] };
const issuer = (more: object): Change => [
  "auth.issuers",
  [{ alias: "corp", issuer: "https://login.example.com", ...more }],
];
const asking = { clientId: "gw", clientSecret: "${env:SECRET}" };
const opaque = ["one", "two"].map((alias) => ({
  alias,
  issuer: `https://${alias}.example.com`,
  introspection: asking,
}));

/** The laws of external issuers that are about what their tokens prove. */
export const issuerLaws: readonly Law[] = [
  {
    rule: "scopePrefixesNameKnownServers",
    at: "auth.issuers[0].scopePrefix.suport",
    broken: [issuer({ scopePrefix: { suport: "api://crm/" } })],
    held: [issuer({ scopePrefix: { support: "api://crm/" } })],
  },
  {
    rule: "issuerUrlsAreUsable",
    at: "auth.issuers[0].introspection.endpoint",
    broken: [issuer({ introspection: { ...asking, endpoint: "http://login.example.com/introspect" } })],
    held: [issuer({ introspection: { ...asking, endpoint: "https://login.example.com/introspect" } })],
  },
  ...(
    [
      ["https://accounts.google.com", "https://accounts.google.com.example.org"],
      ["https://accounts.google.com/", "https://accounts.example.com"],
      ["https://github.com", "https://github.com/login/oauth2"],
      ["https://github.com/login/oauth", "https://github.example.com"],
      ["https://acme.okta.com", "https://acme.okta.com/oauth2/default"],
      ["https://acme.oktapreview.com/", "https://acme.oktapreview.com/oauth2/aus1"],
    ] as const
  ).map(([useless, useful]): Law => ({
    rule: "issuersProveAnAudience",
    at: "auth.issuers[0].issuer",
    broken: [issuer({ issuer: useless })],
    held: [issuer({ issuer: useful })],
  })),
  ...["common", "organizations", "consumers"].map((tenant): Law => ({
    rule: "issuersAreNamedByTheirTokens",
    at: "auth.issuers[0].issuer",
    broken: [issuer({ issuer: `https://login.microsoftonline.com/${tenant}/v2.0` })],
    held: [issuer({ issuer: `https://login.microsoftonline.com/${tenant}-id/v2.0` })],
  })),
  {
    rule: "issuerAuthoritiesArePem",
    at: "auth.issuers[0].tls.ca",
    broken: [issuer({ tls: { ca: "${env:SECRET}" } })],
    held: [issuer({ tls: { ca: "${env:PEM}" } })],
  },
  {
    rule: "opaqueTokensHaveOneIssuer",
    at: "servers.support.issuer",
    broken: [
      ["auth.issuers", [...opaque, { alias: "jwt", issuer: "https://jwt.example.com" }]],
      ["servers.support.issuer", "jwt"],
    ],
    held: [
      ["auth.issuers", [...opaque, { alias: "jwt", issuer: "https://jwt.example.com" }]],
      ["servers.support.issuer", "two"],
    ],
  },
  {
    rule: "opaqueTokensHaveOneIssuer",
    at: "servers.support.issuer",
    broken: [["auth", { issuers: opaque, builtIn }]],
    held: [["auth", { issuers: opaque.slice(1), builtIn }]],
  },
];
