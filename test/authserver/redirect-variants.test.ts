import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBrowser } from "./browser.ts";
import { authorizationUrl, register, registerPublic, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

const registered = "https://app.test/cb";
const loopback = "http://127.0.0.1:4711/cb";

/** What an attacker presents in place of a registered URI. */
const variants: readonly (readonly [what: string, uri: string])[] = [
  ["a host that begins like loopback", "http://localhost.evil.test/cb"],
  ["user information", "https://app.test@evil.test/cb"],
  ["user information before loopback", "http://127.0.0.1:4711@evil.test/cb"],
  ["a fragment", "https://app.test/cb#x"],
  ["another port", "https://app.test:8443/cb"],
  ["a path that climbs", "https://app.test/cb/../evil"],
  ["a host in capitals", "https://APP.test/cb"],
  ["a path in capitals", "https://app.test/CB"],
  ["a trailing dot", "https://app.test./cb"],
  ["percent-encoding", "https://app.test/%63b"],
  ["IPv6 loopback for IPv4", "http://[::1]:4711/cb"],
  ["http to a host that is not loopback", "http://app.test/cb"],
  ["a script", "javascript:alert(1)"],
  ["a scheme that is not listed", "evilapp://cb"],
  ["a wildcard", "https://*.test/cb"],
  ["a double slash", "https://app.test//cb"],
  ["a relative URI", "//evil.test/cb"],
  ["a query more", "https://app.test/cb?next=https://evil.test"],
  ["a backslash", "https://app.test\\@evil.test/cb"],
];

describe("a redirect URI that is not the registered one, by", () => {
  it.each(variants)("%s, gets a page of ours and no redirect", async (_what, uri) => {
    const clientId = await registerPublic(harness, [registered, loopback]);
    for (const more of [{}, { response_type: "token" }, { resource: "https://elsewhere.test/" }]) {
      const view = await createBrowser().open(authorizationUrl(harness, clientId, { redirect_uri: uri, ...more }));
      expect([view.status, view.left]).toEqual([400, undefined]);
      expect(view.text).toContain("This request cannot be answered");
      expect(view.text).not.toContain("evil.test");
    }
  });

  it("the port alone, is taken on loopback, where applications choose it anew (RFC 8252)", async () => {
    const clientId = await registerPublic(harness, [registered, loopback]);
    for (const uri of [registered, loopback, "http://127.0.0.1:1/cb", "http://127.0.0.1/cb"]) {
      const view = await createBrowser().open(authorizationUrl(harness, clientId, { redirect_uri: uri }));
      expect([view.status, /<h1>([^<]*)/.exec(view.text)?.[1]]).toEqual([200, "Sign in"]);
    }
  });

  it.each([
    "http://localhost.evil.test/cb",
    "https://app.test@evil.test/cb",
    "https://app.test/cb#x",
    "http://app.test/cb",
    "javascript:alert(1)",
    "evilapp://cb",
    "https://*.test/cb",
    "//evil.test/cb",
  ])("%s, cannot be registered either", async (uri) => {
    const { status, body } = await register(harness, { redirect_uris: [uri], token_endpoint_auth_method: "none" });
    expect([status, body["error"]]).toEqual([400, "invalid_redirect_uri"]);
  });

  it("a listed scheme, is taken once it is registered, and not with anything else after it", async () => {
    const clientId = await registerPublic(harness, ["com.example.app:/cb"]);
    const open = async (uri: string): Promise<number> =>
      (await createBrowser().open(authorizationUrl(harness, clientId, { redirect_uri: uri }))).status;
    expect([
      await open("com.example.app:/cb"),
      await open("com.example.app:/cb/x"),
      await open("com.example.app:"),
    ]).toEqual([200, 400, 400]);
  });
});
