import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLocalJWKSet, jwtVerify } from "jose";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import { ada, authorizationUrl, decodeToken, exchange, obtainCode, registerPublic, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

describe("the authorization code flow", () => {
  it("ends at the client's redirect URI with code, state and iss (RFC 9207)", async () => {
    const clientId = await registerPublic(harness);
    const url = authorizationUrl(harness, clientId);
    const redirect = await signInHeadlessly({ authorizationUrl: url, username: "ada", password: ada.password });
    expect(redirect.origin + redirect.pathname).toBe("http://127.0.0.1:4711/callback");
    expect(redirect.searchParams.get("state")).toBe("st/a te");
    expect(redirect.searchParams.get("iss")).toBe(harness.server.issuer);
    expect(redirect.searchParams.get("code")).toMatch(/^[\w-]{43}$/);
  });

  it("issues a token for exactly the requested server, signed with a published key", async () => {
    const flow = await obtainCode(harness, { scope: "tickets:read tickets:write" });
    const { status, headers, body } = await exchange(harness, flow);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 300, scope: "tickets:read tickets:write" });
    expect(body["refresh_token"]).toEqual(expect.any(String));
    expect(body["id_token"]).toBeUndefined();
    const { protectedHeader, payload } = await jwtVerify(
      String(body["access_token"]),
      createLocalJWKSet(harness.server.publicKeys()),
    );
    expect(protectedHeader).toMatchObject({ typ: "at+jwt", alg: "ES256" });
    expect(payload).toMatchObject({
      iss: harness.server.issuer,
      aud: `${harness.server.issuer}/support/mcp`,
      sub: "u-ada",
      client_id: flow.clientId,
      scope: "tickets:read tickets:write",
      groups: ["support"],
    });
    expect(decodeToken(body["access_token"]).claims["exp"]).toBe(Number(payload.iat) + 300);
  });
});
