import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startListingUpstream } from "../advisories/listing-upstream.ts";
import type { ListingUpstream } from "../advisories/listing-upstream.ts";
import { createBrowser } from "../authserver/browser.ts";
import type { Browser, View } from "../authserver/browser.ts";
import { decodeToken } from "../authserver/harness.ts";
import { startGatewayUnderTest } from "../journey/gateway-under-test.ts";
import { freePort } from "../setup/free-port.ts";
import type { GatewayUnderTest } from "../journey/gateway-under-test.ts";
import { authorizeAt, tokensFor } from "./company-client.ts";
import { startCompanyProvider } from "./company-provider.ts";
import type { CompanyProvider } from "./company-provider.ts";

let company: CompanyProvider;
let gateway: GatewayUnderTest;
let upstream: ListingUpstream;

const rules = [
  { id: "staff", effect: "allow", who: { groups: { any: ["corp:staff"] } }, what: { upstream: "tools", tool: "*" } },
  { id: "one", effect: "allow", who: { subject: "object-7" }, what: { upstream: "tools", tool: "*" } },
];

/** The gateway with this provider as its sign-on, one way or the other. */
async function start(auth: (of: CompanyProvider) => Record<string, unknown>): Promise<void> {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  upstream = await startListingUpstream({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
  company = await startCompanyProvider([`${publicUrl}/oauth/callback`, `${publicUrl}/connect/callback`]);
  gateway = await startGatewayUnderTest({
    upstreams: { tools: upstream.url },
    servers: { support: { tools: "" } },
    rules,
    env: { PROVIDER_SECRET: company.clientSecret, SERVICE_SECRET: "of-a-service-0123456789" },
    config: {
      publicUrl,
      listen: { host: "127.0.0.1", port },
      allowedHosts: [`127.0.0.1:${port}`],
      auth: auth(company),
    },
  });
}

async function stop(): Promise<void> {
  await gateway.remove();
  await company.close();
  await upstream.close();
}

/** Signs the person in on the connect pages, by way of the company. */
async function connectAs(subject: string, browser: Browser = createBrowser()): Promise<View> {
  company.signsIn = subject;
  const origin = originOf();
  const page = await browser.open(`${origin}/connect`);
  const link = /href="(\/connect\/sign-in\?[^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
  const { left } = await browser.open(origin + link);
  return browser.open(await company.visit(left));
}

function originOf(): string {
  return gateway.running.addresses.public;
}

describe("the company's provider behind the built-in authorization server", () => {
  beforeAll(() =>
    start(({ issuer, clientId }) => ({
      builtIn: {
        alias: "corp",
        clients: [
          { clientId: "nightly", clientSecret: "${env:SERVICE_SECRET}", grants: ["clientCredentials"], scopes: [] },
        ],
        assertionIssuers: [{ alias: "okta", issuer: "https://okta.test" }],
        provider: {
          issuer,
          clientId,
          clientSecret: "${env:PROVIDER_SECRET}",
          groupsClaim: "groups",
          addresses: "loopback",
        },
      },
    })),
  );
  afterAll(stop);

  it("signs people of the company in: tokens carry its subject, its groups of now, and end with the person", async () => {
    company.signsIn = "ada";
    const browser = createBrowser();
    const asked = await authorizeAt({ origin: originOf(), server: "support", company }, browser);
    expect(asked.consent.text).toContain("Allow access?");
    const { clientId } = asked;
    const tokens = await tokensFor(asked, browser);
    expect(decodeToken(tokens.access_token).claims).toMatchObject({ sub: "ada", groups: ["staff"] });

    company.groups.set("ada", ["leads"]);
    const renewed = await refresh(clientId, tokens.refresh_token);
    expect(decodeToken(renewed["access_token"]).claims).toMatchObject({ sub: "ada", groups: ["leads"] });
    company.groups.delete("ada");
    expect(await refresh(clientId, renewed["refresh_token"])).toMatchObject({ error: "invalid_grant" });
    company.groups.set("ada", ["staff"]);
  });

  async function refresh(clientId: string, token: string | undefined): Promise<Record<string, string>> {
    const form = { grant_type: "refresh_token", client_id: clientId, refresh_token: token ?? "" };
    const answer = await fetch(`${originOf()}/token`, { method: "POST", body: new URLSearchParams(form) });
    return (await answer.json()) as Record<string, string>;
  }

  it("signs them in on the connect pages as the same people, who see the servers that policy lets them see", async () => {
    const home = await connectAs("ada");
    expect(home.url.pathname).toBe("/connect");
    for (const text of ["ada at Corp", "corp:staff", `${originOf()}/support/mcp`]) expect(home.text).toContain(text);
    const other = await connectAs("bob");
    expect(other.text).toContain("corp:sales");
    expect(other.text).toContain("There is no server that you may use.");
  });

  it.each([
    ["a service", () => "nightly"],
    ["somebody of an assertion issuer", () => "okta:ada"],
    ["the gateway itself", originOf],
  ])("lets nobody in who is called like %s, on the connect pages as little as in a client", async (_name, called) => {
    const subject = called();
    company.groups.set(subject, ["staff"]);
    const browser = createBrowser();
    const refused = await connectAs(subject, browser);
    expect([refused.status, refused.text.includes("/support/mcp")]).toEqual([403, false]);
    expect(gateway.log.at(-1)).toContain("SIGNIN_ANSWER_INVALID");
    expect((await browser.open(`${originOf()}/connect`)).text).toContain("<h1>Sign in</h1>");
    const asked = await authorizeAt({ origin: originOf(), server: "support", company }, createBrowser());
    expect(asked.consent.status).toBe(403);
  });

  it("the callback of one browser is refused in another", async () => {
    const begun = createBrowser();
    const { left } = await begun.open(`${originOf()}/connect/sign-in?way=corp`);
    const back = await company.visit(left);
    expect((await createBrowser().open(back)).status).toBe(403);
    expect(gateway.log.join("")).toContain("CONNECT_ATTEMPT_LOST");
  });
});

describe("a browser client at an external issuer", () => {
  beforeAll(() =>
    start(({ issuer, clientId }) => ({
      issuers: [{ alias: "corp", issuer, groupsClaim: "groups", addresses: "loopback", tenant: "acme" }],
      browser: { issuer: "corp", clientId, clientSecret: "${env:PROVIDER_SECRET}" },
    })),
  );
  afterAll(stop);

  it("signs people of that issuer in, with the tenant and the groups that their tokens give them", async () => {
    const home = await connectAs("ada");
    for (const text of ["ada at Corp", company.issuer, "corp:staff", "/support/mcp"]) expect(home.text).toContain(text);
  });
});

describe("a browser client at an issuer whose people are named by another claim than sub", () => {
  const served = "/support/mcp";

  async function startAs(more: Record<string, unknown>): Promise<void> {
    await start(({ issuer, clientId }) => ({
      issuers: [{ alias: "corp", issuer, addresses: "loopback", ...more }],
      browser: { issuer: "corp", clientId, clientSecret: "${env:PROVIDER_SECRET}" },
    }));
    company.groups.set("pairwise-1", []);
    company.more.set("pairwise-1", { oid: "object-7" });
    company.groups.set("object-7", []);
  }

  it.each([
    ["the profile says so", { profile: "entra" }],
    ["configuration says so", { subjectClaim: "oid" }],
  ])("signs them in as those whom their tokens name, where %s", async (_, more) => {
    await startAs(more);
    expect((await connectAs("pairwise-1")).text).toContain(served);
    // Without the claim nobody is signed in, though `sub` reads like somebody who is known.
    const nameless = await connectAs("object-7");
    expect(nameless.status).toBe(403);
    expect(gateway.log.join("")).toContain("SIGNIN_ANSWER_INVALID");
    await stop();
  });

  it("takes sub where nothing says otherwise", async () => {
    await startAs({});
    expect((await connectAs("object-7")).text).toContain(served);
    expect((await connectAs("pairwise-1")).text).not.toContain(served);
    await stop();
  });
});
