import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBrowser } from "../authserver/browser.ts";
import { authorizeAt, tokensFor } from "../connect/company-client.ts";
import { startGatewayUnderTest, startIssuer, trusted, until } from "../journey/gateway-under-test.ts";
import type { GatewayUnderTest, IssuerUnderTest } from "../journey/gateway-under-test.ts";
import type { Loose } from "../journey/http-client.ts";
import { modernCall, refusalIn } from "../journey/wire-client.ts";
import { freePort } from "../setup/free-port.ts";
import { startScriptedUpstream } from "../upstream/scripted-upstream.ts";
import type { ScriptedUpstream } from "../upstream/scripted-upstream.ts";
import { startAssertingProvider } from "./asserting-provider.ts";
import type { AssertingProvider } from "./asserting-provider.ts";

let company: AssertingProvider;
let issuer: IssuerUnderTest;
let upstream: ScriptedUpstream;
/** At which people call, signed in at the company's provider. */
let near: GatewayUnderTest;
/** The upstream, of somebody else: its own authorization server takes the company's word for its people. */
let far: GatewayUnderTest;

const secret = "a secret for one run";

beforeAll(async () => {
  const port = await freePort();
  [company, issuer, upstream] = await Promise.all([
    startAssertingProvider([`http://127.0.0.1:${port}/oauth/callback`]),
    startIssuer(),
    startScriptedUpstream({ era: "modern" }),
  ]);
  company.groups.set("cyd", ["staff"]);
  far = await startFar();
  company.clientIds.set(far.publicUrl, "near");
  near = await startNear(port);
});

afterAll(async () => {
  await near.remove();
  await far.remove();
  await Promise.all([company.close(), issuer.close(), upstream.close()]);
});

function startFar(): Promise<GatewayUnderTest> {
  const clients = [
    {
      clientId: "near",
      clientSecret: "${env:SECRET}",
      grants: ["clientCredentials", "identityAssertion"],
      scopes: ["read"],
    },
  ];
  const assertionIssuers = [{ alias: "company", issuer: company.issuer, groupsClaim: "groups", addresses: "loopback" }];
  const tools = { upstream: "wiki", tool: "*" };
  return startGatewayUnderTest({
    upstreams: { wiki: upstream.url },
    servers: {},
    rules: [
      { id: "staff", effect: "allow", who: { groups: { any: ["own:company:staff"] } }, what: tools },
      { id: "near", effect: "allow", who: { issuer: "own", client: "near", kind: "service" }, what: tools },
    ],
    env: { SECRET: secret },
    config: {
      auth: { builtIn: { alias: "own", clients, assertionIssuers } },
      servers: { wiki: { upstreams: { wiki: {} }, issuer: "own", scopes: { supported: ["read"], minimal: ["read"] } } },
    },
  });
}

function startNear(port: number): Promise<GatewayUnderTest> {
  const provider = {
    issuer: company.issuer,
    clientId: company.clientId,
    clientSecret: "${env:PROVIDER_SECRET}",
    addresses: "loopback",
  };
  const credential = {
    type: "identityAssertion",
    issuer: far.publicUrl,
    clientId: "near",
    clientSecret: "${env:SECRET}",
  };
  return startGatewayUnderTest({
    upstreams: { far: { url: far.resource("wiki"), credential } },
    servers: { support: { far: "" } },
    env: { SECRET: secret, PROVIDER_SECRET: company.clientSecret },
    config: {
      publicUrl: `http://127.0.0.1:${port}`,
      listen: { host: "127.0.0.1", port },
      allowedHosts: [`127.0.0.1:${port}`],
      auth: { builtIn: { alias: "own", provider }, issuers: [trusted(issuer)] },
      servers: { support: { upstreams: { far: {} }, issuer: "own" } },
    },
  });
}

/** An access token of the near gateway, as a client gets it for somebody who signs in at the provider. */
async function signedIn(person: string): Promise<string> {
  company.signsIn = person;
  const browser = createBrowser();
  const origin = near.running.addresses.public;
  const tokens = await tokensFor(await authorizeAt({ origin, server: "support", company }, browser), browser);
  return tokens.access_token;
}

interface Answer {
  readonly code: string;
  readonly text: string;
  readonly isError: unknown;
}

async function call(token: string): Promise<Answer> {
  const caller = {
    gateway: { ...near, port: Number(new URL(near.running.addresses.public).port) },
    server: "support",
    token,
  };
  const answer = await modernCall(caller, "tools/call", { name: "echo", arguments: {} });
  const result = answer.json["result"] as Loose | undefined;
  const [block] = (result?.["content"] ?? []) as Loose[];
  return { code: refusalIn(answer).code, text: String(block?.["text"]), isError: result?.["isError"] };
}

/** Who called tools at the far gateway, by its evidence. */
const callersThere = (): unknown[] =>
  far
    .audit()
    .flatMap(({ principal, method, type }) => (method === "tools/call" && type !== "attempted" ? [principal] : []));

const calls = (): number => upstream.ledger.filter((name) => name === "echo").length;
const exchangesOf = (person: string): number =>
  company.exchanges.filter((asked) => decodeJwt(String(asked["subject_token"])).sub === person).length;

describe("a person of the company who calls through the gateway", () => {
  it("is themselves at an upstream whose own authorization server takes the company's word, as that gateway's client", async () => {
    const token = await signedIn("ada");
    const before = calls();
    expect(await call(token)).toMatchObject({ code: "", isError: undefined });
    expect(calls()).toBe(before + 1);
    await until(() => callersThere().length > 0);
    expect(callersThere().at(-1)).toMatchObject({
      issuer: far.publicUrl,
      kind: "human",
      subject: "company:ada",
      clientId: "near",
      groups: ["own:company:staff"],
    });
  });

  it("is vouched for once as long as that holds, by their ID token and for that upstream; their own token goes nowhere", async () => {
    const [token, before] = [await signedIn("ada"), exchangesOf("ada")];
    for (let round = 0; round < 3; round += 1) expect((await call(token)).code).toBe("");
    expect(exchangesOf("ada")).toBe(before + 1);
    const last = company.exchanges.at(-1);
    expect(last).toMatchObject({ audience: far.publicUrl, resource: far.resource("wiki") });
    expect(decodeJwt(String(last?.["subject_token"]))).toMatchObject({
      iss: company.issuer,
      aud: company.clientId,
    });
    expect(JSON.stringify(company.exchanges)).not.toContain(token);
  });

  it("has there what they may themselves, and not what the gateway or somebody else may", async () => {
    // Bob is of the group sales, to which nothing is allowed there.
    const [before, answer] = [calls(), await call(await signedIn("bob"))];
    expect(answer.code === "" && answer.isError !== true).toBe(false);
    expect(calls()).toBe(before);
    await until(() => callersThere().some((who) => (who as Loose)["subject"] === "company:bob"));
  });

  it("is refused here, and not heard of there, once the company does not know them any more", async () => {
    const token = await signedIn("cyd");
    company.groups.delete("cyd");
    const before = calls();
    expect((await call(token)).code).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect([exchangesOf("cyd"), calls()]).toEqual([1, before]);
    expect(far.auditText()).not.toContain("company:cyd");
  });

  it("is refused at a server for which the company vouches for nobody", async () => {
    company.groups.set("dan", ["staff"]);
    company.clientIds.delete(far.publicUrl);
    expect((await call(await signedIn("dan"))).code).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    company.clientIds.set(far.publicUrl, "near");
    expect(far.auditText()).not.toContain("company:dan");
  });
});

describe("somebody who did not sign in at the company's provider", () => {
  it("has no identity there, whatever they are called", async () => {
    const token = await issuer.mint(`${near.running.addresses.public}/support/mcp`, { sub: "ada" });
    const [before, exchanged] = [calls(), company.exchanges.length];
    expect((await call(token)).code).toBe("UPSTREAM_CREDENTIAL_UNAVAILABLE");
    expect([calls(), company.exchanges.length]).toEqual([before, exchanged]);
    const reasons = (): unknown[] => near.audit().map(({ refusal }) => refusal?.facts["reason"]);
    await until(() => reasons().includes("no-identity"));
  });
});
