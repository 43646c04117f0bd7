import { describe, expect, it } from "vitest";
import { openCredentials } from "../../src/compose-credentials.ts";
import type { SignIn } from "../../src/compose-sign-in.ts";
import { principalKey } from "../../src/model/principal.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createLog } from "../../src/telemetry/log.ts";
import type { Credential } from "../../src/upstream/credentials/credential.ts";
import type { OnAccountOf } from "../../src/upstream/port.ts";
import { changed, loadText } from "../config/load-text.ts";
import { accountOf, token, tokenServer, type TokenServer } from "../upstream/credentials/token-server.ts";

const log = createLog({ level: "fatal", destination: { write: () => undefined } });
const publicUrl = "https://mcp.example.com";

/** The credential of an upstream behind a provider at which `ada` signed in. */
function open(provider: TokenServer, server: TokenServer): Credential {
  const client = { clientId: "gw", clientSecret: "${env:SECRET}", addresses: "loopback" };
  const loaded = loadText(
    changed(
      ["auth", { builtIn: { provider: { issuer: provider.url, ...client } } }],
      ["upstreams.crm.credential", { type: "identityAssertion", issuer: server.url, ...client }],
    ),
  );
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.faults));
  const pages = { idTokenOf: (subject: string) => Promise.resolve(subject === "ada" ? "id-token" : undefined) };
  const credential = openCredentials({
    config: loaded.config,
    store: createMemoryStore({ now: Date.now }),
    log,
    grants: undefined,
    signIn: { pages: pages as SignIn["pages"] },
  }).byUpstream.get("crm");
  if (credential === undefined) throw new Error("nothing was opened");
  return credential;
}

/** Somebody whom the given issuer vouches for. */
function of(issuer: string, subject: string, tenant = "default"): OnAccountOf {
  const account = accountOf({ subject, tenant });
  const who = { ...account.caller!.principal, issuer };
  const principal = { ...who, key: principalKey(who) };
  return { ...account, principalKey: principal.key, caller: { principal, token: undefined } };
}

describe("an upstream that is configured for identity assertions", () => {
  it("is shown a token of those who signed in at the provider, as people of the built-in server, and of nobody else", async () => {
    const [provider, server] = [await tokenServer(), await tokenServer()];
    const issued = { token_type: "N_A", issued_token_type: "urn:ietf:params:oauth:token-type:id-jag" };
    provider.answer = () => ({ body: token("asserted", issued) });
    const credential = open(provider, server);
    expect(await credential.headers(of(publicUrl, "ada"))).toMatchObject({
      value: ["authorization", "Bearer token-1"],
    });
    expect(provider.asked[0]?.form).toMatchObject({ audience: server.url, resource: "https://crm.example.net/mcp" });
    expect(server.asked[0]?.form).toMatchObject({ assertion: "asserted" });
    for (const other of [of(publicUrl, "bob"), of("https://elsewhere.example", "ada"), of(publicUrl, "ada", "acme")])
      expect(await credential.headers(other)).toMatchObject({ refusal: { facts: { reason: "no-identity" } } });
    expect(provider.asked).toHaveLength(1);
  });
});
