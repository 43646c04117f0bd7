import { describe, expect, it } from "vitest";
import { ada, asAda, benchFor, connect, outcome, provider, tokenOf, valueOf } from "./bench.ts";
import type { GuardedFetch } from "../../../src/upstream/egress.ts";
import type { Bench } from "./bench.ts";
import type { Provider, ProviderWays } from "./provider.ts";

const lifeMs = 100_000;

/** A grant that has just expired. */
async function expired(ways: ProviderWays = {}): Promise<{ bench: Bench; at: Provider; old: string }> {
  const at = await provider({ expiresIn: lifeMs / 1_000, ...ways });
  const bench = benchFor(at.url);
  valueOf(await connect(bench));
  const old = await tokenOf(bench);
  bench.clock.now += lifeMs;
  return { bench, at, old };
}

/** A token endpoint that gives no refresh token. */
const withoutRefresh = (
  status: number,
  body: Readonly<Record<string, unknown>>,
): { status: number; body: Record<string, unknown> } => ({ status, body: { ...body, refresh_token: undefined } });

describe("a token that expires", () => {
  it("is renewed shortly before, by the leeway, and not earlier", async () => {
    const { bench, at, old } = await expired();
    bench.clock.now -= bench.options.limits.upstreamTokenLeewayMs + 1;
    expect(await tokenOf(bench)).toBe(old);
    expect(at.refreshes()).toBe(0);
    bench.clock.now += 1;
    expect(await tokenOf(bench)).not.toBe(old);
    expect(at.refreshes()).toBe(1);
  });

  it("is renewed at a time that differs between replicas", async () => {
    const { bench, at, old } = await expired();
    const early = benchFor(at.url, { ...bench, more: { jitter: () => 0.5 } });
    bench.clock.now -= bench.options.limits.upstreamTokenLeewayMs + 1;
    expect(await tokenOf(bench)).toBe(old);
    expect(await tokenOf(early)).not.toBe(old);
  });

  it("sends the resource along, and the same client", async () => {
    const { bench, at } = await expired();
    await tokenOf(bench);
    const request = at.seen.filter(({ path }) => path === "/token").at(-1);
    expect(request?.params).toMatchObject({ grant_type: "refresh_token", resource: at.url });
    expect(request?.authorization).toMatch(/^Basic /);
  });

  it("is renewed again with the token that came, and with the old one where none came", async () => {
    const { bench, at } = await expired({ rotates: false });
    for (let count = 1; count <= 3; count += 1) {
      expect(at.live).toContain(await tokenOf(bench));
      expect(at.refreshes()).toBe(count);
      bench.clock.now += lifeMs;
    }
  });

  it("is not renewed for a client without consent", async () => {
    const { bench, at } = await expired();
    expect(await tokenOf(bench, { person: ada, clientId: "other" })).toBe("UPSTREAM_CONNECTION_REQUIRED not-consented");
    expect(at.refreshes()).toBe(0);
  });

  it("of which the server never said when is good until the upstream refuses it", async () => {
    const { bench, at, old } = await expired({ expiresIn: undefined });
    bench.clock.now += 10 * lifeMs;
    expect(await tokenOf(bench)).toBe(old);
    expect(at.refreshes()).toBe(0);
  });

  it("without a refresh token serves to its end, and then the person connects again", async () => {
    const { bench, old } = await expired({ shape: withoutRefresh });
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED expired");
    bench.clock.now -= 1;
    expect(await tokenOf(bench)).toBe(old);
  });
});

describe("many calls at the moment of expiry", () => {
  it("fifty in one process come to one refresh and fifty successes, and one of them takes the lock", async () => {
    const { bench, at, old } = await expired();
    const locks: boolean[] = [];
    const setIfAbsent: typeof bench.store.setIfAbsent = async (key, value, ttlMs) => {
      const set = await bench.store.setIfAbsent(key, value, ttlMs);
      if (key[0] === "grant-refresh") locks.push(set);
      return set;
    };
    const counted = benchFor(at.url, { store: { ...bench.store, setIfAbsent }, clock: bench.clock });
    const tokens = await Promise.all(Array.from({ length: 50 }, () => tokenOf(counted)));
    expect(at.refreshes()).toBe(1);
    expect(locks).toEqual([true]);
    expect(new Set(tokens).size).toBe(1);
    expect(at.live).toContain(tokens[0]);
    expect(tokens[0]).not.toBe(old);
  });

  it("fifty on two replicas come to one refresh and fifty successes", async () => {
    const { bench, at } = await expired();
    const replica = benchFor(at.url, { store: bench.store, clock: bench.clock });
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, index) => tokenOf(index % 2 === 0 ? bench : replica)),
    );
    expect(at.refreshes()).toBe(1);
    expect(new Set(tokens).size).toBe(1);
    expect(at.live).toContain(tokens[0]);
  });

  it("a consent that is given in the middle of a refresh is kept, and so are the tokens", async () => {
    const { bench, at } = await expired();
    const [token, consented] = await Promise.all([tokenOf(bench), bench.grants.pages.consent(ada, "other", "up")]);
    expect(consented.ok).toBe(true);
    expect(await tokenOf(bench, { person: ada, clientId: "other" })).toBe(token);
    expect(at.refreshes()).toBe(1);
  });

  it("waiters give up within their time when the holder of the lock has died, and serve once the lock has ended", async () => {
    const limits = { grantRefreshWaitMs: 60, grantRefreshPollMsMax: 20 };
    const { bench, at } = await expired();
    const locked = { ...bench.store, setIfAbsent: () => Promise.resolve(false) };
    const waiting = benchFor(at.url, { store: locked, clock: bench.clock, limits });
    expect(await tokenOf(waiting)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(at.refreshes()).toBe(0);
    expect(at.live).toContain(await tokenOf(bench));
  });
});

describe("a refresh that fails", () => {
  it.each<[string, Provider["tokenTroubles"][number]]>([
    ["a status of 500", { status: 500 }],
    ["a status of 503 with an error body", { status: 503, body: { error: "temporarily_unavailable" } }],
    ["a status of 429", { status: 429 }],
    ["invalid_request", { status: 400, body: { error: "invalid_request" } }],
    ["invalid_grant under a 500", { status: 500, body: { error: "invalid_grant" } }],
    ["a lost connection", "cut-before"],
  ])("by %s before the token was consumed loses no grant: tried once more at once", async (_name, trouble) => {
    const { bench, at } = await expired();
    at.tokenTroubles.push(trouble);
    expect(at.live).toContain(await tokenOf(bench));
  });

  it("again and again is told, keeps the grant, and is not repeated at once", async () => {
    const { bench, at, old } = await expired();
    at.tokenTroubles.push({ status: 500 }, { status: 500 });
    expect(await tokenOf(bench)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    const before = at.refreshes();
    expect(await tokenOf(bench)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect(at.refreshes()).toBe(before);
    bench.clock.now += bench.options.limits.upstreamCredentialRetryMsMin;
    const token = await tokenOf(bench);
    expect(at.live).toContain(token);
    expect(token).not.toBe(old);
  });

  it("before the old token has expired is nobody's trouble", async () => {
    const { bench, at, old } = await expired();
    bench.clock.now -= 1;
    at.tokenTroubles.push({ status: 500 }, { status: 500 });
    expect(await tokenOf(bench)).toBe(old);
    bench.clock.now += 1;
    expect(await tokenOf(bench)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
  });

  it("by invalid_grant ends the grant: the person connects again and is told why, consents included", async () => {
    const { bench, at } = await expired();
    at.withdraw();
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED withdrawn");
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED withdrawn");
    expect(at.refreshes()).toBe(1);
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({
      connected: false,
      reason: "withdrawn",
    });
    expect(outcome(await connect(bench))).toEqual({ upstream: "up" });
    expect(at.live).toContain(await tokenOf(bench));
  });

  it("after the server rotated, the answer being lost, ends the grant as a lost rotation", async () => {
    const { bench, at } = await expired();
    at.tokenTroubles.push("cut-after");
    expect(await tokenOf(bench)).toBe("UPSTREAM_CONNECTION_REQUIRED rotation-lost");
  });

  it("as a process died in the middle of it is a lost rotation to the next process", async () => {
    const { bench, at } = await expired();
    at.tokenTroubles.push("cut-after", { status: 500 });
    expect(await tokenOf(bench)).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    const next = benchFor(at.url, { store: bench.store, clock: bench.clock });
    expect(await tokenOf(next)).toBe("UPSTREAM_CONNECTION_REQUIRED rotation-lost");
  });

  it("for whoever lost the race deletes nothing of the winner's", async () => {
    const { bench, at } = await expired();
    // The other replica never sees the lock, so both ask; the second to come is told invalid_grant.
    const blind = { ...bench.store, setIfAbsent: () => Promise.resolve(true) };
    const one = benchFor(at.url, { store: blind, clock: bench.clock });
    const two = benchFor(at.url, { store: blind, clock: bench.clock });
    await Promise.all([tokenOf(one), tokenOf(two)]);
    expect(at.refreshes()).toBe(2);
    expect(at.live).toContain(await tokenOf(bench));
    expect(at.refreshes()).toBe(2);
  });
});

describe("a refresh that meets something else", () => {
  it("is kept although another replica has taken the grant for lost meanwhile", async () => {
    const { bench, at } = await expired();
    // Both ask, the second is told invalid_grant, and writes that before the first has its answer.
    const blind = { ...bench.store, setIfAbsent: () => Promise.resolve(true) };
    const second = benchFor(at.url, { store: blind, clock: bench.clock });
    const first = benchFor(at.url, {
      store: blind,
      clock: bench.clock,
      more: { fetchFrom: () => slowAt(at, () => tokenOf(second)) },
    });
    expect(at.live).toContain(await tokenOf(first));
    expect(at.refreshes()).toBe(2);
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).not.toHaveProperty("reason");
  });

  it("of a grant that is revoked meanwhile is undone at the provider, and serves nobody", async () => {
    const { bench, at } = await expired();
    const slow = benchFor(at.url, {
      store: bench.store,
      clock: bench.clock,
      more: { fetchFrom: () => slowAt(at, () => bench.grants.pages.revoke(ada, "up")) },
    });
    expect(await tokenOf(slow)).toBe("UPSTREAM_CONNECTION_REQUIRED not-connected");
    expect(at.seen.filter(({ path }) => path === "/revoke")).toHaveLength(2);
  });

  it("leaves the reason in place that more scopes are wanted, and takes any other away", async () => {
    const { bench } = await expired();
    await bench.grants.tokens.lacking("up", asAda, ["write"]);
    await tokenOf(bench);
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({ reason: "scope-insufficient" });
  });
});

/** Fetches for which something happens between the answer of the token endpoint and its arrival, once. */
function slowAt(at: Provider, meanwhile: () => Promise<unknown>): GuardedFetch {
  let happened = false;
  return async (url, init) => {
    const response = await fetch(url, init);
    if (happened || !String(url).startsWith(`${at.origin}/token`)) return response;
    happened = true;
    await meanwhile();
    return response;
  };
}

describe("a token that the upstream answers with 401", () => {
  it("is renewed once for all who used it", async () => {
    const { bench, at, old } = await expired();
    bench.clock.now -= lifeMs;
    const renewed = await Promise.all(Array.from({ length: 5 }, () => bench.grants.tokens.renewed("up", asAda, old)));
    expect(at.refreshes()).toBe(1);
    expect(new Set(renewed.map((one) => valueOf(one).accessToken)).size).toBe(1);
    const late = valueOf(await bench.grants.tokens.renewed("up", asAda, old));
    expect(late.accessToken).toBe(await tokenOf(bench));
    expect(at.refreshes()).toBe(1);
  });

  it("and cannot be renewed sends the person to connect again, and costs the grant nothing", async () => {
    const at = await provider({ shape: withoutRefresh });
    const bench = benchFor(at.url);
    valueOf(await connect(bench));
    const used = await tokenOf(bench);
    expect(outcome(await bench.grants.tokens.renewed("up", asAda, used))).toBe(
      "UPSTREAM_CONNECTION_REQUIRED token-refused",
    );
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({
      connected: true,
      reason: "token-refused",
    });
    expect(await tokenOf(bench)).toBe(used);
  });
});
