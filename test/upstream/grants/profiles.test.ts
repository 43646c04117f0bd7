import { describe, expect, it } from "vitest";
import { ada, asAda, benchFor, connect, outcome, provider, tokenOf, valueOf } from "./bench.ts";
import type { BenchOptions } from "./bench.ts";
import { handMade, type ProviderWays } from "./provider.ts";
import { providers, type Published } from "./providers.ts";

async function meet(
  published: Published,
): Promise<{ at: Awaited<ReturnType<typeof provider>>; options: BenchOptions }> {
  const at = await provider(published.ways, published.path);
  return { at, options: { upstream: { ...published.configured, issuer: at.issuer } } };
}

describe.each(Object.entries(providers))("%s, as it is published to behave", (name, published) => {
  it("is connected with what its profile says, and its token serves", async () => {
    const { at, options } = await meet(published);
    const bench = benchFor(at.url, options);
    expect(outcome(await connect(bench))).toEqual({ upstream: "up" });
    expect(at.live).toContain(await tokenOf(bench));
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({
      connected: true,
      scopes: published.scopes,
    });
    const registered = at.seen.filter(({ path }) => path === "/register").length;
    expect(registered, name).toBe(published.configured.client === undefined ? 1 : 0);
  });

  it("is renewed where it gives refresh tokens, and serves on where it does not", async () => {
    const { at, options } = await meet(published);
    const bench = benchFor(at.url, options);
    valueOf(await connect(bench));
    const first = await tokenOf(bench);
    bench.clock.now += 24 * 3_600_000;
    const second = await tokenOf(bench);
    expect(at.live).toContain(second);
    expect([at.refreshes(), second === first]).toEqual(published.refreshes ? [1, false] : [0, true]);
  });

  it("that withdrew a grant sends the person to connect again", async () => {
    const { at, options } = await meet(published);
    const bench = benchFor(at.url, options);
    valueOf(await connect(bench));
    const used = await tokenOf(bench);
    at.withdraw();
    const renewed = outcome(await bench.grants.tokens.renewed("up", asAda, used));
    expect(renewed).toBe(`UPSTREAM_CONNECTION_REQUIRED ${published.refreshes ? "withdrawn" : "token-refused"}`);
  });
});

describe("what a provider needs is said when it is missing", () => {
  it.each(["github", "slack"] as const)("%s takes no registration: a client has to be configured", async (name) => {
    const { at, options } = await meet(providers[name]);
    const without = benchFor(at.url, { upstream: { ...options.upstream, client: undefined } });
    expect(outcome(await connect(without))).toBe("UPSTREAM_AUTHORIZATION_UNUSABLE no-registration");
  });

  it("Slack without its profile gives no user's token", async () => {
    const { at, options } = await meet(providers.slack);
    const plain = benchFor(at.url, { upstream: { ...options.upstream, profile: "standard" } });
    expect(outcome(await connect(plain))).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
  });

  it("Slack's own token is never taken for the user's", async () => {
    const ways: ProviderWays = {
      ...providers.slack.ways,
      shape: () => ({
        status: 200,
        body: { ok: true, access_token: "xoxb-app", token_type: "bot", authed_user: { id: "U1" } },
      }),
    };
    const at = await provider(ways, providers.slack.path);
    const bench = benchFor(at.url, {
      upstream: { ...providers.slack.configured, client: handMade, issuer: at.issuer },
    });
    expect(outcome(await connect(bench))).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
  });
});
