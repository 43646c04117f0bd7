import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { AuthServer } from "../../src/authserver/create.ts";
import { openAuthServer } from "../../src/compose-auth-server.ts";
import { openCredentials } from "../../src/compose-credentials.ts";
import { openGrants } from "../../src/compose-grants.ts";
import { createSignIn } from "../../src/compose-sign-in.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Addresses, Config } from "../../src/config/types.ts";
import type { Result } from "../../src/model/result.ts";
import { createMemoryStore } from "../../src/store/memory.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createGuardedFetch } from "../../src/upstream/egress.ts";
import type { OnAccountOf } from "../../src/upstream/port.ts";
import { mockIssuer, sign, signer } from "../auth/mock-issuer.ts";
import { postForm, startHarness } from "../authserver/harness.ts";
import { createBrowser } from "../authserver/browser.ts";
import type { View } from "../authserver/browser.ts";
import { startProvider as startSignInProvider } from "../signin/mock-provider.ts";
import { accountOf } from "../upstream/credentials/token-server.ts";
import { startProvider as startGrantProvider } from "../upstream/grants/provider.ts";
import type { ProviderWays } from "../upstream/grants/provider.ts";

/** What came of a URL: a refusal's code, an OAuth error or a page's heading; and who was asked on the way to it. */
export interface Met {
  readonly came: string;
  /** Requests that reached the server which names the URL. */
  readonly asked: number;
}

/** Where somebody whom the gateway knows is, and the addresses that are configured for them. */
export interface Known {
  /** Absent: the server on loopback that names the URL. */
  readonly at?: string;
  readonly addresses: Addresses;
}

/** Has a gateway that is made from configuration find this URL at a place, and go on to what the URL is for. */
export type Meet = (url: string, known: Known) => Promise<Met>;

/** Every place at which the gateway takes a URL from somebody whom it knows, and asks there itself. */
export const discovering: readonly (readonly [place: string, meet: Meet])[] = [
  ["an issuer's keys", (url, known) => meetIssuer({ jwks_uri: url }, known)],
  ["an issuer's introspection", (url, known) => meetIssuer({ introspection_endpoint: url }, known)],
  ["an assertion issuer's keys", meetAssertionIssuer],
  ["the company's provider's tokens", (url, known) => meetProvider({ token_endpoint: url }, known)],
  ["the company's provider's keys", (url, known) => meetProvider({ jwks_uri: url }, known)],
  ["the company's provider's UserInfo", (url, known) => meetProvider({ userinfo_endpoint: url }, known)],
  ["tokens for the gateway itself", (url, known) => meetTokenEndpoint("clientCredentials", url, known)],
  ["exchanged tokens", (url, known) => meetTokenEndpoint("tokenExchange", url, known)],
  ["identity assertions", (url, known) => meetTokenEndpoint("identityAssertion", url, known)],
  ["an upstream's metadata", meetChallenge],
  [
    "an upstream's authorization server",
    (url, known) => meetUpstream({ resourceChanges: { authorization_servers: [url] } }, known),
  ],
  [
    "an upstream's registration of clients",
    (url, known) => meetUpstream({ serverChanges: { registration_endpoint: url } }, known),
  ],
  ["an upstream's grants", (url, known) => meetUpstream({ serverChanges: { token_endpoint: url } }, known)],
];

/** A client names the URL of its metadata document: strangers do, so nothing but public addresses is allowed. */
export async function meetClientDocument(url: string): Promise<string> {
  const server = await openServer(() => ({ users: [{ username: "ada", password: "${env:SECRET}" }] }));
  const page = await createBrowser().open(authorizationUrl(server.publicUrl, url));
  await server.close();
  return headingOf(page);
}

/**
 * The metadata document of a client says where its keys are, with which it proves itself: the same stranger's word. What
 * documents say is given here; all else is asked for under the guard for strangers.
 */
export async function meetClientKeys(
  url: string,
): Promise<{ readonly came: string; readonly asked: readonly string[] }> {
  const clientId = "https://client.test/client.json";
  const document = { client_id: clientId, redirect_uris: [redirectUri], jwks_uri: url };
  const asked: string[] = [];
  const guarded = createGuardedFetch({ allow: "public", timeoutMs: 2_000, bytesMax: 10_000 });
  const server = await startHarness({
    fetchPublic: (target, init) => {
      asked.push(String(target));
      if (String(target) !== clientId) return guarded(target, init);
      return Promise.resolve(Response.json({ ...document, token_endpoint_auth_method: "private_key_jwt" }));
    },
  });
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: clientId, sub: clientId, aud: server.server.issuer, jti: "1", iat: now, exp: now + 60 };
  const { body } = await postForm(server, "/token", {
    grant_type: "authorization_code",
    code: "code",
    redirect_uri: redirectUri,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: await sign(await signer("k"), claims),
  });
  await server.close();
  return { came: String(body["error"]), asked };
}

const log = createLog({ level: "fatal", destination: { write: () => undefined } });
const publicUrl = "http://127.0.0.1:1";
const secret = "a secret of thirty-two bytes or more";

function configOf(parts: Readonly<Record<string, unknown>>): Config {
  const config = {
    publicUrl,
    auth: { none: true },
    upstreams: { up: { url: "https://crm.example.net/mcp" } },
    servers: { s: { upstreams: { up: {} } } },
    policies: "./policies",
    keys: { session: "${env:SECRET}" },
    ...parts,
  };
  const path = "/etc/sallyport/sallyport.yaml";
  const loaded = loadConfig({ text: JSON.stringify(config), path, env: () => secret, readFile: () => "" });
  if (!loaded.ok) throw new Error(`the test's configuration is wrong: ${JSON.stringify(loaded.faults)}`);
  return loaded.config;
}

function opened(config: Config): { config: Config; store: ReturnType<typeof createMemoryStore>; log: typeof log } {
  return { config, store: createMemoryStore({ now: Date.now }), log };
}

function sum(result: Result<unknown>): string {
  return result.ok ? "ok" : result.refusal.code;
}

async function meetIssuer(place: Readonly<Record<string, string>>, { at, addresses }: Known): Promise<Met> {
  const idp = await mockIssuer();
  const known = at ?? idp.origin;
  idp.places.set("/.well-known/oauth-authorization-server", { issuer: idp.origin, ...place });
  const introspection = { clientId: "gateway", clientSecret: "${env:SECRET}" };
  const issuer = { alias: "corp", issuer: known, addresses, introspection };
  const config = configOf({ auth: { issuers: [issuer] } });
  const signIn = await createSignIn({ ...opened(config), policyScopes: () => [] });
  const now = Date.now();
  const claims = { iss: known, sub: "ada", aud: `${publicUrl}/s/mcp`, iat: now / 1_000, exp: now / 1_000 + 60 };
  const token = "jwks_uri" in place ? await sign(await signer("k"), claims) : "opaque";
  const resource = `${publicUrl}/s/mcp`;
  const came = sum(await signIn.authenticate({ authorization: [`Bearer ${token}`], resource, now }));
  await idp.close();
  return { came, asked: idp.asked.length };
}

interface Server {
  readonly publicUrl: string;
  readonly close: () => Promise<void>;
}

/** The built-in authorization server of a configuration, at its own public URL. */
async function openServer(builtIn: () => object): Promise<Server> {
  let listener: RequestListener = () => undefined;
  const http = createServer((req, res) => {
    listener(req, res);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const at = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const config = configOf({ publicUrl: at, auth: { builtIn: builtIn() } });
  if (config.auth.kind === "none" || config.auth.builtIn === undefined) throw new Error("there is no built-in server");
  const server = await openAuthServer(opened(config), config.auth.builtIn);
  listener = (req, res) => void server.handle(req, res);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      http.close(() => {
        resolve();
      });
      http.closeAllConnections();
    });
  return { publicUrl: at, close };
}

const redirectUri = "http://127.0.0.1:4711/cb";

function authorizationUrl(at: string, clientId: string): URL {
  const url = new URL(`${at}/authorize`);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update("v").digest("base64url"),
    code_challenge_method: "S256",
  }).toString();
  return url;
}

function headingOf(page: View): string {
  return /<h1>([^<]*)/.exec(page.text)?.[1] ?? String(page.status);
}

async function meetAssertionIssuer(url: string, { at, addresses }: Known): Promise<Met> {
  const idp = await mockIssuer();
  const known = at ?? idp.origin;
  idp.places.set("/.well-known/openid-configuration", { issuer: idp.origin, jwks_uri: url });
  const desk = { clientId: "desk", clientSecret: "${env:SECRET}", grants: ["identityAssertion"] };
  const server = await openServer(() => ({
    users: [{ username: "ada", password: "${env:SECRET}" }],
    clients: [desk],
    assertionIssuers: [{ alias: "okta", issuer: known, addresses }],
  }));
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: known, sub: "ada", aud: server.publicUrl, client_id: "desk", jti: "1", iat: now };
  const about = { ...claims, resource: `${server.publicUrl}/s/mcp`, exp: now + 60 };
  const assertion = await sign(await signer("k"), about, { typ: "oauth-id-jag+jwt" });
  const answer = await fetch(`${server.publicUrl}/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }),
    headers: { authorization: `Basic ${Buffer.from(`desk:${encodeURIComponent(secret)}`).toString("base64")}` },
  });
  const { error } = (await answer.json()) as Record<string, unknown>;
  await server.close();
  await idp.close();
  return { came: String(error), asked: idp.asked.length };
}

async function meetProvider(metadata: Readonly<Record<string, string>>, { at, addresses }: Known): Promise<Met> {
  const provider = await startSignInProvider();
  provider.behaviour.metadata = metadata;
  // What the ID token lacks is asked for.
  provider.behaviour.claims = { groups: undefined, aud: "gateway" };
  const server = await openServer(() => ({
    provider: { issuer: at ?? provider.issuer, clientId: "gateway", groupsClaim: "groups", addresses },
    clients: [{ clientId: "desk", redirectUris: [redirectUri] }],
  }));
  const browser = createBrowser();
  const { left, ...page } = await browser.open(authorizationUrl(server.publicUrl, "desk"));
  const back =
    left === undefined ? undefined : `${server.publicUrl}/oauth/callback?${provider.approve(left.href).toString()}`;
  const came = headingOf(back === undefined ? { ...page, left } : await browser.open(back));
  await server.close();
  await provider.close();
  return { came, asked: provider.http.asked.length };
}

type ByTokenEndpoint = "clientCredentials" | "tokenExchange" | "identityAssertion";

async function meetTokenEndpoint(type: ByTokenEndpoint, url: string, { at, addresses }: Known): Promise<Met> {
  const idp = await mockIssuer();
  idp.places.set("/.well-known/oauth-authorization-server", { issuer: idp.origin, token_endpoint: url });
  const client = { issuer: at ?? idp.origin, clientId: "gateway", clientSecret: "${env:SECRET}", addresses };
  const target = type === "clientCredentials" ? {} : { resource: "https://crm.example.net/mcp" };
  const config = configOf({
    auth: { builtIn: { alias: "own", provider: { ...client, groupsClaim: "groups" }, clients: [] } },
    upstreams: { up: { url: "https://crm.example.net/mcp", credential: { type, ...client, ...target } } },
  });
  const idTokenOf = (): Promise<string> => Promise.resolve("id-token");
  const signIn = { pages: { idTokenOf } as unknown as AuthServer };
  const credentials = openCredentials({ ...opened(config), grants: undefined, signIn });
  const shown = await credentials.byUpstream.get("up")!.headers(callerHere());
  await idp.close();
  return { came: sum(shown), asked: idp.asked.length };
}

/** A caller whom the built-in server signed in, with a token that is still good. */
function callerHere(): OnAccountOf {
  const account = accountOf({ goodForMs: Date.now() + 3_600_000 });
  const caller = account.caller!;
  return { ...account, caller: { ...caller, principal: { ...caller.principal, issuer: publicUrl } } };
}

async function meetChallenge(url: string, { at, addresses }: Known): Promise<Met> {
  const upstream = await mockIssuer();
  const challenge = { "www-authenticate": `Bearer resource_metadata="${url}"` };
  const refuse: RequestListener = (_req, res) => res.writeHead(401, challenge).end();
  upstream.places.set("/mcp", refuse);
  const came = await connect(at ?? `${upstream.origin}/mcp`, addresses);
  await upstream.close();
  return { came, asked: upstream.asked.length };
}

async function meetUpstream(ways: ProviderWays, { at, addresses }: Known): Promise<Met> {
  const provider = await startGrantProvider(ways);
  const came = await connect(at ?? provider.url, addresses);
  await provider.close();
  return { came, asked: provider.seen.length };
}

/** Somebody connects an upstream, and agrees where they are sent. */
async function connect(url: string, addresses: Addresses): Promise<string> {
  const upstream = { url, addresses, credential: { type: "user", title: "Customer records" } };
  const auth = { builtIn: { alias: "own", users: [{ username: "ada", password: "${env:SECRET}" }] } };
  const grants = openGrants(opened(configOf({ auth, upstreams: { up: upstream } })));
  const person = { tenant: "default", issuer: publicUrl, subject: "ada" };
  const begun = await grants!.pages.begin({ person, clientId: "desk", upstream: "up", redirectUri });
  if (!begun.ok) return begun.refusal.code;
  const agreed = await fetch(begun.value.url, { redirect: "manual" });
  const params = new URL(agreed.headers.get("location") ?? redirectUri).searchParams;
  return sum(await grants!.pages.finish({ person, attempt: begun.value.attempt, params }));
}
