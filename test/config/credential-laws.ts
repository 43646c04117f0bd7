import type { Change, Law } from "./built-in-laws.ts";

const credential = (value: object): Change => ["upstreams.crm.credential", value];
const tls = (value: object): Change => ["upstreams.crm.tls", value];
const issuer = "https://login.example.com";
const named = { type: "clientCredentials", issuer, clientId: "gw" };
const secret = { clientSecret: "${env:SECRET}" };
const exchange = { type: "tokenExchange", issuer, clientId: "gw", ...secret };
const nobody: Change[] = [
  ["publicUrl", "http://127.0.0.1:8080"],
  ["auth", { none: true }],
];
const asserting = { type: "identityAssertion", issuer, clientId: "gw", ...secret };
const provider = (more: object): Change => [
  "auth",
  { builtIn: { provider: { issuer: "https://idp.example.com", clientId: "gw", ...more } } },
];
const browser: Change = ["auth.browser", { issuer: "corp", clientId: "gw", clientSecret: "${env:SECRET}" }];
const open: Change[] = [...nobody, ["audit", { sinks: [] }]];

const upstreamCalled = (name: string, value: object): Change[] => [
  [`upstreams.${name}`, { url: "https://crm.example.net/mcp", credential: value }],
  [`servers.${name}-server`, { upstreams: { [name]: {} } }],
];

/** The laws of what upstreams are shown and sent. */
export const credentialLaws: readonly Law[] = [
  {
    rule: "staticCredentialsShowOneThing",
    at: "upstreams.crm.credential",
    broken: [credential({ type: "static" })],
    held: [credential({ type: "static", basic: { username: "gate", password: "${env:SECRET}" } })],
  },
  {
    rule: "staticCredentialsShowOneThing",
    at: "upstreams.crm.credential.basic",
    broken: [
      credential({
        type: "static",
        headers: { authorization: "${env:SECRET}" },
        basic: { username: "gate", password: "${env:SECRET}" },
      }),
    ],
    held: [
      credential({
        type: "static",
        headers: { "x-api-key": "${env:SECRET}" },
        basic: { username: "gate", password: "${env:SECRET}" },
      }),
    ],
  },
  {
    rule: "credentialClientsCanProveThemselves",
    at: "upstreams.crm.credential",
    broken: [credential(named)],
    held: [credential({ ...named, privateKey: "${env:EC_KEY}" })],
  },
  {
    rule: "credentialClientsCanProveThemselves",
    at: "upstreams.crm.credential.privateKey",
    broken: [credential({ ...named, ...secret, privateKey: "${env:EC_KEY}" })],
    held: [credential({ ...named, ...secret })],
  },
  {
    rule: "credentialIssuersAreHttps",
    at: "upstreams.crm.credential.issuer",
    broken: [credential({ ...exchange, audience: "crm", issuer: "http://login.example.com" })],
    held: [credential({ ...exchange, audience: "crm" })],
  },
  ...["SECRET", "WEAK_RSA_KEY", "CERT"].map((name): Law => ({
    rule: "privateKeysCanSign",
    at: "upstreams.crm.credential.privateKey",
    broken: [credential({ ...named, privateKey: `\${env:${name}}` })],
    held: [credential({ ...named, privateKey: "${env:RSA_KEY}" })],
  })),
  {
    rule: "privateKeysCanSign",
    at: "keys.assertion[1]",
    broken: [["keys.assertion", ["${env:JWK_KEY}", "${env:PUBLIC_JWKS}"]]],
    held: [["keys.assertion", ["${env:JWK_KEY}", "${env:EC_KEY}"]]],
  },
  ...[{ type: "assertion" }, { ...exchange, audience: "crm" }].map((value): Law => ({
    rule: "credentialsOfCallersNeedSignIn",
    at: "upstreams.crm.credential.type",
    broken: [...open, credential(value)],
    held: [credential(value)],
  })),
  {
    rule: "exchangesNameTheirTarget",
    at: "upstreams.crm.credential",
    broken: [credential(exchange)],
    held: [credential({ ...exchange, resource: "https://crm.example.net/mcp" })],
  },
  ...[[], [provider({})]].map((signIn: Change[]): Law => ({
    rule: "identityAssertionsNeedAProvider",
    at: "upstreams.crm.credential.type",
    broken: [...signIn, credential(asserting)],
    held: [provider(secret), credential(asserting)],
  })),
  {
    rule: "grantClientsAreWhole",
    at: "upstreams.crm.credential.issuer",
    broken: [browser, credential({ type: "user", clientId: "gw" })],
    held: [browser, credential({ type: "user", clientId: "gw", issuer })],
  },
  {
    rule: "grantClientsAreWhole",
    at: "upstreams.crm.credential.clientId",
    broken: [browser, credential({ type: "user", issuer, ...secret })],
    held: [browser, credential({ type: "user", issuer, clientId: "gw", ...secret })],
  },
  ...(["github", "slack"] as const).flatMap((profile) =>
    [
      { issuer: { clientId: "gw" }, clientId: { issuer } },
      { issuer: {}, clientId: {} },
    ].flatMap((missing) =>
      (["issuer", "clientId"] as const).map((at): Law => ({
        rule: "grantProfilesAreWhole",
        at: `upstreams.crm.credential.${at}`,
        broken: [browser, credential({ type: "user", profile, ...missing[at] })],
        held: [browser, credential({ type: "user", profile, issuer, clientId: "gw" })],
      })),
    ),
  ),
  ...["sign-in", "sign-out", "callback", "granted", "revoke"].map((name): Law => ({
    rule: "grantUpstreamsHaveTheirPages",
    at: `upstreams.${name}`,
    broken: [browser, ...upstreamCalled(name, { type: "user" })],
    held: [browser, ...upstreamCalled(`${name}s`, { type: "user" }), ...upstreamCalled(name, { type: "none" })],
  })),
  {
    rule: "grantIssuersAreHttps",
    at: "upstreams.crm.credential.issuer",
    broken: [browser, credential({ type: "user", issuer: "http://login.example.com" })],
    held: [browser, credential({ type: "user", issuer })],
  },
  {
    rule: "grantsNeedPages",
    at: "upstreams.crm.credential.type",
    broken: [credential({ type: "user" })],
    held: [browser, credential({ type: "user" })],
  },
  ...(
    [
      ["ca", { ca: "${env:SECRET}" }, { ca: "${env:CERT_CHAIN}" }],
      ["ca", { ca: "${env:PEM}" }, { ca: "${env:CERT}" }],
      ["cert", { key: "${env:CERT_KEY}" }, { cert: "${env:CERT}", key: "${env:CERT_KEY}" }],
      ["cert", { cert: "${env:PEM}", key: "${env:CERT_KEY}" }, { cert: "${env:CERT_CHAIN}", key: "${env:CERT_KEY}" }],
      ["key", { cert: "${env:CERT}" }, {}],
      ["key", { cert: "${env:CERT}", key: "${env:EC_KEY}" }, {}],
      ["key", { cert: "${env:CERT}", key: "${env:SECRET}" }, {}],
    ] as const
  ).map(([name, broken, held]): Law => ({
    rule: "upstreamTlsIsUsable",
    at: `upstreams.crm.tls.${name}`,
    broken: [tls(broken)],
    held: [tls(held)],
  })),
  {
    rule: "certificatesNeedTls",
    at: "upstreams.crm.tls",
    broken: [["upstreams.crm", { url: "http://127.0.0.1:1/mcp", addresses: "loopback", tls: { ca: "${env:CERT}" } }]],
    held: [["upstreams.crm", { url: "https://127.0.0.1:1/mcp", addresses: "loopback", tls: { ca: "${env:CERT}" } }]],
  },
  ...[
    ...["Authorization", "Cookie", "DPoP", "Proxy-Authorization", "Forwarded", "X-Forwarded-For", "x-real-ip"],
    ...["Host", "Connection", "TE", "Transfer-Encoding", "Content-Type", "Content-Length", "Expect", "Mcp-Session-Id"],
    ...["mcp-param-x", "Last-Event-ID", "Accept-Encoding", "traceparent", "Via", "Origin", "Sec-Fetch-Site"],
  ].map((name): Law => ({
    rule: "forwardHeadersMayCross",
    at: "upstreams.crm.forwardHeaders[1]",
    broken: [["upstreams.crm.forwardHeaders", ["X-Request-Id", name]]],
    held: [["upstreams.crm.forwardHeaders", ["X-Request-Id", "Accept-Language"]]],
  })),
  {
    rule: "forwardHeadersMayCross",
    at: "upstreams.crm.forwardHeaders[0]",
    broken: [
      ["upstreams.crm.forwardHeaders", ["X-Tenant"]],
      credential({ type: "static", headers: { "x-tenant": "${env:SECRET}" } }),
    ],
    held: [
      ["upstreams.crm.forwardHeaders", ["X-Tenants"]],
      credential({ type: "static", headers: { "x-tenant": "${env:SECRET}" } }),
    ],
  },
];

const bindingIssuer: Change = [
  "auth.issuers",
  [{ alias: "corp", issuer: "https://login.example.com", dpop: "require" }],
];
const exchanged = { ...exchange, audience: "crm" };
const headless: Change[] = [
  ["store", { redis: { url: "${env:REDIS_URL}" } }],
  ["keys", { session: "${env:EDGE_32}" }],
  ["auth.headless", {}],
];

/** What `check` warns of and takes all the same. */
export const credentialCautions: readonly Law[] = [
  ...[{ ...exchanged, boundTokens: "send" }, { type: "assertion" }].map((held): Law => ({
    rule: "boundTokensAreNotExchanged",
    at: "upstreams.crm.credential.boundTokens",
    broken: [bindingIssuer, credential(exchanged)],
    held: [bindingIssuer, credential(held)],
  })),
  {
    rule: "boundTokensAreNotExchanged",
    at: "upstreams.crm.credential.boundTokens",
    broken: [bindingIssuer, credential(exchanged)],
    held: [credential(exchanged)],
  },
  ...(
    [
      [
        [
          "auth.issuers",
          [
            { alias: "corp", issuer },
            { alias: "partner", issuer: "https://partner.example.com" },
          ],
        ],
      ],
      [["auth.builtIn", { users: [{ username: "ada", password: "${env:SECRET}" }] }]],
      headless,
    ] as Change[][]
  ).flatMap((several): Law[] =>
    [
      [...several, credential({ type: "assertion", subject: "qualified" })],
      [credential({ type: "assertion" })],
      [...several, credential(exchanged)],
    ].map((held) => ({
      rule: "plainSubjectsMayBeShared",
      at: "upstreams.crm.credential.subject",
      broken: [...several, credential({ type: "assertion" })],
      held,
    })),
  ),
];
