import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerOf, authorizationUrl, registerPublic, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

const places = [
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/.well-known/oauth-authorization-server/support/mcp",
  "/.well-known/openid-configuration/sales/mcp",
  "/support/mcp/.well-known/openid-configuration",
  "/sales/mcp/.well-known/oauth-authorization-server",
];

/** fetch does not let a caller choose Host. */
function getWithHeaders(path: string, headers: Record<string, string>): Promise<{ text: string; head: string }> {
  return new Promise((resolve, reject) => {
    const call = request(harness.origin + path, { headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        resolve({ text, head: JSON.stringify(response.headers) });
      });
    });
    call.on("error", reject).end();
  });
}

const authMethods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

describe("authorization server metadata", () => {
  it.each(places)("is the same document at %s", async (place) => {
    expect(harness.server.handles(place)).toBe(true);
    const { status, headers, body } = await answerOf(await fetch(harness.origin + place));
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(body).toEqual({
      issuer: harness.origin,
      authorization_endpoint: `${harness.origin}/authorize`,
      token_endpoint: `${harness.origin}/token`,
      registration_endpoint: `${harness.origin}/register`,
      revocation_endpoint: `${harness.origin}/oauth/revoke`,
      jwks_uri: `${harness.origin}/oauth/jwks`,
      scopes_supported: ["tickets:read"],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: authMethods,
      token_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "PS256", "EdDSA"],
      revocation_endpoint_auth_methods_supported: authMethods,
      revocation_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "PS256", "EdDSA"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: false,
    });
  });

  it.each([
    "/.well-known/oauth-authorization-server/nobody/mcp",
    "/.well-known/openid-configuration/support",
    "/.well-known/oauth-authorization-server/support/mcp/",
    "/nobody/mcp/.well-known/openid-configuration",
    "/support/mcp/.well-known/oauth-authorization-server/support/mcp",
  ])("is a JSON 404 at %s", async (place) => {
    expect(harness.server.handles(place)).toBe(true);
    const { status, body } = await answerOf(await fetch(harness.origin + place));
    expect(status).toBe(404);
    expect(body["error"]).toBe("not_found");
  });

  it.each([
    "/",
    "/support/mcp",
    "/.well-known/oauth-protected-resource/support/mcp",
    "/request",
    "/me",
    "/oauth/callback",
    "/authorized",
    "/token/x",
  ])("leaves %s to others", (path) => {
    expect(harness.server.handles(path)).toBe(false);
  });

  it("answers HEAD and preflights, and refuses other methods in JSON", async () => {
    const url = `${harness.origin}${places[0] ?? ""}`;
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
    const preflight = await fetch(url, { method: "OPTIONS" });
    expect([preflight.status, preflight.headers.get("access-control-allow-headers")]).toEqual([
      204,
      "Authorization, Content-Type, MCP-Protocol-Version",
    ]);
    const refused = await answerOf(await fetch(url, { method: "DELETE" }));
    expect([refused.status, refused.headers.get("allow"), refused.body["error"]]).toEqual([
      405,
      "GET",
      "invalid_request",
    ]);
  });

  it.each([
    ["/authorize", "POST"],
    ["/token", "GET"],
    ["/register", "GET"],
    ["/oauth/revoke", "PUT"],
    ["/oauth/jwks", "POST"],
    ["/oauth/interaction/abc", "DELETE"],
    ["/authorize/abc", "POST"],
  ])("answers %s with %s as a JSON 405", async (path, method) => {
    const { status, body } = await answerOf(await fetch(harness.origin + path, { method }));
    expect([status, body["error"]]).toEqual([405, "invalid_request"]);
  });
});

describe("published URLs", () => {
  it.each(["/.well-known/oauth-authorization-server", "/oauth/interaction/x", "/token"])(
    "never come from Host or forwarded headers at %s",
    async (path) => {
      const headers = { host: "evil.test", "x-forwarded-host": "evil.test", "x-forwarded-proto": "https" };
      const { text, head } = await getWithHeaders(path, { ...headers, forwarded: "host=evil.test" });
      expect(text + head).not.toContain("evil.test");
    },
  );

  it("never come from Host while an authorization is under way", async () => {
    const clientId = await registerPublic(harness);
    const { pathname, search } = authorizationUrl(harness, clientId);
    const { head } = await getWithHeaders(pathname + search, { host: "evil.test", "x-forwarded-host": "evil.test" });
    expect(head).toContain("/oauth/interaction/");
    expect(head).not.toContain("evil.test");
    expect(harness.records.dump()).toContain(`${harness.origin}/authorize/`);
    expect(harness.records.dump()).not.toContain("evil.test");
  });

  it("serve the public halves of the signing keys and nothing private", async () => {
    const { body } = await answerOf(await fetch(`${harness.origin}/oauth/jwks`));
    expect(body).toEqual(harness.server.publicKeys());
    const [key] = body["keys"] as Record<string, unknown>[];
    expect(Object.keys(key ?? {}).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
  });
});

describe("an https public URL", () => {
  it("makes cookies that belong to this origin alone", async () => {
    const secure = await startHarness({ publicUrl: "https://gw.test" });
    const clientId = await registerPublic(secure);
    const url = authorizationUrl(secure, clientId, { resource: "https://gw.test/support/mcp" });
    const response = await fetch(url, { redirect: "manual" });
    expect(response.headers.get("location")).toMatch(/^\/oauth\/interaction\//);
    const cookies = response.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThanOrEqual(4);
    for (const cookie of cookies) expect(cookie).toMatch(/^__(?:Secure|Host)-sallyport_.*; secure; httponly/i);
    await secure.close();
  });

  it.each([
    ["http://gw.test", "https"],
    ["https://gw.test/", "origin"],
    ["https://gw.test/base", "origin"],
  ])("is refused as %s", async (publicUrl, reason) => {
    await expect(startHarness({ publicUrl })).rejects.toThrow(reason);
  });
});
