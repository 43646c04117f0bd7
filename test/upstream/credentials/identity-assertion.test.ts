import { describe, expect, it } from "vitest";
import { limits } from "../../../src/model/limits.ts";
import { chooseCredential } from "../../../src/upstream/credentials/choose-credential.ts";
import type { Credential } from "../../../src/upstream/credentials/credential.ts";
import type { ClientOptions } from "../../../src/upstream/options.ts";
import type { OnAccountOf } from "../../../src/upstream/port.ts";
import { accountOf, ownAccount, startMs, token, tokenServer, type TokenServer } from "./token-server.ts";

const identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag";

interface Bench {
  readonly provider: TokenServer;
  readonly server: TokenServer;
  readonly clock: { now: number };
  /** Whose ID tokens are kept. */
  readonly kept: Map<string, string>;
  readonly credential: Credential;
  /** What the upstream would be shown, or the code and reason of the refusal. */
  readonly shown: (account: OnAccountOf) => Promise<string>;
}

async function bench(): Promise<Bench> {
  const [provider, server] = [await tokenServer(), await tokenServer()];
  const clock = { now: startMs };
  const kept = new Map([["ada", "id-token-of-ada"]]);
  provider.answer = ({ form }) => ({ body: asserted(`assertion-for-${form["subject_token"]}`) });
  server.answer = ({ form }, count) => ({ body: token(`token-${count}-${form["assertion"] ?? "own"}`) });
  const client = (issuer: string, clientId: string): ClientOptions => {
    const authentication = { method: "client_secret_basic", clientSecret: `secret of ${clientId}` } as const;
    return { issuer, clientId, authentication };
  };
  const credential = chooseCredential(
    {
      type: "identityAssertion",
      ...client(server.url, "gateway-there"),
      scopes: ["read"],
      resource: "https://crm.example/mcp",
      provider: client(provider.url, "gateway-here"),
    },
    {
      now: () => clock.now,
      limits,
      addresses: "loopback",
      identities: { idTokenOf: ({ subject }) => Promise.resolve(kept.get(subject)) },
    },
  );
  const shown = async (account: OnAccountOf): Promise<string> => {
    const result = await credential.headers(account);
    if (result.ok) return result.value.join(" ");
    const { code, facts } = result.refusal;
    return `${code} ${String(facts["reason"] ?? facts["error"] ?? facts["status"])}`;
  };
  return { provider, server, clock, kept, credential, shown };
}

/** What a provider answers (draft-ietf-oauth-identity-assertion-authz-grant §4.3.3). */
function asserted(assertion: string): Record<string, unknown> {
  return token(assertion, { issued_token_type: identityAssertionType, token_type: "N_A" });
}

describe("an identity assertion", () => {
  it("is had from the provider for the caller's ID token, and a token of the upstream's server for it", async () => {
    const { provider, server, shown } = await bench();
    expect(await shown(accountOf())).toBe("authorization Bearer token-1-assertion-for-id-token-of-ada");
    expect(provider.asked.map(({ form }) => form)).toEqual([
      {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        requested_token_type: identityAssertionType,
        subject_token: "id-token-of-ada",
        subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
        audience: server.url,
        resource: "https://crm.example/mcp",
        scope: "read",
      },
    ]);
    expect(server.asked.map(({ form }) => form)).toEqual([
      {
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        assertion: "assertion-for-id-token-of-ada",
        scope: "read",
      },
    ]);
    const pairOf = (name: string): string => `Basic ${Buffer.from(`${name}:secret+of+${name}`).toString("base64")}`;
    expect([provider, server].map(({ asked }) => asked[0]?.headers.authorization)).toEqual([
      pairOf("gateway-here"),
      pairOf("gateway-there"),
    ]);
  });

  it("keeps ID token and caller's token from the upstream's server, and the caller's token from the provider too", async () => {
    const { provider, server, shown } = await bench();
    await shown(accountOf({ token: "caller-secret" }));
    expect(JSON.stringify(server.asked)).not.toMatch(/"id-token-of-ada|caller-secret/);
    expect(JSON.stringify(provider.asked)).not.toContain("caller-secret");
  });

  it("is nobody else's: each caller has their own, and whose ID token is not kept has none", async () => {
    const { provider, server, kept, shown } = await bench();
    kept.set("cyd", "id-token-of-cyd");
    const answers = await Promise.all(["ada", "cyd", "bob", "ada"].map((subject) => shown(accountOf({ subject }))));
    expect(answers.map((answer) => answer.replace(/-\d-/, "-"))).toEqual([
      "authorization Bearer token-assertion-for-id-token-of-ada",
      "authorization Bearer token-assertion-for-id-token-of-cyd",
      "UPSTREAM_CREDENTIAL_UNAVAILABLE no-identity",
      "authorization Bearer token-assertion-for-id-token-of-ada",
    ]);
    expect([provider.asked.length, server.asked.length]).toEqual([2, 2]);
  });

  it("is asked for again when the token ends, without the caller", async () => {
    const { provider, clock, shown } = await bench();
    await shown(accountOf());
    clock.now += 570_000;
    expect(await shown(accountOf({ token: undefined }))).toContain("token-2");
    expect(provider.asked).toHaveLength(2);
  });

  it.each([
    ["an access token in its place", token("t")],
    ["an assertion that claims to be a bearer token", { ...asserted("a"), token_type: "Bearer" }],
    ["another type of token", { ...asserted("a"), issued_token_type: "urn:ietf:params:oauth:token-type:jwt" }],
  ])("is not taken for %s", async (_name, body) => {
    const { provider, server, shown } = await bench();
    provider.answer = () => ({ body });
    expect(await shown(accountOf())).toMatch(/^UPSTREAM_CREDENTIAL_UNAVAILABLE .*token type/);
    expect(server.asked).toEqual([]);
  });

  it("that the provider or the server refuses leaves the caller without a credential, in the server's word", async () => {
    const { provider, server, shown, clock } = await bench();
    server.answer = () => ({ status: 400, body: { error: "invalid_grant" } });
    expect(await shown(accountOf())).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE invalid_grant");
    clock.now += 1_000;
    provider.answer = () => ({ status: 403, body: { error: "access_denied" } });
    expect(await shown(accountOf())).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE access_denied");
  });

  it("has nothing to do with what the gateway reads on its own account", async () => {
    const { provider, server, shown } = await bench();
    expect(await shown(ownAccount)).toBe("authorization Bearer token-1-own");
    expect(server.asked[0]?.form["grant_type"]).toBe("client_credentials");
    expect(provider.asked).toEqual([]);
  });
});
