import { describe, expect, it } from "vitest";
import { rawRules, rules, warningRules } from "../../src/config/rules.ts";
import { browserLaws } from "./browser-laws.ts";
import { builtInLaws, type Change, type Law } from "./built-in-laws.ts";
import { catalogLaws } from "./catalog-laws.ts";
import { credentialCautions, credentialLaws } from "./credential-laws.ts";
import { issuerLaws } from "./issuer-laws.ts";
import { listenLaws } from "./listen-laws.ts";
import { lockLaws } from "./lock-laws.ts";
import { changed, faultsOf, warningsOf } from "./load-text.ts";

const files = { routes: ["/reports/*"], types: ["application/pdf"] };
const builtIn = { users: [{ username: "ada", password: "${env:SECRET}" }] };
const redis: Change[] = [
  ["store", { redis: { url: "${env:REDIS_URL}" } }],
  ["keys", { session: "${env:SECRET}" }],
];
const loopback: Change[] = [
  ["publicUrl", "http://127.0.0.1:8080"],
  ["auth", { none: true }],
];
const issuer = (more: object): Change => [
  "auth.issuers",
  [{ alias: "corp", issuer: "https://login.example.com", ...more }],
];
const credential = (value: object): Change => ["upstreams.crm.credential", value];
const client = { issuer: "https://login.example.com", clientId: "gw", clientSecret: "${env:SECRET}" };
const sink = (path: string): object => ({ file: { path } });

const laws: readonly Law[] = [
  ...[
    "https://mcp.example.com/mcp",
    "https://mcp.example.com?x=1",
    "https://MCP.example.com",
    "https://u:p@mcp.example.com",
    "https://mcp.example.com:443",
    "mcp.example.com",
  ].map((url): Law => ({
    rule: "publicUrlIsAnOrigin",
    at: "publicUrl",
    broken: [["publicUrl", url]],
    held: [["publicUrl", "https://mcp.example.com:8443"]],
  })),
  {
    rule: "publicUrlIsAnOrigin",
    at: "publicUrl",
    broken: [["publicUrl", "https://mcp.example.com//"]],
    held: [["publicUrl", "https://mcp.example.com/"]],
  },
  {
    rule: "publicUrlIsHttpsOrLoopback",
    at: "publicUrl",
    broken: [["publicUrl", "http://mcp.example.com"]],
    held: [["publicUrl", "http://localhost:8080"]],
  },
  {
    rule: "publicUrlIsHttpsOrLoopback",
    at: "publicUrl",
    broken: [["publicUrl", "http://localhost.example.com"]],
    held: [["publicUrl", "http://[::1]:8080"]],
  },
  {
    rule: "allowedOriginsAreOrigins",
    at: "allowedOrigins[1]",
    broken: [["allowedOrigins", ["https://a.example", "https://b.example/"]]],
    held: [["allowedOrigins", ["https://a.example", "https://b.example"]]],
  },
  {
    rule: "allowedOriginsAreOrigins",
    at: "allowedOrigins[0]",
    broken: [["allowedOrigins", ["null"]]],
    held: [["allowedOrigins", []]],
  },
  {
    rule: "listenersDoNotShareAPort",
    at: "operations.port",
    broken: [["operations.port", 8080]],
    held: [["operations.port", 8081]],
  },
  {
    rule: "listenersDoNotShareAPort",
    at: "operations.port",
    broken: [["listen.port", 9464]],
    held: [
      ["listen.port", 0],
      ["operations.port", 0],
    ],
  },
  { rule: "authIsNoneOrIssuers", at: "auth", broken: [["auth", {}]], held: [["auth", { builtIn }]] },
  {
    rule: "authIsNoneOrIssuers",
    at: "auth",
    broken: [
      ["publicUrl", "http://127.0.0.1:8080"],
      ["auth", { none: true, builtIn }],
    ],
    held: loopback,
  },
  {
    rule: "tenantIsStatedOnce",
    at: "auth.issuers[0].tenantClaim",
    broken: [issuer({ tenant: "acme", tenantClaim: "tid" })],
    held: [issuer({ tenantClaim: "tid" })],
  },
  {
    rule: "authNoneBindsLoopback",
    at: "listen.host",
    broken: [...loopback, ["listen.host", "0.0.0.0"]],
    held: [...loopback, ["listen.host", "127.0.0.2"]],
  },
  {
    rule: "authNoneBindsLoopback",
    at: "publicUrl",
    broken: [["auth", { none: true }]],
    held: loopback,
  },
  {
    rule: "issuerAliasesAreUnique",
    at: "auth.issuers[1].alias",
    broken: [
      [
        "auth.issuers",
        [
          { alias: "a", issuer: "https://a.example" },
          { alias: "a", issuer: "https://b.example" },
        ],
      ],
    ],
    held: [
      [
        "auth.issuers",
        [
          { alias: "a", issuer: "https://a.example" },
          { alias: "b", issuer: "https://b.example" },
        ],
      ],
    ],
  },
  {
    rule: "issuerAliasesAreUnique",
    at: "auth.builtIn.alias",
    broken: [["auth.builtIn", { ...builtIn, alias: "corp" }]],
    held: [["auth.builtIn", builtIn]],
  },
  {
    rule: "issuersAreUnique",
    at: "auth.issuers[1].issuerAliases[0]",
    broken: [
      [
        "auth.issuers",
        [
          { alias: "a", issuer: "https://a.example" },
          { alias: "b", issuer: "https://b.example", issuerAliases: ["https://a.example"] },
        ],
      ],
    ],
    // Issuers compare as exact strings: another slash is another issuer.
    held: [
      [
        "auth.issuers",
        [
          { alias: "a", issuer: "https://a.example" },
          { alias: "b", issuer: "https://b.example", issuerAliases: ["https://a.example/"] },
        ],
      ],
    ],
  },
  {
    rule: "issuersAreUnique",
    at: "auth.issuers[0].issuer",
    broken: [issuer({ issuer: "https://mcp.example.com" }), ["auth.builtIn", builtIn]],
    held: [issuer({ issuer: "https://mcp.example.com" })],
  },
  ...[
    "http://login.example.com",
    "https://login.example.com/?a=b",
    "https://login.example.com/#f",
    "login",
    "https://u@login.example.com",
  ].map((url): Law => ({
    rule: "issuerUrlsAreUsable",
    at: "auth.issuers[0].issuer",
    broken: [issuer({ issuer: url })],
    held: [issuer({ issuer: "https://login.example.com/realms/x/" })],
  })),
  {
    rule: "issuerUrlsAreUsable",
    at: "auth.issuers[0].jwksUri",
    broken: [issuer({ jwksUri: "http://127.0.0.1:9/keys" })],
    held: [issuer({ jwksUri: "http://127.0.0.1:9/keys", addresses: "loopback" })],
  },
  {
    rule: "audiencesNameKnownServers",
    at: "auth.issuers[0].audience.suport",
    broken: [issuer({ audience: { suport: "api://x" } })],
    held: [issuer({ audience: { support: "api://x" } })],
  },
  {
    rule: "audiencesNameKnownServers",
    at: "auth.issuers[0].audience.constructor",
    broken: [issuer({ audience: { constructor: "api://x" } })],
    held: [issuer({})],
  },
  {
    rule: "builtInNamesAreUnique",
    at: "auth.builtIn.users[1].username",
    broken: [
      ["auth.builtIn", { users: [...builtIn.users, { username: "ada", password: "${env:SECRET}", subject: "ada-2" }] }],
    ],
    held: [["auth.builtIn", { users: [...builtIn.users, { username: "bob", password: "${env:SECRET}" }] }]],
  },
  {
    rule: "builtInNamesAreUnique",
    at: "auth.builtIn.users[1].subject",
    broken: [
      ["auth.builtIn", { users: [...builtIn.users, { username: "bob", password: "${env:SECRET}", subject: "ada" }] }],
    ],
    held: [
      ["auth.builtIn", { users: [...builtIn.users, { username: "bob", password: "${env:SECRET}", subject: "b" }] }],
    ],
  },
  {
    rule: "builtInNamesAreUnique",
    at: "auth.builtIn.users[0].username",
    broken: [["auth.builtIn", { ...builtIn, clients: [{ clientId: "ada", clientSecret: "${env:SECRET}" }] }]],
    held: [["auth.builtIn", { ...builtIn, clients: [{ clientId: "batch", clientSecret: "${env:SECRET}" }] }]],
  },
  {
    rule: "clientScopesAreSupported",
    at: "auth.builtIn.clients[0].scopes",
    broken: [["auth.builtIn", { clients: [{ clientId: "b", clientSecret: "${env:SECRET}", scopes: ["crm:read"] }] }]],
    held: [
      ["auth.builtIn", { clients: [{ clientId: "b", clientSecret: "${env:SECRET}", scopes: ["crm:read"] }] }],
      ["servers.support.scopes", { supported: ["crm:read"] }],
    ],
  },
  ...browserLaws,
  ...builtInLaws,
  ...["javascript", "https", "data"].map((scheme): Law => ({
    rule: "redirectSchemesArePrivateUse",
    at: "auth.builtIn.redirectSchemes[0]",
    broken: [["auth.builtIn", { ...builtIn, redirectSchemes: [scheme] }]],
    held: [["auth.builtIn", { ...builtIn, redirectSchemes: ["com.example.app"] }]],
  })),
  ...["PUBLIC_JWKS", "OCT_JWKS", "SECRET"].map((name): Law => ({
    rule: "signingKeysAreAPrivateJwkSet",
    at: "auth.builtIn.signingKeys",
    broken: [["auth.builtIn", { ...builtIn, signingKeys: `\${env:${name}}` }]],
    held: [["auth.builtIn", { ...builtIn, signingKeys: "${env:PRIVATE_JWKS}" }]],
  })),
  ...[
    "http://crm.example.net/mcp",
    "https://u:p@crm.example.net/mcp",
    "https://crm.example.net/mcp#x",
    "ftp://crm.example.net",
    "crm",
  ].map((url): Law => ({
    rule: "upstreamUrlsAreUsable",
    at: "upstreams.crm.url",
    broken: [["upstreams.crm.url", url]],
    held: [["upstreams.crm", { url: "http://crm.example.net/mcp", addresses: "private" }]],
  })),
  ...(
    [
      ["https://127.0.0.1/mcp", "private", "loopback"],
      ["https://localhost/mcp", "public", "loopback"],
      ["https://10.1.2.3/mcp", "public", "private"],
      ["https://[fd00::1]/mcp", "loopback", "private"],
      ["https://192.168.0.1/mcp", "public", "private"],
      ["https://203.0.113.9/mcp", "loopback", "public"],
      ["https://203.0.113.9/mcp", "loopback", "private"],
      ["https://0x7f000001/mcp", "public", "loopback"],
    ] as const
  ).map(([url, wrong, right]): Law => ({
    rule: "upstreamAddressesNeedConsent",
    at: "upstreams.crm.addresses",
    broken: [["upstreams.crm", { url, addresses: wrong }]],
    held: [["upstreams.crm", { url, addresses: right }]],
  })),
  ...[
    "http://files.example.net",
    "https://files.example.net/x",
    "https://FILES.example.net",
    "https://u@files.example.net",
    "files.example.net",
  ].map((url): Law => ({
    rule: "filesUrlIsAnOrigin",
    at: "filesUrl",
    broken: [["filesUrl", url]],
    held: [["filesUrl", "https://files.example.net/"]],
  })),
  ...["https://mcp.example.com", "https://mcp.example.com:8443", "https://alias.example.com"].map((url): Law => ({
    rule: "filesUrlHasAHostOfItsOwn",
    at: "filesUrl",
    broken: [
      ["filesUrl", url],
      ["allowedHosts", ["mcp.example.com", "alias.example.com:8080"]],
    ],
    held: [
      ["filesUrl", "https://files.mcp.example.com"],
      ["allowedHosts", ["mcp.example.com", "alias.example.com:8080"]],
    ],
  })),
  {
    rule: "filesStandApartFromSignInPages",
    at: "upstreams.crm.files",
    broken: [
      ["auth.builtIn", builtIn],
      ["upstreams.crm.files", files],
    ],
    held: [
      ["auth.builtIn", builtIn],
      ["upstreams.crm.files", files],
      ["filesUrl", "https://files.example.net"],
    ],
  },
  {
    rule: "filesStandApartFromSignInPages",
    at: "upstreams.crm.files",
    broken: [
      ["auth", { builtIn }],
      ["upstreams.crm.files", files],
    ],
    held: [["upstreams.crm.files", files]],
  },
  ...["/a/../b", "/..", "/a.", "/**/a", "/a**", "/a/..b"].map((route): Law => ({
    rule: "fileRoutesAreReachable",
    at: "upstreams.crm.files.routes[1]",
    broken: [["upstreams.crm.files", { ...files, routes: ["/a/*", route] }]],
    held: [["upstreams.crm.files", { ...files, routes: ["/a/*", "/a/**", "/*/b-*.c...d"] }]],
  })),
  {
    rule: "upstreamAddressesNeedConsent",
    at: "upstreams.crm.url",
    broken: [["upstreams.crm", { url: "https://169.254.169.254/latest", addresses: "private" }]],
    held: [["upstreams.crm", { url: "https://metadata.example/latest", addresses: "private" }]],
  },
  ...["Mcp-Name", "mcp-session-id", "Host", "Transfer-Encoding", "content-type"].map((name): Law => ({
    rule: "staticHeadersAreNotTheGateways",
    at: `upstreams.crm.credential.headers.${name}`,
    broken: [credential({ type: "static", headers: { [name]: "${env:SECRET}" } })],
    held: [credential({ type: "static", headers: { Authorization: "${env:SECRET}" } })],
  })),
  {
    rule: "headerValuesAreSendable",
    at: "upstreams.crm.credential.headers.X-Key",
    broken: [credential({ type: "static", headers: { "X-Key": "${env:TWO_LINES}" } })],
    held: [credential({ type: "static", headers: { "X-Key": "${env:SECRET}" } })],
  },
  {
    rule: "headerValuesAreSendable",
    at: "upstreams.crm.credential.headers.x-key",
    broken: [credential({ type: "static", headers: { "X-Key": "${env:SECRET}", "x-key": "${env:SECRET}" } })],
    held: [credential({ type: "static", headers: { "X-Key": "${env:SECRET}", "x-keys": "${env:SECRET}" } })],
  },
  {
    rule: "credentialIssuersAreHttps",
    at: "upstreams.crm.credential.issuer",
    broken: [credential({ type: "clientCredentials", ...client, issuer: "http://login.example.com" })],
    held: [credential({ type: "clientCredentials", ...client })],
  },
  ...[
    { callMs: 1_000 },
    { tool: "export_*" },
    { tool: "export_*", prompt: "export_*", callMs: 1_000 },
    { prompt: "a", resource: "b", idleMs: 1_000 },
  ].map((entry): Law => ({
    rule: "deadlinesNameOneKind",
    at: "upstreams.crm.deadlines[1]",
    broken: [["upstreams.crm.deadlines", [{ tool: "a", callMs: 1_000 }, entry]]],
    held: [
      [
        "upstreams.crm.deadlines",
        [
          { tool: "a", callMs: 1_000 },
          { resource: "b", firstByteMs: 1_000 },
        ],
      ],
    ],
  })),
  ...["authorize", "token", "register", "connect", "files", "oauth"].map((name): Law => ({
    rule: "serverNamesAreNotReserved",
    at: `servers.${name}`,
    broken: [["servers", { [name]: { upstreams: { crm: {} } } }]],
    held: [["servers", { [`${name}s`]: { upstreams: { crm: {} } } }]],
  })),
  {
    rule: "serversNameKnownUpstreams",
    at: "servers.support.upstreams.crn",
    broken: [["servers.support.upstreams", { crn: {} }]],
    held: [["servers.support.upstreams", { crm: {} }]],
  },
  {
    rule: "serversNameKnownUpstreams",
    at: "servers.support.upstreams.constructor",
    broken: [["servers.support.upstreams", { constructor: {} }]],
    held: [
      ["upstreams", { constructor: { url: "https://c.example/mcp" } }],
      ["servers.support.upstreams", { constructor: {} }],
    ],
  },
  ...catalogLaws,
  ...issuerLaws,
  ...listenLaws,
  ...lockLaws,
  ...credentialLaws,
  {
    rule: "headlessNeedsRedisStore",
    at: "auth.headless",
    broken: [["auth.headless", {}]],
    held: [...redis, ["auth.headless", {}]],
  },
  {
    rule: "issuerAliasesAreUnique",
    at: "auth.headless.alias",
    broken: [...redis, ["auth.headless", { alias: "corp" }]],
    held: [...redis, ["auth.headless", { alias: "robots" }]],
  },
  {
    rule: "serversAdvertiseKnownIssuers",
    at: "servers.support.issuer",
    broken: [...redis, ["auth.headless", {}], ["servers.support.issuer", "headless"]],
    held: [...redis, ["auth.headless", {}], ["servers.support.issuer", "corp"]],
  },
  {
    rule: "serversAdvertiseKnownIssuers",
    at: "servers.support.issuer",
    broken: [["servers.support.issuer", "crop"]],
    held: [["servers.support.issuer", "corp"]],
  },
  {
    rule: "serversAdvertiseKnownIssuers",
    at: "servers.support.issuer",
    broken: [...loopback, ["servers.support.issuer", "corp"]],
    held: loopback,
  },
  {
    rule: "minimalScopesAreSupported",
    at: "servers.support.scopes.minimal",
    broken: [["servers.support.scopes", { minimal: ["a", "b"], supported: ["a"] }]],
    held: [["servers.support.scopes", { minimal: ["a", "b"], supported: ["b", "a"] }]],
  },
  {
    rule: "renamesDoNotCollide",
    at: "servers.support.upstreams.crm.rename.tools.two",
    broken: [["servers.support.upstreams.crm", { rename: { tools: { one: "same", two: "same" } } }]],
    held: [["servers.support.upstreams.crm", { rename: { tools: { one: "same" }, prompts: { two: "same" } } }]],
  },
  {
    rule: "redisUrlIsRedis",
    at: "store.redis.url",
    broken: [...redis, ["store", { redis: { url: "${env:HTTP_URL}" } }]],
    held: redis,
  },
  {
    rule: "redisStoreNeedsKeys",
    at: "keys.session",
    broken: [["store", { redis: { url: "${env:REDIS_URL}" } }]],
    held: redis,
  },
  {
    rule: "redisStoreNeedsKeys",
    at: "auth.builtIn.cookieSecret",
    broken: [...redis, ["auth.builtIn", builtIn]],
    held: [...redis, ["auth.builtIn", { ...builtIn, cookieSecret: "${env:SECRET}" }]],
  },
  {
    rule: "redisAuditNeedsRedisStore",
    at: "audit.sinks[0].redis",
    broken: [["audit", { sinks: [{ redis: {} }] }]],
    held: [...redis, ["audit", { sinks: [{ redis: {} }] }]],
  },
  {
    rule: "requiredAuditHasSink",
    at: "audit.sinks",
    broken: [["audit", { sinks: [] }]],
    held: [["audit", { mode: "best-effort", sinks: [] }]],
  },
  {
    rule: "auditSinksAreUnique",
    at: "audit.sinks[1]",
    broken: [["audit", { sinks: [sink("a.jsonl"), sink("./a.jsonl")] }]],
    held: [["audit", { sinks: [sink("a.jsonl"), sink("b.jsonl")] }]],
  },
  ...(["keys.session", "audit.digestKey"] as const).map((at): Law => ({
    rule: "keysAreLongEnough",
    at,
    broken: [[at, "${env:EDGE_31}"]],
    held: [[at, "${env:EDGE_32}"]],
  })),
  {
    rule: "keysAreLongEnough",
    at: "keys.sessionPrevious[0]",
    broken: [["keys", { sessionPrevious: ["${env:SHORT}"] }]],
    held: [["keys", { sessionPrevious: ["${env:SECRET}"] }]],
  },
  {
    rule: "keysAreLongEnough",
    at: "auth.builtIn.cookieSecret",
    broken: [["auth.builtIn", { ...builtIn, cookieSecret: "${env:SHORT}" }]],
    held: [["auth.builtIn", { ...builtIn, cookieSecret: "${env:EDGE_32}" }]],
  },
  {
    rule: "limitsAgree",
    at: "limits.sessionIdleMs",
    broken: [["limits", { sessionIdleMs: 60_001, sessionAgeMsMax: 60_000 }]],
    held: [["limits", { sessionIdleMs: 60_000, sessionAgeMsMax: 60_000 }]],
  },
  {
    rule: "limitsAgree",
    at: "limits.catalogAgeMsMax",
    broken: [["limits", { catalogAgeMsMax: 2, catalogStaleMsMax: 1 }]],
    held: [["limits", { catalogAgeMsMax: 1, catalogStaleMsMax: 1 }]],
  },
];

describe("each cross-field rule", () => {
  it.each(laws)("$rule refuses $broken at $at", ({ rule, at, broken }) => {
    expect(faultsOf(changed(...broken))).toContain(`${rule} at ${at}`);
  });

  it.each(laws)("$rule is content with $held", ({ held }) => {
    expect(faultsOf(changed(...held))).toEqual([]);
  });

  it("has a law here", () => {
    const named = new Set(laws.map(({ rule }) => rule));
    expect([...rawRules, ...rules].map((rule) => rule.name).filter((name) => !named.has(name))).toEqual([]);
  });
});

const cautions: readonly Law[] = [
  { rule: "authNoneIsOpen", at: "auth.none", broken: loopback, held: [] },
  { rule: "nothingIsAllowed", at: "policies", broken: [["policies", undefined]], held: [] },
  { rule: "auditHasNoSink", at: "audit.sinks", broken: [["audit", { mode: "best-effort", sinks: [] }]], held: [] },
  {
    rule: "operationsAreExposed",
    at: "operations.host",
    broken: [["operations.host", "0.0.0.0"]],
    held: [["operations.host", "::1"]],
  },
  {
    rule: "credentialsTravelInClear",
    at: "upstreams.crm.url",
    broken: [
      [
        "upstreams.crm",
        { url: "http://crm.svc/mcp", addresses: "private", credential: { type: "clientCredentials", ...client } },
      ],
    ],
    held: [
      [
        "upstreams.crm",
        { url: "http://127.0.0.1:1/mcp", addresses: "loopback", credential: { type: "clientCredentials", ...client } },
      ],
    ],
  },
  {
    rule: "upstreamsAreUnused",
    at: "upstreams.spare",
    broken: [["upstreams.spare", { url: "https://spare.example/mcp" }]],
    held: [],
  },
  {
    rule: "audiencesAreShared",
    at: "auth.issuers[0].audience.sales",
    broken: [
      ["servers.sales", { upstreams: { crm: {} } }],
      issuer({ audience: { support: "api://all", sales: "api://all" } }),
    ],
    held: [
      ["servers.sales", { upstreams: { crm: {} } }],
      issuer({ audience: { support: "api://support", sales: "api://sales" } }),
    ],
  },
  ...credentialCautions,
  ...["entra", "cognito", "authentik"].map((profile): Law => ({
    rule: "audiencesAreMissing",
    at: "auth.issuers[0].audience",
    broken: [issuer({ profile })],
    held: [issuer({ profile, audience: { support: "0oa1" } })],
  })),
  {
    rule: "prefixesAreShared",
    at: "servers.support.upstreams.hr.prefix",
    broken: [
      ["upstreams.hr", { url: "https://hr.example/mcp" }],
      ["servers.support.upstreams", { crm: {}, hr: {} }],
    ],
    held: [
      ["upstreams.hr", { url: "https://hr.example/mcp" }],
      ["servers.support.upstreams", { crm: {}, hr: { prefix: "hr_" } }],
    ],
  },
];

describe("each warning", () => {
  it.each(cautions)("$rule is given at $at", ({ rule, at, broken }) => {
    expect(warningsOf(changed(...broken))).toContain(`${rule} at ${at}`);
  });

  it.each(cautions)("$rule is not given for $held", ({ held }) => {
    expect(warningsOf(changed(...held))).toEqual([]);
  });

  it("has a case here", () => {
    const named = new Set(cautions.map(({ rule }) => rule));
    expect(warningRules.map((rule) => rule.name).filter((name) => !named.has(name))).toEqual([]);
  });
});
