import { describe, expect, it } from "vitest";
import { openCredentials } from "../../src/compose-credentials.ts";
import { clientDocumentPages, openGrants } from "../../src/compose-grants.ts";
import type { Config } from "../../src/config/types.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createLog } from "../../src/telemetry/log.ts";
import type { Credential } from "../../src/upstream/credentials/credential.ts";
import type { Grants } from "../../src/upstream/grants/user-grants.ts";
import { changed, loadText } from "../config/load-text.ts";
import { accountOf, ownAccount } from "../upstream/credentials/token-server.ts";
import { approve, provider, valueOf } from "../upstream/grants/bench.ts";

const log = createLog({ level: "fatal", destination: { write: () => undefined } });

function configFor(upstream: object, publicUrl = "https://mcp.example.com"): Config {
  const loaded = loadText(
    changed(
      ["publicUrl", publicUrl],
      ["auth.browser", { issuer: "corp", clientId: "gw", clientSecret: "${env:SECRET}" }],
      ["upstreams.crm", upstream],
    ),
  );
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  return loaded.config;
}

interface Opened {
  readonly config: Config;
  readonly grants: Grants;
  readonly credential: Credential;
}

function open(url: string, more: object = {}, publicUrl?: string): Opened {
  const config = configFor({ url, addresses: "loopback", credential: { type: "user", ...more } }, publicUrl);
  const store = createMemoryStore({ now: Date.now });
  const grants = openGrants({ config, store, log });
  const credential = openCredentials({ config, store, log, grants, signIn: { pages: undefined } }).byUpstream.get(
    "crm",
  );
  if (grants === undefined || credential === undefined) throw new Error("nothing was opened");
  return { config, grants, credential };
}

describe("an upstream that is configured for its users' own grants", () => {
  it("is shown what each person connected, and nobody else's", async () => {
    const there = await provider();
    const { grants, credential } = open(there.url);
    const account = accountOf({ subject: "ada" });
    const { tenant, issuer, subject, clientId } = account.caller!.principal;
    const person = { tenant, issuer, subject };
    expect(await credential.headers(account)).toMatchObject({ refusal: { code: "UPSTREAM_CONNECTION_REQUIRED" } });
    const redirectUri = "https://mcp.example.com/connect/granted";
    const begun = valueOf(await grants.pages.begin({ person, clientId, upstream: "crm", redirectUri }));
    const params = await approve(begun.url);
    valueOf(await grants.pages.finish({ person, attempt: begun.attempt, params }));
    const shown = valueOf(await credential.headers(account));
    expect([...there.live].map((token) => `Bearer ${token}`)).toContain(shown[1]);
    for (const other of [accountOf({ subject: "bob" }), accountOf({ clientId: "bot" }), ownAccount])
      expect(await credential.headers(other)).toMatchObject({ refusal: { code: "UPSTREAM_CONNECTION_REQUIRED" } });
  });

  it("is known to its people by the title that is configured, else by its name", () => {
    const titles = [{ title: "The CRM" }, {}].map((more) =>
      open("http://127.0.0.1:1/mcp", more).grants.pages.upstreams(),
    );
    expect(titles).toEqual([[{ name: "crm", title: "The CRM" }], [{ name: "crm", title: "crm" }]]);
  });

  it("has the gateway's client document published, where servers can fetch it", () => {
    const [near, far] = ["http://127.0.0.1:8080", "https://mcp.example.com"].map((publicUrl) => {
      const { config, grants } = open("http://127.0.0.1:1/mcp", {}, publicUrl);
      return clientDocumentPages(config, grants);
    });
    expect(near).toBeUndefined();
    expect([far?.handles("/oauth/client.json"), far?.handles("/oauth/client.jsonx")]).toEqual([true, false]);
  });
});

describe("without such an upstream", () => {
  it("there are no grants and no client document", () => {
    const config = configFor({ url: "https://crm.example.net/mcp" });
    const grants = openGrants({ config, store: createMemoryStore({ now: Date.now }), log });
    expect([grants, clientDocumentPages(config, grants)]).toEqual([undefined, undefined]);
  });
});
