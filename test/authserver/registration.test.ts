import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerOf, register, startHarness } from "./harness.ts";
import type { Harness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.close());

const clients: readonly { who: string; body: Record<string, unknown>; expected: Record<string, unknown> }[] = [
  {
    who: "Cursor: a web client with a custom scheme",
    body: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "web",
    },
    expected: {
      client_name: "Cursor",
      application_type: "native",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
    },
  },
  {
    who: "VS Code: a grant that is not offered",
    body: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
    expected: { grant_types: ["authorization_code", "refresh_token"], application_type: "native" },
  },
  {
    who: "Claude Code: port-less loopback and scopes nobody knows",
    body: {
      client_name: "Claude Code (support)",
      redirect_uris: ["http://localhost/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      scope: "openid offline_access tickets:write",
    },
    expected: { redirect_uris: ["http://localhost/callback"], scope: "tickets:write" },
  },
  {
    who: "mcp-remote: OpenID scopes only",
    body: {
      client_name: "MCP CLI Proxy",
      client_uri: "https://example.com/cli",
      redirect_uris: ["http://localhost:3334/oauth/callback"],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      software_id: "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d",
      software_version: "1.0.0",
      scope: "openid email profile",
    },
    expected: { redirect_uris: ["http://localhost:3334/oauth/callback"] },
  },
  {
    who: "ChatGPT: a web client without a type",
    body: {
      client_name: "ChatGPT",
      redirect_uris: ["https://chatgpt.com/connector/oauth/AbC123"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    expected: { application_type: "web" },
  },
  {
    who: "a client that says null where it says nothing",
    body: {
      redirect_uris: ["https://app.test/cb"],
      client_name: null,
      grant_types: null,
      scope: null,
      token_endpoint_auth_method: "none",
      jwks_uri: "http://169.254.169.254/keys",
      sector_identifier_uri: "http://10.0.0.1/sector",
    },
    expected: { grant_types: ["authorization_code", "refresh_token"] },
  },
];

describe("dynamic registration", () => {
  it.each(clients)("registers $who", async ({ body, expected }) => {
    const answer = await register(harness, body);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      client_id: expect.any(String) as string,
      redirect_uris: body["redirect_uris"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      ...expected,
    });
    expect(Object.values(answer.body)).not.toContain(null);
    const known = ["client_id", "client_id_issued_at", "client_name", "redirect_uris", "grant_types", "scope"];
    const more = ["response_types", "token_endpoint_auth_method", "application_type"];
    expect([...known, ...more]).toEqual(expect.arrayContaining(Object.keys(answer.body)));
    expect("scope" in answer.body).toBe("scope" in expected);
  });

  it("keeps the redirect URIs it can accept and drops the others", async () => {
    const redirects = ["javascript:alert(1)", "http://pub.test/cb", "https://app.test/cb", "https://app.test/cb"];
    const { status, body } = await register(harness, { redirect_uris: redirects });
    expect([status, body["redirect_uris"]]).toEqual([201, ["https://app.test/cb"]]);
  });

  it.each([
    ["no redirect URI", {}],
    ["an empty list", { redirect_uris: [] }],
    ["a list that is none", { redirect_uris: "https://app.test/cb" }],
    ["a script", { redirect_uris: ["javascript:alert(1)"] }],
    ["plain http to a public host", { redirect_uris: ["http://pub.test/cb"] }],
    ["a fragment", { redirect_uris: ["https://app.test/cb#x"] }],
    ["an unknown scheme", { redirect_uris: ["evilapp://cb"] }],
    ["21 redirect URIs", { redirect_uris: Array.from({ length: 21 }, (_, at) => `https://app.test/${String(at)}`) }],
  ])("refuses %s as invalid_redirect_uri", async (_what, body) => {
    const answer = await register(harness, body);
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_redirect_uri"]);
  });

  it("accepts 20 redirect URIs", async () => {
    const uris = Array.from({ length: 20 }, (_, at) => `https://app.test/${String(at)}`);
    expect((await register(harness, { redirect_uris: uris })).status).toBe(201);
  });

  it.each([
    ["a list", []],
    ["client credentials", { redirect_uris: ["https://app.test/cb"], grant_types: ["client_credentials"] }],
    ["an unknown authentication", { redirect_uris: ["https://app.test/cb"], token_endpoint_auth_method: "magic" }],
  ])("refuses %s as invalid_client_metadata", async (_what, body) => {
    const answer = await register(harness, body);
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_client_metadata"]);
  });

  it("never grants client credentials to who registers himself", async () => {
    const { body } = await register(harness, {
      redirect_uris: ["https://app.test/cb"],
      grant_types: ["authorization_code", "client_credentials"],
    });
    expect(body["grant_types"]).toEqual(["authorization_code", "refresh_token"]);
  });

  it.each([
    ["text that is not JSON", "application/json", "{"],
    ["a form", "application/x-www-form-urlencoded", "redirect_uris=https://app.test/cb"],
    ["nothing", "application/json", ""],
  ])("refuses %s in JSON", async (_what, type, body) => {
    const init = { method: "POST", headers: { "content-type": type }, body };
    const answer = await answerOf(await fetch(`${harness.origin}/register`, init));
    expect([answer.status, answer.body["error"]]).toEqual([400, "invalid_client_metadata"]);
  });

  it("reads 32,768 bytes and not one more", async () => {
    const bytes = (total: number): string => {
      const body = { redirect_uris: ["https://app.test/cb"], padding: "" };
      const rest = total - JSON.stringify(body).length;
      return JSON.stringify({ ...body, padding: "x".repeat(rest) });
    };
    const send = (body: string): Promise<Response> =>
      fetch(`${harness.origin}/register`, { method: "POST", headers: { "content-type": "application/json" }, body });
    expect((await send(bytes(32_768))).status).toBe(201);
    const refused = await answerOf(await send(bytes(32_769)));
    expect([refused.status, refused.body["error"]]).toEqual([413, "invalid_request"]);
  });

  it("strips what hides or turns text from the name that people will read", async () => {
    const name = `Good\u202eApp\u0000\u{e0041} ${"é".repeat(200)}`;
    const { body } = await register(harness, { redirect_uris: ["https://app.test/cb"], client_name: name });
    expect(body["client_name"]).toBe(`GoodApp ${"é".repeat(72)}`);
  });

  it("allows scripts of any origin, since it looks at no cookie", async () => {
    const init = { method: "POST", headers: { "content-type": "application/json", origin: "https://web.test" } };
    const response = await fetch(`${harness.origin}/register`, { ...init, body: "{}" });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect((await fetch(`${harness.origin}/register`, { method: "OPTIONS" })).status).toBe(204);
  });
});

describe("the rate of registrations", () => {
  it("is 60 a minute from one address", async () => {
    const busy = await startHarness();
    const body = { redirect_uris: ["https://app.test/cb"], token_endpoint_auth_method: "none" };
    const statuses: number[] = [];
    for (let at = 0; at < 61; at += 1) statuses.push((await register(busy, body)).status);
    expect(statuses.slice(0, 60).every((status) => status === 201)).toBe(true);
    const refused = await register(busy, body);
    expect([statuses[60], refused.body["error"], refused.headers.get("retry-after")]).toEqual([
      429,
      "temporarily_unavailable",
      "60",
    ]);
    await busy.close();
  });
});
