import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import { createBrowser } from "./browser.ts";
import { ada, authorizationUrl, redirectUri, registerPublic, robot, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;
let clientId: string;

beforeAll(async () => {
  harness = await startHarness();
  clientId = await registerPublic(harness, [redirectUri, "https://app.test/cb"]);
});

afterAll(() => harness.close());

describe("an authorization request that cannot be answered", () => {
  it.each([
    ["no code challenge", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["a challenge without a method", { code_challenge_method: undefined }, "invalid_request"],
    ["the method plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["a short challenge", { code_challenge: "x".repeat(42) }, "invalid_request"],
    ["no response type", { response_type: undefined }, "invalid_request"],
    ["an unknown resource", { resource: "https://elsewhere.test/mcp" }, "invalid_target"],
    ["no resource among several servers", { resource: undefined }, "invalid_target"],
    ["a request object", { request: "eyJ" }, "request_not_supported"],
    ["a request URI", { request_uri: "https://10.0.0.1/x" }, "request_uri_not_supported"],
    ["no interaction", { prompt: "none" }, "login_required"],
  ])("goes back to the client with iss and state: %s", async (_what, parameters, error) => {
    const { left } = await createBrowser().open(authorizationUrl(harness, clientId, parameters));
    expect(left?.href.startsWith(`${redirectUri}?`)).toBe(true);
    const answer = Object.fromEntries(left?.searchParams ?? []);
    expect(answer).toMatchObject({ error, iss: harness.server.issuer, state: "st/a te" });
    expect(answer["code"]).toBeUndefined();
  });

  it.each(["token", "code id_token", "id_token"])(
    "goes back in the fragment for the response type %s",
    async (type) => {
      const { left } = await createBrowser().open(authorizationUrl(harness, clientId, { response_type: type }));
      const answer = Object.fromEntries(new URLSearchParams(left?.hash.slice(1)));
      expect(answer).toMatchObject({ error: "unsupported_response_type", iss: harness.server.issuer });
      expect(answer["access_token"] ?? answer["code"] ?? answer["id_token"]).toBeUndefined();
    },
  );

  it("goes back to the client when it names two servers", async () => {
    const url = authorizationUrl(harness, clientId);
    url.searchParams.append("resource", `${harness.server.issuer}/sales/mcp`);
    const { left } = await createBrowser().open(url);
    expect(left?.searchParams.get("error")).toBe("invalid_target");
  });

  it.each([
    ["an unknown client", { client_id: "nobody" }, "invalid_client"],
    ["no client", { client_id: undefined }, "invalid_request"],
    ["a client without redirects", { client_id: robot.clientId }, "redirect_uri"],
    ["another path", { redirect_uri: "http://127.0.0.1:4711/other" }, "redirect_uri"],
    ["another loopback host", { redirect_uri: "http://localhost:4711/callback" }, "redirect_uri"],
    ["user information", { redirect_uri: "http://127.0.0.1@evil.test/callback" }, "redirect_uri"],
    ["a fragment", { redirect_uri: `${redirectUri}#x` }, "redirect_uri"],
    ["another port of a public host", { redirect_uri: "https://app.test:8443/cb" }, "redirect_uri"],
    ["no redirect URI", { redirect_uri: undefined }, "redirect_uri"],
    ["the response mode form_post", { response_mode: "form_post" }, "unsupported_response_mode"],
    ["the response mode fragment", { response_mode: "fragment" }, "unsupported_response_mode"],
    ["markup as a client", { client_id: "<script>alert(1)</script>" }, "invalid_client"],
  ])("is a page of ours and no redirect: %s", async (_what, parameters, reason) => {
    const view = await createBrowser().open(authorizationUrl(harness, clientId, parameters));
    expect(view.left).toBeUndefined();
    expect(view.status).toBe(400);
    expect(view.text).toContain("<title>This request cannot be answered</title>");
    expect(view.text).toContain(reason);
    expect(view.text).not.toContain("<script");
    expect(view.headers.get("content-security-policy")).toContain("default-src 'none'");
  });
});

describe("an authorization request that real clients make", () => {
  it.each([
    ["another loopback port", { redirect_uri: "http://127.0.0.1:50123/callback" }],
    ["OpenID parameters", { nonce: "n", max_age: "10", claims: "{}", acr_values: "x", id_token_hint: "y" }],
    ["prompt=consent and offline_access", { prompt: "consent", scope: "tickets:read offline_access" }],
    ["prompt=select_account", { prompt: "select_account" }],
    ["response_mode=query", { response_mode: "query" }],
    ["prompt=login", { prompt: "login" }],
  ])("is answered with a code: %s", async (_what, parameters) => {
    const url = authorizationUrl(harness, clientId, parameters);
    const redirect = await signInHeadlessly({ authorizationUrl: url, username: "ada", password: ada.password });
    expect(redirect.searchParams.get("code")).not.toBeNull();
  });
});
