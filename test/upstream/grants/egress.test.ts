import type { LookupAddress } from "node:dns";
import { describe, expect, it } from "vitest";
import { limits } from "../../../src/model/limits.ts";
import { createGuardedFetch } from "../../../src/upstream/egress.ts";
import { ada, asAda, benchFor, connect, outcome, provider, redirectUri, valueOf } from "./bench.ts";
import type { Provider } from "./provider.ts";

/** Where nothing of this may lead. Under `addresses: loopback` private and public addresses are as forbidden as these. */
const forbidden = [
  ["link-local, where metadata services live", "https://169.254.169.254"],
  ["private", "https://10.0.0.1"],
  ["an IPv6 form of a private one", "https://[::ffff:10.0.0.1]"],
  ["a number for a private one", "https://167772161"],
  ["unique local", "https://[fd00::1]"],
] as const;

type Place = (at: Provider, url: string) => void;

const places: readonly (readonly [string, Place])[] = [
  ["the issuer", (at, url) => (at.ways = { resourceChanges: { authorization_servers: [url] } })],
  ["the authorization endpoint", (at, url) => (at.ways = { serverChanges: { authorization_endpoint: `${url}/a` } })],
  ["the token endpoint", (at, url) => (at.ways = { serverChanges: { token_endpoint: `${url}/t` } })],
  ["the registration endpoint", (at, url) => (at.ways = { serverChanges: { registration_endpoint: `${url}/r` } })],
  ["the revocation endpoint", (at, url) => (at.ways = { serverChanges: { revocation_endpoint: `${url}/v` } })],
];

describe("a URL that an upstream or its authorization server names", () => {
  const cases = places.flatMap(([place, put]) => forbidden.map(([kind, url]) => [place, kind, url, put] as const));

  it.each(cases)("%s at an address that is %s is refused", async (_place, _kind, url, put) => {
    const at = await provider();
    put(at, url);
    const begun = outcome(await benchFor(at.url).grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
    expect(begun).toMatch(/^UPSTREAM_AUTHORIZATION_UNUSABLE (issuer|endpoint)-url$/);
  });

  it.each(forbidden)(
    "metadata that the challenge places at an address that is %s is not fetched",
    async (_kind, url) => {
      const challenge = `Bearer resource_metadata="${url}/x"`;
      const fetches: string[] = [];
      const guarded = createGuardedFetch({ allow: "loopback", timeoutMs: 1_000, bytesMax: 10_000 });
      const bench = benchFor("http://127.0.0.1:9/mcp", {
        more: {
          fetchFrom: () => (target, init) => {
            fetches.push(String(target));
            if (init?.method !== "POST") return guarded(target, init);
            return Promise.resolve(new Response(null, { status: 401, headers: { "www-authenticate": challenge } }));
          },
        },
      });
      const begun = outcome(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
      expect(begun).toBe("UPSTREAM_ADDRESS_FORBIDDEN");
      expect(fetches).toHaveLength(2);
    },
  );

  it("on loopback is refused unless the upstream itself may be there", async () => {
    const at = await provider();
    for (const addresses of ["public", "private"] as const) {
      const bench = benchFor(at.url, { upstream: { addresses } });
      expect(outcome(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }))).toBe(
        "UPSTREAM_ADDRESS_FORBIDDEN",
      );
    }
    expect(at.seen).toEqual([]);
  });

  it("by name is judged at every dialling: an answer of the name server that changes afterwards leads nowhere", async () => {
    const at = await provider();
    const { port } = new URL(at.origin);
    at.ways = { serverChanges: { registration_endpoint: `https://named.test:${port}/register` } };
    const resolved: string[] = [];
    // The first answer is judged and dialled, and no second is asked for; the name's next dialling gets the next.
    const answers: LookupAddress[] = [{ address: "127.0.0.1", family: 4 }];
    const fetchFrom = (): ReturnType<typeof createGuardedFetch> =>
      createGuardedFetch({
        allow: "loopback",
        timeoutMs: limits.issuerFetchTimeoutMs,
        bytesMax: limits.issuerMetadataBytesMax,
        resolve: (name, answer) => {
          resolved.push(name);
          answer(null, [answers.shift() ?? { address: "10.0.0.1", family: 4 }]);
        },
      });
    const bench = benchFor(at.url, { more: { fetchFrom } });
    const begin = async (): Promise<unknown> =>
      outcome(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
    // It speaks no TLS, so dialling it comes to nothing; but it was dialled.
    expect(await begin()).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(await begin()).toBe("UPSTREAM_ADDRESS_FORBIDDEN");
    expect(resolved).toEqual(["named.test", "named.test"]);
    expect(at.seen.filter(({ path }) => path === "/register")).toEqual([]);
  });

  it("that answers with a redirect is not followed", async () => {
    const at = await provider();
    const other = await provider();
    at.ways = {
      serverChanges: {
        registration_endpoint: `${at.origin}/authorize?redirect_uri=${encodeURIComponent(`${other.origin}/register`)}`,
      },
    };
    expect(outcome(await connect(benchFor(at.url)))).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(other.seen).toEqual([]);
  });

  it("for tokens that moves to a forbidden place between two uses keeps the grant and sends nothing there", async () => {
    const at = await provider({ expiresIn: 60 });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.ways = { serverChanges: { token_endpoint: "https://169.254.169.254/token" } };
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    expect(outcome(await bench.grants.tokens.tokenFor("up", asAda))).toBe(
      "UPSTREAM_AUTHORIZATION_UNUSABLE endpoint-url",
    );
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({ connected: true });
  });
});
