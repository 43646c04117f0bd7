import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { stringify } from "yaml";
import { afterEach, describe, expect, it } from "vitest";
import { openAuthServer } from "../../src/compose-auth-server.ts";
import { loadConfig } from "../../src/config/load.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createBrowser } from "../authserver/browser.ts";
import type { View } from "../authserver/browser.ts";

const log = createLog({ level: "fatal", destination: { write: () => undefined } });
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** The authorization server that a configuration makes, at its own public URL. */
async function open(builtIn: object): Promise<string> {
  const http = createServer();
  const publicUrl = await listen(http);
  const loaded = loadConfig({
    text: stringify({
      publicUrl,
      auth: { builtIn },
      upstreams: { crm: { url: "https://crm.example.net/mcp" } },
      servers: { support: { upstreams: { crm: {} }, scopes: { minimal: ["crm:read"], supported: ["crm:read"] } } },
      policies: "./policies",
    }),
    path: "/etc/sallyport/sallyport.yaml",
    env: () => "a secret of thirty-two bytes or more",
    readFile: () => "",
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const { auth } = loaded.config;
  if (auth.kind === "none" || auth.builtIn === undefined) throw new Error("there is no built-in server");
  const store = createMemoryStore({ now: Date.now });
  const server = await openAuthServer({ config: loaded.config, store, log }, auth.builtIn);
  http.on("request", (req, res) => void server.handle(req, res));
  return publicUrl;
}

function authorize(publicUrl: string, clientId: string): Promise<View> {
  const url = new URL(`${publicUrl}/authorize`);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: "http://127.0.0.1:4711/cb",
    code_challenge: createHash("sha256").update("v").digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  return createBrowser().open(url);
}

const desk = { clientId: "desk", redirectUris: ["http://127.0.0.1/cb"] };
const users = [{ username: "ada", password: "${env:PASSWORD}" }];

describe("the authorization server that a configuration makes", () => {
  it("has the clients and the assertion issuers of the configuration, and says what it offers", async () => {
    const batch = { clientId: "batch", clientSecret: "${env:SECRET}", grants: ["identityAssertion"] };
    const publicUrl = await open({
      users,
      clients: [desk, batch],
      assertionIssuers: [{ alias: "okta", issuer: "https://id.example.com" }],
    });
    expect((await authorize(publicUrl, "desk")).text).toContain("<h1>Sign in</h1>");
    const metadata: unknown = await (await fetch(`${publicUrl}/.well-known/oauth-authorization-server`)).json();
    expect(metadata).toMatchObject({
      client_id_metadata_document_supported: true,
      grant_types_supported: expect.arrayContaining(["urn:ietf:params:oauth:grant-type:jwt-bearer"]) as unknown,
    });
  });

  it("fetches no metadata document from this machine, though loopback is allowed for the provider", async () => {
    const came: Socket[] = [];
    const listener = createServer();
    listener.on("connection", (socket) => {
      came.push(socket);
      socket.destroy();
    });
    const at = new URL(await listen(listener));
    const publicUrl = await open({
      provider: { issuer: at.origin, clientId: "gateway", addresses: "loopback" },
      clients: [desk],
    });
    const view = await authorize(publicUrl, `https://127.0.0.1:${at.port}/client.json`);
    expect([view.status, view.left]).toEqual([400, undefined]);
    expect(came).toEqual([]);
  });

  it("sends people to the configured provider, with PKCE, a nonce and the one redirect URI", async () => {
    const provider = createServer((_req, res) => {
      const metadata = {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      };
      res.setHeader("content-type", "application/json");
      res.end(JSON.stringify(metadata));
    });
    const issuer = await listen(provider);
    const publicUrl = await open({ provider: { issuer, clientId: "gateway", addresses: "loopback" }, clients: [desk] });
    const { left } = await authorize(publicUrl, "desk");
    expect([left?.origin, left?.pathname]).toEqual([issuer, "/authorize"]);
    expect(Object.fromEntries(left?.searchParams ?? [])).toMatchObject({
      client_id: "gateway",
      redirect_uri: `${publicUrl}/oauth/callback`,
      code_challenge_method: "S256",
      scope: "openid profile email offline_access",
      nonce: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      state: expect.stringMatching(/^[\w-]+\.[\w-]{43}$/) as unknown,
    });
  });
});
