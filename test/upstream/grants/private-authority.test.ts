import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startAuthority, type Authority } from "../../setup/authority.ts";
import { openGrants } from "../../../src/compose-grants.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { createMemoryStore } from "../../../src/store/memory.ts";
import { asAda, outcome, redirectUri } from "./bench.ts";

let authority: Authority;
let server: Server;
let origin: string;

/** An upstream and its authorization server in one, under a certificate of a private authority. */
beforeEach(async () => {
  authority = await startAuthority();
  server = createServer(await authority.issue("upstream"), (request, response) => {
    const path = request.url ?? "";
    const document = path.startsWith("/.well-known/oauth-protected-resource")
      ? { resource: `${origin}/mcp`, authorization_servers: [origin] }
      : path === "/.well-known/oauth-authorization-server"
        ? {
            issuer: origin,
            authorization_endpoint: `${origin}/authorize`,
            token_endpoint: `${origin}/token`,
            response_types_supported: ["code"],
            code_challenge_methods_supported: ["S256"],
          }
        : undefined;
    response.writeHead(document === undefined ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await authority.remove();
});

/** As configuration says it: `tls.ca` of the upstream. */
async function begun(ca: string | undefined): Promise<unknown> {
  const text = JSON.stringify({
    publicUrl: "https://mcp.example.com",
    auth: {
      issuers: [{ alias: "corp", issuer: "https://login.example.com" }],
      browser: { issuer: "corp", clientId: "gw", clientSecret: "${env:SECRET}" },
    },
    upstreams: {
      up: {
        url: `${origin}/mcp`,
        addresses: "loopback",
        credential: { type: "user", issuer: origin, clientId: "gateway" },
        ...(ca === undefined ? {} : { tls: { ca: "${env:CA}" } }),
      },
    },
    servers: { s: { upstreams: { up: {} } } },
    policies: "./policies",
  });
  const env = (name: string): string | undefined => (name === "CA" ? ca : "a secret of some length");
  const loaded = loadConfig({ text, path: "/etc/sallyport/sallyport.yaml", env, readFile: () => "" });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const store = createMemoryStore({ now: Date.now });
  const grants = openGrants({ config: loaded.config, store, log: { info: () => undefined } });
  const result = await grants!.pages.begin({ ...asAda, upstream: "up", redirectUri });
  return result.ok ? new URL(result.value.url).origin : outcome(result);
}

it("an upstream's private authority vouches for its authorization server too, and nobody else's", async () => {
  expect(await begun(authority.ca)).toBe(origin);
  const other = await startAuthority();
  const refused = [await begun(undefined), await begun(other.ca)];
  await other.remove();
  for (const outcomeOf of refused) expect(outcomeOf).toMatch(/^UPSTREAM_/);
});
