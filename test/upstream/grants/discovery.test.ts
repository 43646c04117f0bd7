import { describe, expect, it } from "vitest";
import { covers } from "../../../src/upstream/grants/protected-resource.ts";
import { readChallenge } from "../../../src/upstream/grants/challenge.ts";
import { ada, asAda, benchFor, connect, editor, outcome, provider, redirectUri, tokenOf, valueOf } from "./bench.ts";
import type { Bench, BenchOptions } from "./bench.ts";
import type { Provider, ProviderWays } from "./provider.ts";

async function begin(at: Provider, options: BenchOptions = {}): Promise<URL | string> {
  const begun = outcome(
    await benchFor(at.url, options).grants.pages.begin({ person: ada, clientId: editor, upstream: "up", redirectUri }),
  );
  return typeof begun === "string" ? begun : new URL(begun.url);
}

async function asked(ways: ProviderWays, options?: BenchOptions): Promise<URLSearchParams> {
  const url = await begin(await provider(ways), options);
  if (typeof url === "string") throw new Error(url);
  return url.searchParams;
}

describe("the way to an upstream's authorization server", () => {
  it.each<[string, ProviderWays]>([
    ["the challenge names the metadata", { resourceMetadata: "challenge" }],
    ["the challenge names it at a place of its own", { resourceMetadata: "elsewhere" }],
    ["no challenge names it, the path is inserted", { resourceMetadata: "inserted" }],
    ["it stands at the root", { resourceMetadata: "root" }],
    ["there is none, and the upstream's origin is the authorization server", { resourceMetadata: "none" }],
    ["an issuer with a path, RFC 8414", { issuerPath: "/tenant/a", serverMetadata: "oauth" }],
    ["an issuer with a path, OpenID inserted", { issuerPath: "/tenant/a", serverMetadata: "openid" }],
    ["an issuer with a path, OpenID appended", { issuerPath: "/tenant/a", serverMetadata: "appended" }],
  ])("is found when %s, and connecting succeeds", async (_name, ways) => {
    const at = await provider(ways);
    expect(outcome(await connect(benchFor(at.url)))).toEqual({ upstream: "up" });
  });

  it("goes without any metadata when an operator vouches for server and PKCE, as revision 2025-03-26 has it", async () => {
    const ways: ProviderWays = { resourceMetadata: "none", serverMetadata: "none", iss: null };
    const at = await provider(ways);
    expect(await begin(at)).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-pkce");
    const issuer = at.origin;
    expect(await begin(at, { upstream: { issuer } })).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-pkce");
    expect(await begin(at, { upstream: { assumePkce: true } })).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE issuer-unproven");
    const vouched = benchFor(at.url, { upstream: { assumePkce: true, issuer } });
    expect(outcome(await connect(vouched))).toEqual({ upstream: "up" });
    // Another issuer than the upstream's origin has metadata, or is none.
    const elsewhere = { assumePkce: true, issuer: `${at.origin}/other` };
    expect(await begin(at, { upstream: elsewhere })).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-server-metadata");
  });

  it("that has PKCE on an operator's word alone is logged, once for each upstream", async () => {
    const at = await provider({ serverChanges: { code_challenge_methods_supported: undefined } });
    const bench = benchFor(at.url, { upstream: { assumePkce: true } });
    for (let times = 0; times < 2; times += 1) {
      valueOf(await bench.grants.pages.describe(ada, "up"));
      bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    }
    const assumed = bench.logged.filter(({ event }) => event === "pkce-assumed");
    expect(assumed).toEqual([{ event: "pkce-assumed", facts: { upstream: "up", issuer: at.issuer } }]);
    const stated = benchFor((await provider()).url, { upstream: { assumePkce: true } });
    valueOf(await stated.grants.pages.describe(ada, "up"));
    expect(stated.logged).toEqual([]);
  });

  it.each<[string, ProviderWays, string]>([
    [
      "metadata of another origin's resource",
      { resourceChanges: { resource: "https://else.test/mcp" } },
      "resource-is-another",
    ],
    ["metadata of a longer path", { resourceChanges: { resource: "/mcp/deeper" } }, "resource-is-another"],
    [
      "a resource that names no authorization server",
      { resourceChanges: { authorization_servers: ["ftp://x"] } },
      "issuer-url",
    ],
    ["a server that names another issuer", { serverChanges: { issuer: "https://else.test" } }, "server-metadata"],
    ["a server that names itself with a slash", { serverChanges: { issuer: "SELF/" } }, "server-metadata"],
    ["a server without metadata", { serverMetadata: "none" }, "no-server-metadata"],
    [
      "a server that says nothing of PKCE",
      { serverChanges: { code_challenge_methods_supported: undefined } },
      "no-pkce",
    ],
    ["a server that knows only plain", { serverChanges: { code_challenge_methods_supported: ["plain"] } }, "no-pkce"],
    ["a server without a token endpoint", { serverChanges: { token_endpoint: undefined } }, "no-endpoints"],
    [
      "a script in place of the authorization endpoint",
      { serverChanges: { authorization_endpoint: "javascript:alert(1)" } },
      "endpoint-url",
    ],
    [
      "an authorization endpoint over plain http",
      { serverChanges: { authorization_endpoint: "http://login.test/" } },
      "endpoint-url",
    ],
  ])("is refused: %s", async (_name, ways, fault) => {
    const at = await provider(ways);
    const changes = { ...ways.resourceChanges, ...ways.serverChanges };
    if (changes["resource"] === "/mcp/deeper") at.ways = { resourceChanges: { resource: `${at.url}/deeper` } };
    if (changes["issuer"] === "SELF/") at.ways = { serverChanges: { issuer: `${at.issuer}/` } };
    expect(await begin(at)).toBe(`UPSTREAM_AUTHORIZATION_UNUSABLE ${fault}`);
  });

  it("plain PKCE stays refused when an operator vouches: the server has said what it does", async () => {
    const at = await provider({ serverChanges: { code_challenge_methods_supported: ["plain"] } });
    expect(await begin(at, { upstream: { assumePkce: true } })).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-pkce");
  });

  it("is asked once for many, and again when what was said is old", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    const metadata = (): number => at.seen.filter(({ path }) => path.includes("oauth-authorization-server")).length;
    const describeIt = (): Promise<unknown> => bench.grants.pages.describe(ada, "up");
    await Promise.all([describeIt(), describeIt(), describeIt()]);
    expect(metadata()).toBe(1);
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax - 1;
    await describeIt();
    expect(metadata()).toBe(1);
    bench.clock.now += 1;
    await describeIt();
    expect(metadata()).toBe(2);
  });
});

describe("the scopes that are asked for", () => {
  const published = { scopes_supported: ["published"] };

  it.each<[string, ProviderWays, BenchOptions, string | null]>([
    [
      "configured ones before all",
      { challengeScope: "challenged", resourceChanges: published },
      { upstream: { scopes: ["configured"] } },
      "configured",
    ],
    ["those of the challenge", { challengeScope: "challenged two", resourceChanges: published }, {}, "challenged two"],
    ["those published", { resourceChanges: published }, {}, "published"],
    ["none where nobody names any", {}, {}, null],
    ["none where none are published", { resourceChanges: { scopes_supported: [] } }, {}, null],
    [
      "offline_access besides, where the server lists it",
      { resourceChanges: published, serverChanges: { scopes_supported: ["offline_access"] } },
      {},
      "offline_access published",
    ],
  ])("%s", async (_name, ways, options, scope) => {
    expect((await asked(ways, options)).get("scope")).toBe(scope);
  });
});

it("scopes that are none, or too long, are not asked for", async () => {
  const scopes_supported = ["good", "two words", 'quo"te', "x".repeat(257), "", "good"];
  expect((await asked({ resourceChanges: { scopes_supported } })).get("scope")).toBe("good");
});

it("what cannot be found is not asked for again at once", async () => {
  const at = await provider({ serverMetadata: "none" });
  const bench = benchFor(at.url);
  const describeIt = async (): Promise<unknown> => outcome(await bench.grants.pages.describe(ada, "up"));
  expect(await describeIt()).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-server-metadata");
  const before = at.seen.length;
  at.ways = {};
  expect(await describeIt()).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-server-metadata");
  expect(at.seen).toHaveLength(before);
  bench.clock.now += bench.options.limits.upstreamCredentialRetryMsMin;
  expect(await describeIt()).toMatchObject({ connected: false });
});

describe("the resource that is named", () => {
  it("is the one published, character by character, in both requests", async () => {
    const at = await provider({});
    at.ways = { resourceChanges: { resource: `${at.origin}/` } };
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const named = at.seen.filter(({ path }) => path === "/authorize" || path === "/token");
    expect(named.map(({ params }) => params["resource"])).toEqual([`${at.origin}/`, `${at.origin}/`]);
  });

  it("is not sent to a server that refuses it, once configured so", async () => {
    const at = await provider({ refusesResource: true });
    expect(outcome(await connect(benchFor(at.url)))).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(outcome(await connect(benchFor(at.url, { upstream: { sendResource: false } })))).toEqual({ upstream: "up" });
  });

  it.each([
    ["https://a.test/mcp", "https://a.test/mcp", true],
    ["https://a.test", "https://a.test/mcp", true],
    ["https://a.test/", "https://a.test/mcp", true],
    ["https://a.test/mcp/", "https://a.test/mcp", true],
    ["https://a.test/m", "https://a.test/mcp", false],
    ["https://a.test/mcp/x", "https://a.test/mcp", false],
    ["https://a.test:444/mcp", "https://a.test/mcp", false],
    ["http://a.test/mcp", "https://a.test/mcp", false],
    ["https://a.test/mcp#x", "https://a.test/mcp", false],
    ["https://u@a.test/mcp", "https://a.test/mcp", false],
    ["https://a.test/mcp?x=1", "https://a.test/mcp", false],
    ["no url", "https://a.test/mcp", false],
  ])("%s covers %s: %s", (identifier, url, expected) => {
    expect(covers(identifier, new URL(url))).toBe(expected);
  });
});

describe("an authorization server that changes", () => {
  it("is told once, whatever else the upstream names with every question", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    for (let index = 0; index < 3; index += 1) {
      at.ways = { resourceChanges: { authorization_servers: [`https://evil-${index}.example`] } };
      bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
      expect(await connect(bench)).toMatchObject({ refusal: { code: "UPSTREAM_ISSUER_CHANGED" } });
    }
    expect(bench.logged.filter(({ event }) => event === "upstream-quarantined")).toHaveLength(1);
  });

  it("quarantines the upstream and names both, until configuration names the new one", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const other = await provider();
    at.ways = { resourceChanges: { authorization_servers: [other.issuer] } };
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    const refused = await connect(bench);
    expect(refused).toMatchObject({
      ok: false,
      refusal: { code: "UPSTREAM_ISSUER_CHANGED", facts: { known: at.issuer, found: [other.issuer] } },
    });
    expect(bench.logged.map(({ event }) => event)).toContain("upstream-quarantined");
    expect(other.seen).toEqual([]);

    const meant = benchFor(at.url, { store: bench.store, upstream: { issuer: other.issuer } });
    expect(outcome(await meant.grants.pages.describe(ada, "up"))).toMatchObject({
      connected: false,
      issuer: other.issuer,
    });
    expect(outcome(await connect(meant))).toEqual({ upstream: "up" });
    const shown = JSON.stringify(other.seen);
    expect(at.seen.filter(({ path }) => path === "/register")).toHaveLength(1);
    expect(shown).not.toContain("refresh-");
  });

  it.each<[string, (bench: Bench) => Promise<unknown>]>([
    ["refuses the token", async ({ grants }) => grants.tokens.renewed("up", asAda, await tokenOf({ grants }))],
    ["wants other scopes", ({ grants }) => grants.tokens.lacking("up", asAda, ["more"])],
  ])("is noticed at the next connecting when the upstream %s, however fresh what it said is", async (_name, meet) => {
    const at = await provider({
      shape: (status, body) => ({ status, body: { ...body, refresh_token: undefined } }),
    });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.ways = { ...at.ways, resourceChanges: { authorization_servers: ["https://other.test"] } };
    expect(outcome(await connect(bench))).toEqual({ upstream: "up" });
    await meet(bench);
    expect(outcome(await connect(bench))).toBe("UPSTREAM_ISSUER_CHANGED");
  });

  it("stays the known one while the upstream names it among others", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.ways = { resourceChanges: { authorization_servers: ["https://first.test", at.issuer] } };
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    expect(outcome(await connect(bench))).toEqual({ upstream: "up" });
  });

  it("that is not the configured one is refused at once", async () => {
    const at = await provider();
    const options = { upstream: { issuer: "https://pinned.test" } };
    expect(await begin(at, options)).toBe("UPSTREAM_ISSUER_CHANGED");
  });
});

describe("a challenge", () => {
  it.each([
    ['Bearer resource_metadata="https://a.test/x", scope="a b"', "https://a.test/x", ["a", "b"], undefined],
    ['Basic realm="r", bearer error="insufficient_scope", scope="a a b"', undefined, ["a", "b"], "insufficient_scope"],
    ['Bearer error=invalid_token, scope=""', undefined, undefined, "invalid_token"],
    ['Bearer scope="with \\"quotes\\""', undefined, ["with"], undefined],
    ['Negotiate, Bearer resource_metadata="https://a.test/x"', "https://a.test/x", undefined, undefined],
    ["Basic realm=x", undefined, undefined, undefined],
    ["", undefined, undefined, undefined],
    [undefined, undefined, undefined, undefined],
  ])("%j is read", (header, resourceMetadata, scopes, error) => {
    expect(readChallenge(header, 10)).toEqual({ resourceMetadata, scopes, error });
  });

  it("is read up to a bound of scopes", () => {
    expect(readChallenge('Bearer scope="a b c"', 2).scopes).toEqual(["a", "b"]);
  });
});
