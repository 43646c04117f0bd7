import { describe, expect, it } from "vitest";
import { canary, changed, faultsOf, loadText } from "./load-text.ts";

type Change = readonly [path: string, value: unknown];

const user = { username: "ada", password: "${env:SECRET}" };
const pair = { type: "clientCredentials", issuer: "https://l.example", clientId: "g", clientSecret: "${env:SECRET}" };

/** A change of form, and every fault it leads to. */
const broken: readonly (readonly [change: Change, fault: string])[] = [
  [["publicUrl", undefined], "required at publicUrl"],
  [["publicUrl", 8080], "type at publicUrl"],
  [["auth", undefined], "required at auth"],
  [["upstreams", {}], "range at upstreams"],
  [["servers", undefined], "required at servers"],
  [["servers.support", null], "type at servers.support"],
  [["servers.support", {}], "required at servers.support.upstreams"],
  [["servers.support.upstreams", {}], "range at servers.support.upstreams"],
  [["servers.Support", { upstreams: { crm: {} } }], "keyForm at servers.Support"],
  [["servers", { ".well-known": { upstreams: { crm: {} } } }], 'keyForm at servers[".well-known"]'],
  [["upstreams.a_b", { url: "https://a.example" }], "keyForm at upstreams.a_b"],
  [["upstreams.crm.ulr", "x"], "unknownKey at upstreams.crm.ulr"],
  [["listenn", {}], "unknownKey at listenn"],
  [["__proto__x", {}], "unknownKey at __proto__x"],
  [["listen.port", 65_536], "range at listen.port"],
  [["listen.port", -1], "range at listen.port"],
  [["listen.port", "8080"], "type at listen.port"],
  [["listen.port", 80.5], "type at listen.port"],
  [["listen.host", ""], "form at listen.host"],
  [["log.level", "verbose"], "allowedValue at log.level"],
  [["content.results", "off"], "allowedValue at content.results"],
  [["auth.none", false], "allowedValue at auth.none"],
  [["auth.issuers", []], "range at auth.issuers"],
  [["auth.issuers", [{ alias: "corp" }]], "required at auth.issuers[0].issuer"],
  [["auth.issuers", [{ alias: "Corp", issuer: "https://l.example" }]], "form at auth.issuers[0].alias"],
  [
    ["auth.issuers", [{ alias: "c", issuer: "https://l.example", algorithms: ["HS256"] }]],
    "allowedValue at auth.issuers[0].algorithms[0]",
  ],
  [
    ["auth.issuers", [{ alias: "c", issuer: "https://l.example", algorithms: ["none"] }]],
    "allowedValue at auth.issuers[0].algorithms[0]",
  ],
  [
    ["auth.issuers", [{ alias: "c", issuer: "https://l.example", algorithms: [] }]],
    "range at auth.issuers[0].algorithms",
  ],
  [
    ["auth.issuers", [{ alias: "c", issuer: "https://l.example", skipAudience: true }]],
    "unknownKey at auth.issuers[0].skipAudience",
  ],
  [
    ["auth.issuers", [{ alias: "c", issuer: "https://l.example", serviceWhen: { claim: "gty" } }]],
    "required at auth.issuers[0].serviceWhen.equals",
  ],
  [["auth.builtIn", { users: [{ ...user, groups: ["a", "a"] }] }], "unique at auth.builtIn.users[0].groups"],
  [["auth.builtIn", { accessTokenSeconds: 3_601 }], "range at auth.builtIn.accessTokenSeconds"],
  [["auth.builtIn", { accessTokenSeconds: 59 }], "range at auth.builtIn.accessTokenSeconds"],
  [["upstreams.crm.era", "ancient"], "allowedValue at upstreams.crm.era"],
  [["upstreams.crm.addresses", "any"], "allowedValue at upstreams.crm.addresses"],
  [["upstreams.crm.connectionsMax", 0], "range at upstreams.crm.connectionsMax"],
  [["upstreams.crm.schema", { arguments: "loose" }], "allowedValue at upstreams.crm.schema.arguments"],
  [["upstreams.crm.files", { types: ["a/b"] }], "required at upstreams.crm.files.routes"],
  [["upstreams.crm.files", { routes: ["/a"] }], "required at upstreams.crm.files.types"],
  [["upstreams.crm.files", { routes: [], types: ["a/b"] }], "range at upstreams.crm.files.routes"],
  ...["a", "", "/", "/a/", "//a", "/a b", "/a%2f", "/a?b", "/a#b", "/a;b", "/a\\b"].map((route): [Change, string] => [
    ["upstreams.crm.files", { routes: [route], types: ["a/b"] }],
    "form at upstreams.crm.files.routes[0]",
  ]),
  ...["a", "A/b", "a/*", "a/b; c=d", "*/*"].map((type): [Change, string] => [
    ["upstreams.crm.files", { routes: ["/a"], types: [type] }],
    "form at upstreams.crm.files.types[0]",
  ]),
  [["upstreams.crm.files", { routes: ["/a"], types: ["a/b"], bytesMax: 0 }], "range at upstreams.crm.files.bytesMax"],
  [["upstreams.crm.credential", {}], "allowedValue at upstreams.crm.credential.type"],
  [["upstreams.crm.credential", { type: "basic" }], "allowedValue at upstreams.crm.credential.type"],
  [["upstreams.crm.credential", { type: "none", headers: {} }], "unknownKey at upstreams.crm.credential.headers"],
  [["upstreams.crm.credential", { type: "static" }], "staticCredentialsShowOneThing at upstreams.crm.credential"],
  [["upstreams.crm.credential", { type: "static", headers: {} }], "range at upstreams.crm.credential.headers"],
  [["upstreams.crm.credential", { ...pair, clientId: undefined }], "required at upstreams.crm.credential.clientId"],
  [["upstreams.crm.credential", { ...pair, scopes: ["a b"] }], "form at upstreams.crm.credential.scopes[0]"],
  [["catalogLock", 5], "type at catalogLock"],
  [["catalogLock", {}], "required at catalogLock.file"],
  [["catalogLock", { file: "./x", hook: {} }], "unknownKey at catalogLock.hook"],
  [["catalogLock", ""], "form at catalogLock"],
  [["upstreams.crm.lock", "strict"], "allowedValue at upstreams.crm.lock"],
  [["servers.support.presentations", [{ id: "a" }]], "required at servers.support.presentations[0].who"],
  [["servers.support.presentations", [{ id: "a", who: {} }]], "range at servers.support.presentations[0].who"],
  [
    ["servers.support.presentations", [{ id: "a", who: { group: "x" } }]],
    "unknownKey at servers.support.presentations[0].who.group",
  ],
  [
    ["servers.support.presentations", [{ id: "a", who: { anyone: true }, rank: 10_001 }]],
    "range at servers.support.presentations[0].rank",
  ],
  [["servers.support.names", { maxChars: 15 }], "range at servers.support.names.maxChars"],
  [["names", { maxChars: 129 }], "range at names.maxChars"],
  [["names", { characters: "all" }], "allowedValue at names.characters"],
  [["servers.support.budget", { as: [{}] }], "required at servers.support.budget.tokens"],
  [["servers.support.budget", { tokens: 1, as: [] }], "range at servers.support.budget.as"],
  [["upstreams.crm.items", [{ tool: [], labels: ["a"] }]], "range at upstreams.crm.items[0].tool"],
  [["upstreams.crm.items", [{ tool: ["a"], labels: ["a b"] }]], "form at upstreams.crm.items[0].labels[0]"],
  [
    ["upstreams.crm.items", [{ tool: ["a"], annotations: { readOnlyHint: true } }]],
    "unknownKey at upstreams.crm.items[0].annotations.readOnlyHint",
  ],
  [["servers.support.upstreams.crm.prefix", "crm/"], "form at servers.support.upstreams.crm.prefix"],
  [
    ["servers.support.upstreams.crm.rename", { tools: { a: "b c" } }],
    "form at servers.support.upstreams.crm.rename.tools.a",
  ],
  [["servers.support.scopes", { minimal: ['a"b'] }], "form at servers.support.scopes.minimal[0]"],
  [["audit", { mode: "maybe" }], "allowedValue at audit.mode"],
  [["audit", { sinks: [{}] }], "range at audit.sinks[0]"],
  [["audit", { sinks: [{ file: { path: "a" }, redis: {} }] }], "range at audit.sinks[0]"],
  [["audit", { sinks: [{ webhook: {} }] }], "laterVersion at audit.sinks[0].webhook"],
  [["store", { memory: true, redis: { url: "${env:REDIS_URL}" } }], "range at store"],
  [["store", {}], "range at store"],
  [["limits", { verifiedTokenSecondsMax: 61 }], "range at limits.verifiedTokenSecondsMax"],
  [["limits", { jsonDepthMax: 1_000 }], "unknownKey at limits.jsonDepthMax"],
  [["keys", { session: canary }], "secretsAreReferences at keys.session"],
  [["keys", { session: 5 }], "type at keys.session"],
  [["keys", { session: "${env:A}b" }], "secretsAreReferences at keys.session"],
  [["keys", { session: "${vault:a}" }], "secretsAreReferences at keys.session"],
  [["keys", { session: "${env:NOT_SET}" }], "secretsAreReadable at keys.session"],
  [["keys", { session: "${env:EMPTY}" }], "secretsAreReadable at keys.session"],
  [["keys", { session: "${file:/run/secrets/absent}" }], "secretsAreReadable at keys.session"],
  [["keys", { session: "${file:/run/secrets/empty}" }], "secretsAreReadable at keys.session"],
  [["publicUrl", "${env:SECRET}"], "publicUrlIsAnOrigin at publicUrl"],
];

describe("a value of the wrong form", () => {
  it.each(broken)("%j leads to exactly one fault, %s", (change, fault) => {
    expect(faultsOf(changed(change))).toEqual([fault]);
  });

  it("does not hide what the rules say of the rest", () => {
    const text = changed(
      ["upstreams.crm.ulr", "x"],
      ["listen.port", "eighty"],
      ["publicUrl", "http://mcp.example.com"],
      ["servers.support.upstreams.crn", {}],
    );
    expect(faultsOf(text).sort()).toEqual([
      "publicUrlIsHttpsOrLoopback at publicUrl",
      "serversNameKnownUpstreams at servers.support.upstreams.crn",
      "type at listen.port",
      "unknownKey at upstreams.crm.ulr",
    ]);
  });

  it("is blamed once: no rule judges the default that stood in for it", () => {
    const text = changed(["store", { redis: { url: "${env:REDIS_URL}" } }], ["keys", { session: "literal" }]);
    expect(faultsOf(text)).toEqual(["secretsAreReferences at keys.session"]);
  });

  it("is told up to a hundred times, and then how many faults are left", () => {
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`key${index}`, 1]));
    const faults = faultsOf(changed(["listen", many]));
    expect(faults).toHaveLength(101);
    expect(faults.at(-1)).toBe("tooManyFaults at ");
  });
});

describe("a fault", () => {
  it.each([
    ["publicUlr", "publicUrl"],
    ["pubilcUrl", "publicUrl"],
    ["polices", "policies"],
    ["server", "servers"],
  ])("suggests, for %s, %s", (typed, meant) => {
    const loaded = loadText(changed([typed, "x"]));
    expect(loaded.ok ? [] : loaded.faults.map(({ expected }) => expected)).toContain(`did you mean ${meant}?`);
  });

  it("suggests nothing for a key that is near none, and lists what there is", () => {
    const loaded = loadText(changed(["listen.zzz", 1]));
    expect(loaded.ok ? [] : loaded.faults[0]?.expected).toBe("one of host, port, tls");
  });

  it("names the line, in the order of the file", () => {
    const text = "publicUrl: https://a.example\nauth:\n  issuers: []\nupstreams: {}\nservers:\n  x: 1\nwhat: 1\n";
    const loaded = loadText(text);
    expect(loaded.ok ? [] : loaded.faults.map(({ path, line }) => [path, line])).toEqual([
      ["auth.issuers", 3],
      ["upstreams", 4],
      ["servers.x", 6],
      ["what", 7],
    ]);
  });

  it.each([
    ["a URL's credentials", ["upstreams.crm.url", `https://u:${canary}@crm.example.net/mcp`]],
    ["a URL's query", ["auth.issuers", [{ alias: "c", issuer: `https://l.example/?t=${canary}` }]]],
    ["a literal secret", ["keys", { session: canary }]],
    ["a secret of another type", ["keys", { session: [canary] }]],
    ["a secret where a map belongs", ["upstreams.crm.credential", { type: "static", headers: canary }]],
    ["a secret under a misspelt key", ["upstreams.crm.credential", { ...pair, clientSecrt: canary }]],
    [
      "a secret drawn into a key",
      ["upstreams.crm.credential", { type: "static", headers: { [`Authorization: Bearer ${canary}`]: "" } }],
    ],
    ["a secret that breaks a rule", ["store", { redis: { url: "${env:HTTP_URL}" } }]],
    ["a header value", ["upstreams.crm.credential", { type: "static", headers: { "X-Key": "${env:TWO_LINES}" } }]],
    ["signing keys", ["auth", { builtIn: { signingKeys: "${env:PUBLIC_JWKS}" } }]],
    ["the message of a failed read", ["keys", { session: "${file:/nowhere}" }]],
  ] as [string, Change][])("never shows %s", (_what, change) => {
    const loaded = loadText(changed(change));
    expect(loaded.ok).toBe(false);
    expect(JSON.stringify(loaded)).not.toContain(canary);
  });
});
