import { createHash, randomBytes } from "node:crypto";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import { createBrowser, hiddenToken } from "../authserver/browser.ts";
import type { Browser, View } from "../authserver/browser.ts";
import { startProvider } from "../upstream/grants/provider.ts";
import type { Provider } from "../upstream/grants/provider.ts";
import type { ReceivedRequest, Wire } from "../upstream/scripted-upstream.ts";
import { startGatewayUnderTest, trusted } from "./gateway-under-test.ts";
import type { GatewayOptions, GatewayUnderTest } from "./gateway-under-test.ts";
import { startListeningUpstream } from "./listening-bench.ts";
import type { ListeningUpstream } from "./listening-bench.ts";

const people = ["ada", "bob"] as const;
const password = "correct horse battery";
const redirectUri = "http://127.0.0.1:4711/callback";

/** A gateway that signs people in itself, before an upstream that each of them connects to an account of their own. */
export interface ConnectionBench {
  readonly gateway: GatewayUnderTest;
  readonly upstream: ListeningUpstream;
  /** The upstream's authorization server, at which everybody agrees at once. */
  readonly provider: Provider;
  /** Access tokens with which calls lack a scope. */
  readonly lacking: Set<string>;
  /** An access token for the server, as a client of the person gets it. */
  tokenOf(person: string): Promise<string>;
  /** The person opens a link that an answer named, signs in, agrees, and comes back from the provider: the last page. */
  connect(link: string, person: string): Promise<View>;
  /** The person revokes the connection on the pages. */
  revoke(person: string): Promise<View>;
  /** Another instance of the same deployment, which needs a `redisUrl` and a `publicPort`. */
  replica(): Promise<GatewayUnderTest>;
  close(): Promise<void>;
}

/** With an `issuer`, its people may call as well; it has no pages here. With `auth`, whom else that lets in. */
export async function startConnectionBench({
  auth = {},
  ...more
}: Partial<GatewayOptions> & { readonly auth?: Readonly<Record<string, unknown>> } = {}): Promise<ConnectionBench> {
  const provider = await startProvider();
  const upstream = await startListeningUpstream("modern", { first: guard });
  const lacking = new Set<string>();
  function guard(request: ReceivedRequest, wire: Wire): boolean {
    const metadata = `/.well-known/oauth-protected-resource/mcp`;
    if (request.path === metadata) {
      wire.json(200, { resource: upstream.url, authorization_servers: [provider.issuer] });
      return true;
    }
    const token = (request.header("authorization") ?? "").replace(/^Bearer /, "");
    if (lacking.has(token) && request.rpc["method"] === "tools/call") {
      wire.json(403, {}, ['www-authenticate: Bearer error="insufficient_scope", scope="crm:write"']);
      return true;
    }
    if (provider.live.has(token)) return false;
    const at = new URL(metadata, upstream.url).href;
    wire.json(401, { error: "invalid_token" }, [`www-authenticate: Bearer resource_metadata="${at}"`]);
    return true;
  }
  const users = people.map((username) => ({ username, subject: username, password: "${env:PASSWORD}" }));
  const options: GatewayOptions = {
    upstreams: { crm: { url: upstream.url, credential: { type: "user", title: "Customer records" } } },
    servers: {},
    env: { PASSWORD: password, COOKIES: "c".repeat(32) },
    ...more,
    config: {
      auth: {
        builtIn: { alias: "own", users, cookieSecret: "${env:COOKIES}" },
        ...(more.issuer === undefined ? {} : { issuers: [trusted(more.issuer)] }),
        ...auth,
      },
      servers: { s: { upstreams: { crm: {} }, issuer: "own" } },
      ...more.config,
    },
  };
  const gateway = await startGatewayUnderTest(options);
  const replicas: GatewayUnderTest[] = [];
  return {
    gateway,
    upstream,
    provider,
    lacking,
    tokenOf: (person) => tokenOf(gateway, person),
    connect: (link, person) => connect(gateway, link, person),
    revoke: async (person) => {
      const browser = createBrowser();
      const home = await signInOnPages(browser, `${gateway.publicUrl}/connect`, person);
      const form = { ...home, url: new URL("/connect/revoke", gateway.publicUrl) };
      return browser.submit(form, { upstream: "crm" });
    },
    replica: async () => {
      const replica = await startGatewayUnderTest(options);
      replicas.push(replica);
      return replica;
    },
    close: async () => {
      for (const instance of [gateway, ...replicas]) await instance.remove();
      await upstream.close();
      await provider.close();
    },
  };
}

async function tokenOf({ publicUrl }: GatewayUnderTest, username: string): Promise<string> {
  const registered = await postJson(`${publicUrl}/register`, {
    client_name: "Editor",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "none",
  });
  const verifier = randomBytes(32).toString("base64url");
  const client = { client_id: String(registered["client_id"]), redirect_uri: redirectUri };
  const resource = `${publicUrl}/s/mcp`;
  const asked = new URLSearchParams({
    ...client,
    resource,
    response_type: "code",
    scope: "openid offline_access",
    state: "s",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const authorizationUrl = `${publicUrl}/authorize?${asked.toString()}`;
  const back = await signInHeadlessly({ authorizationUrl, username, password });
  const code = back.searchParams.get("code") ?? "";
  const form = { ...client, resource, grant_type: "authorization_code", code, code_verifier: verifier };
  const answer = await fetch(`${publicUrl}/token`, { method: "POST", body: new URLSearchParams(form) });
  const { access_token: token } = (await answer.json()) as Record<string, unknown>;
  if (typeof token !== "string") throw new Error(`no token for ${username}: ${back.href}`);
  return token;
}

async function postJson(url: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await answer.json()) as Record<string, unknown>;
}

/** Signs somebody in on the connect pages, and goes on to `url`. */
export async function signInOnPages(browser: Browser, url: string, username: string): Promise<View> {
  const page = await browser.open(url);
  const form = { ...page, url: new URL("/connect/sign-in", page.url) };
  const target = page.url.pathname + page.url.search;
  return browser.submit(form, { token: hiddenToken(page), way: "own", target, username, password });
}

/** The person agrees here and at the provider; `back` is where that sends the browser. Or the page at which it ended. */
export async function agreeTo(
  { publicUrl }: GatewayUnderTest,
  link: string,
  person: string,
): Promise<{ readonly browser: Browser; readonly back: string } | { readonly ended: View }> {
  const browser = createBrowser();
  const consent = await signInOnPages(browser, link, person);
  if (consent.status !== 200) return { ended: consent };
  const onward = await browser.submit(consent, { link: new URL(link).searchParams.get("link") ?? "" });
  const provider = /href="([^"]+\/authorize[^"]*)"/.exec(onward.text)?.[1]?.replaceAll("&amp;", "&");
  if (provider === undefined) return { ended: onward };
  const agreed = await fetch(provider, { redirect: "manual" });
  const back = agreed.headers.get("location") ?? "";
  if (!back.startsWith(publicUrl)) throw new Error(`the provider answered ${agreed.status} ${back}`);
  return { browser, back };
}

async function connect(gateway: GatewayUnderTest, link: string, person: string): Promise<View> {
  const agreed = await agreeTo(gateway, link, person);
  return "ended" in agreed ? agreed.ended : agreed.browser.open(agreed.back);
}
