import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isAcceptableRedirect,
  isRegisteredRedirect,
  redirectSchemes,
  redirectTarget,
} from "../../src/authserver/redirects.ts";

const schemes = redirectSchemes(["com.example.app", "javascript", "HTTP"]);

describe("a redirect URI to register", () => {
  it.each([
    "https://chatgpt.com/connector/oauth/abc",
    "https://vscode.dev/redirect",
    "http://127.0.0.1/",
    "http://127.0.0.1:33418/",
    "http://localhost/callback",
    "http://[::1]:1234/cb?x=1",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "com.example.app:/callback",
  ])("is accepted: %s", (uri) => {
    expect(isAcceptableRedirect(uri, schemes)).toBe(true);
  });

  it.each([
    "http://pub.test/cb",
    "http://localhost.evil.test/cb",
    "http://127.0.0.1.evil.test/cb",
    "http://127.0.0.1@evil.test/cb",
    "http://127.1/cb",
    "http://2130706433/cb",
    "http://0x7f.0.0.1/cb",
    "http://LOCALHOST/cb",
    "http://localhost:/cb",
    "http://localhost\\@evil.test/",
    "https://user:pw@app.test/cb",
    "https://app.test/cb#frag",
    "https://app.test/cb#",
    "https://localhost/cb",
    "https://127.0.0.1/cb",
    "https://a;sandbox/cb",
    "https://app.test/a b",
    "https://app.test/\u202ecb",
    "javascript:alert(1)",
    "data:text/html,x",
    "evilapp://callback",
    "/relative",
    "",
    `https://app.test/${"x".repeat(2_048)}`,
  ])("is refused: %s", (uri) => {
    expect(isAcceptableRedirect(uri, schemes)).toBe(false);
  });

  it("may have 2,048 characters and no more", () => {
    const base = "https://app.test/";
    expect(isAcceptableRedirect(base + "x".repeat(2_048 - base.length), schemes)).toBe(true);
    expect(isAcceptableRedirect(base + "x".repeat(2_049 - base.length), schemes)).toBe(false);
  });
});

describe("a redirect URI that a client presents", () => {
  const registered = ["http://127.0.0.1:1111/cb", "https://app.test/cb", "cursor://x/cb"];

  it.each([
    "http://127.0.0.1:1111/cb",
    "http://127.0.0.1:2222/cb",
    "http://127.0.0.1/cb",
    "https://app.test/cb",
    "cursor://x/cb",
  ])("is one of the registered ones: %s", (uri) => {
    expect(isRegisteredRedirect(registered, uri)).toBe(true);
  });

  it.each([
    "http://127.0.0.1:1111/cb2",
    "http://127.0.0.1:1111/cb/",
    "http://127.0.0.1:1111/cb?x=1",
    "http://127.0.0.1:1111/cb#x",
    "http://127.0.0.1:1111/CB",
    "https://127.0.0.1:1111/cb",
    "http://localhost:1111/cb",
    "http://[::1]:1111/cb",
    "http://127.1:1111/cb",
    "http://127.0.0.1.evil.test:1111/cb",
    "http://127.0.0.1@evil.test/cb",
    "http://127.0.0.1:2222@evil.test/cb",
    "http://user@127.0.0.1:1111/cb",
    "http://evil.test:1111/cb",
    "http://127.0.0.1:99999/cb",
    "https://app.test:8443/cb",
    "https://app.test/cb/../cb",
    "cursor://x:80/cb",
  ])("is not: %s", (uri) => {
    expect(isRegisteredRedirect(registered, uri)).toBe(false);
  });

  it("differs from a registered loopback URI in nothing but the port, whatever stands before the path", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 24 }), (authority) => {
        const uri = `http://${authority}/cb`;
        if (!isRegisteredRedirect(["http://127.0.0.1:1111/cb"], uri)) return;
        const { hostname, pathname, username, password, hash } = new URL(uri);
        expect([hostname, pathname, username, password, hash]).toEqual(["127.0.0.1", "/cb", "", "", ""]);
      }),
      { numRuns: 2_000, examples: [["127.0.0.1:80"], ["127.0.0.1:2@evil.test"], ["127.0.0.1/../x"]] },
    );
  });
});

describe("a redirect target", () => {
  it.each([
    ["http://127.0.0.1:4711/cb", "an application on this computer", "http://127.0.0.1:4711"],
    ["http://[::1]:4711/cb", "an application on this computer", "http:"],
    ["https://app.test/cb", "app.test", "https://app.test"],
    ["cursor://x/cb", "the application that opens cursor: links", "cursor:"],
  ])("of %s is shown as %s and admitted as %s", (uri, label, formAction) => {
    expect(redirectTarget(uri)).toEqual({ label, formAction });
  });
});
