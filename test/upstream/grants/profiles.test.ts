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

  it("is known by the gateway's document where it takes such, and else by what an operator made", async () => {
    const { at, options } = await meet(published);
    const url = "https://gateway.test/oauth/client.json";
    valueOf(await connect(benchFor(at.url, { ...options, clientDocumentUrl: url })));
    const asked = at.seen.find(({ path }) => path === "/authorize")?.params["client_id"];
    expect(asked).toBe(published.registration === "document" ? url : handMade.id);
    expect(at.seen.filter(({ path }) => path === "/register")).toEqual([]);
  });

  it("needs its issuer named unless it promises to name itself", async () => {
    const { at, options } = await meet(published);
    const { client } = published.configured;
    if (client !== undefined) {
      expect(() => benchFor(at.url, { upstream: { ...options.upstream, issuer: undefined } })).toThrow("its issuer");
      return;
    }
    const unnamed = benchFor(at.url, { upstream: { ...options.upstream, issuer: undefined } });
    const promises = published.ways.serverChanges?.["authorization_response_iss_parameter_supported"] === true;
    expect(outcome(await connect(unnamed))).toEqual(
      promises ? { upstream: "up" } : "UPSTREAM_AUTHORIZATION_UNUSABLE issuer-unproven",
    );
  });

  it("ends its own grant when it is revoked here, where it has an endpoint for that", async () => {
    const { at, options } = await meet(published);
    const bench = benchFor(at.url, options);
    valueOf(await connect(bench));
    const before = at.refreshTokens();
    const revoked = valueOf(await bench.grants.pages.revoke(ada, "up"));
    expect(revoked).toEqual({ revokedAtProvider: published.revokes });
    expect([before, at.refreshTokens()]).toEqual([1, published.revokes ? 0 : 1]);
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

  it("GitHub without its profile is shown the secret where it does not read it", async () => {
    const { at, options } = await meet(providers.github);
    const plain = benchFor(at.url, { upstream: { ...options.upstream, profile: "standard" } });
    expect(outcome(await connect(plain))).toBe("UPSTREAM_CONNECTION_REFUSED registration-lost");
  });

  it("another issuer's name in GitHub's answer is refused, though its metadata promises none", async () => {
    const { at, options } = await meet(providers.github);
    at.ways = { ...at.ways, iss: "https://evil.test" };
    expect(outcome(await connect(benchFor(at.url, options)))).toBe("UPSTREAM_CONNECTION_REFUSED issuer-mismatch");
  });
});

describe("the answers of Slack", () => {
  const token = { access_token: "xoxp-1", scope: "", expires_in: 43_200 };
  const taken = { upstream: "up" };
  const refused = "UPSTREAM_CREDENTIAL_UNAVAILABLE";
  it.each<readonly [string, Record<string, unknown>, unknown]>([
    ["a token of type `user`", { ...token, token_type: "user", authed_user: { id: "U1", scope: "chat:write" } }, taken],
    ["a token of type `Bearer`", { ...token, token_type: "Bearer", authed_user: { scope: "chat:write" } }, taken],
    [
      "the user's token beside the app's own",
      {
        access_token: "xoxb-1",
        token_type: "bot",
        scope: "commands",
        authed_user: { access_token: "xoxp-1", token_type: "user", scope: "chat:write" },
      },
      taken,
    ],
    [
      "the app's own token",
      { ...token, access_token: "xoxb-1", token_type: "bot", authed_user: { id: "U1" } },
      refused,
    ],
    ["the app's own token as `Bearer`", { ...token, access_token: "xoxb-1", token_type: "Bearer" }, refused],
    ["the app's own rotating token", { ...token, access_token: "xoxe.xoxb-1-1", token_type: "user" }, refused],
    ["a token of no type", token, refused],
  ])("%s", async (_what, body, expected) => {
    const ways: ProviderWays = { ...providers.slack.ways, shape: () => ({ status: 200, body: { ok: true, ...body } }) };
    const at = await provider(ways, providers.slack.path);
    const bench = benchFor(at.url, { upstream: { ...providers.slack.configured, issuer: at.issuer } });
    expect(outcome(await connect(bench))).toEqual(expected);
    if (expected !== taken) return;
    expect(await tokenOf(bench)).toBe("xoxp-1");
    expect(outcome(await bench.grants.pages.describe(ada, "up"))).toMatchObject({ scopes: ["chat:write"] });
  });

  it.each(["invalid_refresh_token", "token_expired", "token_revoked"])(
    "%s sends the person to connect",
    async (error) => {
      const { at, options } = await meet(providers.slack);
      const bench = benchFor(at.url, options);
      valueOf(await connect(bench));
      const used = await tokenOf(bench);
      at.ways = { ...at.ways, shape: () => ({ status: 200, body: { ok: false, error } }) };
      expect(outcome(await bench.grants.tokens.renewed("up", asAda, used))).toBe(
        "UPSTREAM_CONNECTION_REQUIRED withdrawn",
      );
    },
  );
});
