import { describe, expect, it, vi } from "vitest";
import { createGuardedFetch } from "../../../src/upstream/egress.ts";
import {
  ada,
  approve,
  asAda,
  benchFor,
  bob,
  connect,
  editor,
  outcome,
  provider,
  redirectUri,
  tokenOf,
  valueOf,
} from "./bench.ts";
import type { UserGrants } from "../../../src/connect/port.ts";
import type { Bench } from "./bench.ts";
import type { Provider } from "./provider.ts";

interface Begun {
  readonly bench: Bench;
  readonly at: Provider;
  readonly attempt: string;
  readonly params: URLSearchParams;
}

/** A person who agreed, and whose browser has not come back yet. */
async function agreed(ways: Parameters<typeof provider>[0] = {}): Promise<Begun> {
  const at = await provider(ways);
  const bench = benchFor(at.url);
  const { url, attempt } = valueOf(await bench.grants.pages.begin({ ...asAda, upstream: "up", redirectUri }));
  return { bench, at, attempt, params: await approve(url) };
}

/** Of the first request to this path. */
function paramsOf(at: Provider, path: string): Readonly<Record<string, string>> {
  const found = at.seen.find((seen) => seen.path === path);
  if (found === undefined) throw new Error(`nobody asked ${path}`);
  return found.params;
}

describe("connecting", () => {
  it("asks with PKCE S256, state, resource and the redirect URI, and gives the person a token", async () => {
    const at = await provider({ challengeScope: "read" });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const params = paramsOf(at, "/authorize");
    expect(params).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: redirectUri,
      resource: at.url,
      scope: "read",
    });
    expect(params["state"]).toMatch(/^[\w-]{43}$/);
    expect(params["code_challenge"]).toMatch(/^[\w-]{43}$/);
    expect(at.live).toContain(await tokenOf(bench));
  });

  it("describes the grant before, after, and to nobody else", async () => {
    const at = await provider({ challengeScope: "read" });
    const bench = benchFor(at.url);
    // What the pages of /connect ask for is what they get.
    const pages: UserGrants = bench.grants.pages;
    expect(pages.upstreams()).toEqual([{ name: "up", title: "The upstream" }]);
    expect(outcome(await pages.describe(ada, "up"))).toEqual({
      connected: false,
      scopes: ["read"],
      clients: [],
      issuer: at.issuer,
    });
    valueOf(await connect(bench));
    const connected = {
      connected: true,
      scopes: ["read"],
      since: bench.clock.now,
      clients: [editor],
      issuer: at.issuer,
    };
    expect(outcome(await pages.describe(ada, "up"))).toEqual(connected);
    expect(outcome(await pages.describe(bob, "up"))).toMatchObject({ connected: false });
    expect(outcome(await pages.describe(ada, "elsewhere"))).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-such-upstream");
  });

  it("refuses an attempt that somebody else finishes, and leaves it to its owner", async () => {
    const { bench, attempt, params } = await agreed();
    const finished = await bench.grants.pages.finish({ person: bob, attempt, params });
    expect(outcome(finished)).toBe("UPSTREAM_CONNECTION_REFUSED attempt-not-yours");
    const elsewhere = { ...ada, tenant: "another" };
    expect(outcome(await bench.grants.pages.finish({ person: elsewhere, attempt, params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED attempt-unknown",
    );
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toEqual({ upstream: "up" });
  });

  it("refuses another state, as of a forged answer, which does not use the attempt up", async () => {
    const { bench, attempt, params } = await agreed();
    const forged = new URLSearchParams({ ...Object.fromEntries(params), state: "forged" });
    const finish = (answer: URLSearchParams): ReturnType<typeof bench.grants.pages.finish> =>
      bench.grants.pages.finish({ person: ada, attempt, params: answer });
    expect(outcome(await finish(forged))).toBe("UPSTREAM_CONNECTION_REFUSED attempt-not-yours");
    expect(outcome(await finish(new URLSearchParams()))).toBe("UPSTREAM_CONNECTION_REFUSED attempt-not-yours");
    expect(outcome(await finish(params))).toEqual({ upstream: "up" });
  });

  it("lets one of two parallel answers through, and exchanges the code once", async () => {
    const { bench, at, attempt, params } = await agreed();
    const finish = (): ReturnType<typeof bench.grants.pages.finish> =>
      bench.grants.pages.finish({ person: ada, attempt, params });
    const outcomes = (await Promise.all([finish(), finish()])).map(outcome);
    expect(outcomes).toContainEqual({ upstream: "up" });
    expect(outcomes).toContain("UPSTREAM_CONNECTION_REFUSED attempt-unknown");
    expect(at.seen.filter(({ path }) => path === "/token")).toHaveLength(1);
    expect(outcome(await finish())).toBe("UPSTREAM_CONNECTION_REFUSED attempt-unknown");
  });

  it("refuses an attempt once its time is over, not a moment before", async () => {
    const first = await agreed();
    first.bench.clock.now += first.bench.options.limits.grantAttemptMs - 1;
    expect(outcome(await first.bench.grants.pages.finish({ person: ada, ...first }))).toEqual({ upstream: "up" });
    const second = await agreed();
    second.bench.clock.now += second.bench.options.limits.grantAttemptMs;
    expect(outcome(await second.bench.grants.pages.finish({ person: ada, ...second }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED attempt-unknown",
    );
  });

  it("may be begun so often within that time, by each person", async () => {
    const at = await provider();
    const bench = benchFor(at.url, { limits: { grantAttemptsMax: 2 } });
    const begin = async (person = ada): Promise<boolean> =>
      (await bench.grants.pages.begin({ person, clientId: editor, upstream: "up", redirectUri })).ok;
    expect([await begin(), await begin(), await begin(), await begin(bob)]).toEqual([true, true, false, true]);
    bench.clock.now += bench.options.limits.grantAttemptMs;
    expect(await begin()).toBe(true);
  });

  it("anew leaves the old tokens to the server: to revoke them may end the new ones there (RFC 7009 §2.1)", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const old = await tokenOf(bench);
    valueOf(await connect(bench));
    expect(await tokenOf(bench)).not.toBe(old);
    expect(at.seen.filter(({ path }) => path === "/revoke")).toEqual([]);
  });

  it("for no client in particular admits none", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench, { person: ada, clientId: "" }));
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-consented");
    valueOf(await bench.grants.pages.consent(ada, editor, "up"));
    expect(at.live).toContain(await tokenOf(bench));
  });

  it.each([
    ["access_denied", "denied"],
    ["server_error", "server-error"],
  ])("tells %s apart", async (error, reason) => {
    const { bench, attempt, params } = await agreed();
    params.delete("code");
    params.set("error", error);
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(
      `UPSTREAM_CONNECTION_REFUSED ${reason}`,
    );
  });

  it("refuses a code that the server refuses, such as another attempt's", async () => {
    const { bench, attempt, params } = await agreed();
    params.set("code", "injected");
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED code-refused",
    );
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it("refuses the code of another person's sign-in, which was made for another challenge", async () => {
    const mine = await agreed();
    const theirs = valueOf(
      await mine.bench.grants.pages.begin({ person: bob, clientId: editor, upstream: "up", redirectUri }),
    );
    mine.params.set("code", (await approve(theirs.url)).get("code") ?? "");
    expect(outcome(await mine.bench.grants.pages.finish({ person: ada, ...mine }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED code-refused",
    );
  });
});

describe("who answered (RFC 9207)", () => {
  const saysSo = { serverChanges: { authorization_response_iss_parameter_supported: true } };
  const silent = { serverChanges: { authorization_response_iss_parameter_supported: undefined } };
  const [connected, mismatch] = [{ upstream: "up" }, "UPSTREAM_CONNECTION_REFUSED issuer-mismatch"];
  const unproven = "UPSTREAM_AUTHORIZATION_UNUSABLE issuer-unproven";
  const evil = "https://evil.test";

  /** What comes of it where an operator named the server, and where the upstream alone did. */
  it.each<[string, Parameters<typeof provider>[0], named: string | object, unnamed: string | object]>([
    ["advertised and right", saysSo, connected, connected],
    ["advertised and missing", { ...saysSo, iss: null }, mismatch, mismatch],
    ["advertised and another", { ...saysSo, iss: evil }, mismatch, mismatch],
    ["not advertised and missing", { ...silent, iss: null }, connected, unproven],
    ["not advertised and right", silent, connected, unproven],
    ["not advertised and another", { ...silent, iss: evil }, mismatch, unproven],
  ])("iss is %s", async (_name, ways, named, unnamed) => {
    const at = await provider(ways);
    expect(outcome(await connect(benchFor(at.url)))).toEqual(unnamed);
    expect(outcome(await connect(benchFor(at.url, { upstream: { issuer: at.issuer } })))).toEqual(named);
  });

  it("a server that cannot be told from others is refused before it hears of anybody, and the page says so at once", async () => {
    const at = await provider({ iss: null });
    const bench = benchFor(at.url);
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toBe(unproven);
    expect(outcome(await connect(bench))).toBe(unproven);
    expect(at.seen.filter(({ path }) => ["/register", "/authorize", "/token"].includes(path))).toEqual([]);
  });

  it("what an unnamed server says of itself after the attempt began does not excuse it", async () => {
    const { bench, at, attempt, params } = await agreed();
    params.delete("iss");
    at.ways = { iss: null };
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(mismatch);
    expect(at.seen.filter(({ path }) => path === "/token")).toEqual([]);
  });

  it.each(["access_denied", "server_error"])(
    "the error %s of who does not say who they are is nobody's",
    async (error) => {
      const { bench, attempt, params } = await agreed();
      params.delete("code");
      params.set("error", error);
      params.delete("iss");
      expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(mismatch);
    },
  );

  it("a grant of before serves on, is renewed and revoked, though its server would have to be named by now", async () => {
    const at = await provider({ expiresIn: 100 });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.ways = { iss: null, expiresIn: 100 };
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    expect(at.live).toContain(await tokenOf(bench));
    expect(at.refreshes()).toBe(1);
    expect(outcome(await bench.grants.pages.revoke(ada, "up"))).toEqual({ revokedAtProvider: true });
  });

  it("an issuer that differs by a slash is another", async () => {
    const { bench, at, attempt, params } = await agreed();
    params.set("iss", `${at.issuer}/`);
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED issuer-mismatch",
    );
    expect(at.seen.filter(({ path }) => path === "/token")).toEqual([]);
  });

  it("the code goes to the server of the attempt alone: when the upstream names another meanwhile, nowhere", async () => {
    const { bench, at, attempt, params } = await agreed();
    const other = await provider();
    at.ways = { resourceChanges: { authorization_servers: [other.issuer] } };
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    expect(outcome(await bench.grants.pages.finish({ person: ada, attempt, params }))).toBe("UPSTREAM_ISSUER_CHANGED");
    expect(other.seen).toEqual([]);
    expect(at.seen.filter(({ path }) => path === "/token")).toEqual([]);
  });

  it("nor to the server that another replica's configuration names by then", async () => {
    const { bench, at, attempt, params } = await agreed();
    const other = await provider();
    at.ways = { resourceChanges: { authorization_servers: [at.issuer, other.issuer] } };
    const replica = benchFor(at.url, { store: bench.store, clock: bench.clock, upstream: { issuer: other.issuer } });
    expect(outcome(await replica.grants.pages.finish({ person: ada, attempt, params }))).toBe(
      "UPSTREAM_CONNECTION_REFUSED issuer-changed",
    );
    expect(other.seen.filter(({ method }) => method === "POST")).toEqual([]);
  });
});

describe("consent", () => {
  const other = { person: ada, clientId: "other" };

  it("is per client: a second client has no token before the person agrees", async () => {
    const bench = benchFor((await provider()).url);
    valueOf(await connect(bench));
    expect(await tokenOf(bench, other)).toBe("UPSTREAM_CONNECTION_REQUIRED not-consented");
    valueOf(await bench.grants.pages.consent(ada, "other", "up"));
    expect(await tokenOf(bench, other)).toBe(await tokenOf(bench));
  });

  it("cannot be given before there is a grant, nor by somebody else", async () => {
    const bench = benchFor((await provider()).url);
    const consent = async (person = ada): Promise<unknown> =>
      outcome(await bench.grants.pages.consent(person, "other", "up"));
    expect(await consent()).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    valueOf(await connect(bench));
    expect(await consent(bob)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(await tokenOf(bench, other)).toBe("UPSTREAM_CONNECTION_REQUIRED not-consented");
  });

  it("that two give at once is kept of both, though one is written between the other's reading and writing", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    let readings = 0;
    const get: typeof bench.store.get = async (key) => {
      const value = await bench.store.get(key);
      if (key[0] === "grant" && (readings += 1) === 2) valueOf(await bench.grants.pages.consent(ada, "first", "up"));
      return value;
    };
    const slow = benchFor(at.url, { store: { ...bench.store, get }, clock: bench.clock });
    valueOf(await slow.grants.pages.consent(ada, "second", "up"));
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({
      clients: [editor, "first", "second"],
    });
  });

  it("is bounded per grant", async () => {
    const bench = benchFor((await provider()).url, { limits: { grantClientsMax: 2 } });
    valueOf(await connect(bench));
    expect((await bench.grants.pages.consent(ada, "second", "up")).ok).toBe(true);
    expect(outcome(await bench.grants.pages.consent(ada, "third", "up"))).toBe(
      "UPSTREAM_CONNECTION_REFUSED too-many-clients",
    );
  });

  it("of other clients stays when the person connects again, unless the grant may then do more", async () => {
    const at = await provider({ challengeScope: "read" });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    valueOf(await bench.grants.pages.consent(ada, "other", "up"));
    valueOf(await connect(bench));
    expect(at.live).toContain(await tokenOf(bench, other));
    valueOf({ ok: true, value: outcome(await bench.grants.tokens.lacking("up", asAda, ["write"])) });
    valueOf(await connect(bench));
    expect(await tokenOf(bench, other)).toBe("UPSTREAM_CONNECTION_REQUIRED not-consented");
  });
});

describe("an upstream that asks for more scopes", () => {
  it("sends the person to connect again with all of them, and the grant serves on meanwhile", async () => {
    const at = await provider({ challengeScope: "read list" });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const refused = await bench.grants.tokens.lacking("up", asAda, ["write", "read"]);
    expect(outcome(refused)).toBe("UPSTREAM_CONNECTION_REQUIRED scope-insufficient");
    expect(at.live).toContain(await tokenOf(bench));
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({
      connected: true,
      reason: "scope-insufficient",
    });
    at.ways = {};
    bench.clock.now += bench.options.limits.upstreamAuthorizationAgeMsMax;
    valueOf(await connect(bench));
    expect(at.seen.filter(({ path }) => path === "/authorize").at(-1)?.params["scope"]).toBe("read list write");
    const after = outcome(await bench.grants.pages.describe(ada, "up"));
    expect(after).toMatchObject({ connected: true, scopes: ["read", "list", "write"] });
    expect(after).not.toHaveProperty("reason");
  });
});

describe("revoking", () => {
  it("ends the grant at the provider as well, by its refresh token", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    expect(outcome(await bench.grants.pages.revoke(ada, "up"))).toEqual({ revokedAtProvider: true });
    const params = paramsOf(at, "/revoke");
    expect(params).toMatchObject({ token_type_hint: "refresh_token" });
    expect(params["token"]).toMatch(/^refresh-/);
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(outcome(await bench.grants.pages.revoke(ada, "up"))).toEqual({ revokedAtProvider: false });
  });

  it.each([
    ["offers no revocation", { serverChanges: { revocation_endpoint: undefined } }],
    ["cannot be reached there", { serverChanges: { revocation_endpoint: "http://127.0.0.1:1/revoke" } }],
  ])("ends it here when the provider %s, and says so", async (_name, ways) => {
    const bench = benchFor((await provider(ways)).url);
    valueOf(await connect(bench));
    expect(outcome(await bench.grants.pages.revoke(ada, "up"))).toEqual({ revokedAtProvider: false });
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it("all of a person's grants leaves other people's", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    const asBob = { person: bob, clientId: editor };
    valueOf(await connect(bench));
    valueOf(await connect(bench, asBob));
    expect(await bench.grants.pages.revokeAll(ada)).toEqual({ ended: 1, revokedAtProvider: 1 });
    expect(await bench.grants.pages.revokeAll(ada)).toEqual({ ended: 0, revokedAtProvider: 0 });
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(at.live).toContain(await tokenOf(bench, asBob));
  });
});

describe("a grant that is assigned to a service", () => {
  const bot = { person: { ...ada, subject: "bot" }, clientId: "nightly" };

  it("serves that service and its one client, and the person no more", async () => {
    const at = await provider();
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const moved = await bench.grants.pages.assign(ada, bot.person, { upstream: "up", clientId: bot.clientId });
    expect(moved.ok).toBe(true);
    expect(at.live).toContain(await tokenOf(bench, bot));
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(await tokenOf(bench, { ...bot, clientId: editor })).toBe("UPSTREAM_CONNECTION_REQUIRED not-consented");
  });

  it("must be there", async () => {
    const bench = benchFor((await provider()).url);
    const moved = await bench.grants.pages.assign(ada, bot.person, { upstream: "up", clientId: "nightly" });
    expect(outcome(moved)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it("must be good: a lost one stays its owner's, with the reason", async () => {
    const at = await provider({ expiresIn: 100 });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    at.withdraw();
    bench.clock.now += 100_000;
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED withdrawn");
    const moved = await bench.grants.pages.assign(ada, bot.person, { upstream: "up", clientId: "nightly" });
    expect(outcome(moved)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED withdrawn");
  });

  it("in the middle of a refresh is moved with what the refresh got", async () => {
    const at = await provider({ expiresIn: 3_600 });
    const real = createGuardedFetch({ allow: "loopback", timeoutMs: 5_000, bytesMax: 1_000_000 });
    const moving: Promise<unknown>[] = [];
    const bench = benchFor(at.url, {
      more: {
        fetchFrom: () => async (url, init) => {
          const response = await real(url, init);
          // The server has rotated, and its answer is not here yet.
          if (at.refreshes() === 1 && moving.length === 0) {
            moving.push(bench.grants.pages.assign(ada, bot.person, { upstream: "up", clientId: bot.clientId }));
            await vi.waitFor(() => {
              expect(asked).toBeGreaterThan(1);
            });
          }
          return response;
        },
      },
    });
    let asked = 0;
    const setIfAbsent = bench.store.setIfAbsent.bind(bench.store);
    const counting: typeof setIfAbsent = (key, ...rest) => {
      if (key[0] === "grant-refresh") asked += 1;
      return setIfAbsent(key, ...rest);
    };
    Object.assign(bench.store, { setIfAbsent: counting });
    valueOf(await connect(bench));
    bench.clock.now += 3_600_000;
    await tokenOf(bench);
    expect(await Promise.all(moving)).toEqual([{ ok: true, value: undefined }]);
    expect(at.live).toContain(await tokenOf(bench, bot));
    bench.clock.now += 3_600_000;
    expect(at.live).toContain(await tokenOf(bench, bot));
    expect([at.refreshes(), at.refreshTokens()]).toEqual([2, 1]);
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
  });

  it("is refused for the moment while a refresh of it does not end, and stays where it is", async () => {
    const at = await provider();
    const bench = benchFor(at.url, { limits: { grantRefreshWaitMs: 60, grantRefreshPollMsMax: 20 } });
    valueOf(await connect(bench));
    const locked = { ...bench.store, setIfAbsent: () => Promise.resolve(false) };
    const waiting = benchFor(at.url, { ...bench, store: locked, limits: { grantRefreshWaitMs: 60 } });
    const moved = await waiting.grants.pages.assign(ada, bot.person, { upstream: "up", clientId: "nightly" });
    expect(outcome(moved)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(at.live).toContain(await tokenOf(bench));
  });
});
