import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Body = Readonly<Record<string, unknown>>;

/** In what a provider under test departs from an ordinary one. Times are of the provider's own clock. */
export interface ProviderWays {
  /** Where the protected-resource metadata stands. Default: at the path-inserted form, named in the challenge. */
  resourceMetadata?: "challenge" | "inserted" | "root" | "root-in-challenge" | "elsewhere" | "none";
  /** Whether the resource is all of the origin, and not the endpoint alone. */
  resourceIsOrigin?: true;
  /** Members in place of the ordinary ones; undefined removes one. */
  resourceChanges?: Body;
  /** Scopes in the challenge of a 401. */
  challengeScope?: string;
  /** Path of the issuer identifier. */
  issuerPath?: string;
  serverMetadata?: "oauth" | "openid" | "appended" | "none";
  serverChanges?: Body;
  /** The `iss` of authorization answers; null leaves it out, and the metadata says nothing of it either. */
  iss?: string | null;
  /** Whether a refresh gives a new refresh token and uses up the old one. */
  rotates?: boolean;
  expiresIn?: number | undefined;
  /** Status of successful registrations. */
  registrationStatus?: number;
  registrationChanges?: Body;
  /** Reshapes what the token endpoint answers: status and body. */
  shape?: (status: number, body: Body) => { readonly status: number; readonly body: Body };
  /** Whether a `resource` that is sent is refused (`invalid_target`). */
  refusesResource?: boolean;
  /** Whether a client's secret is read from the form alone. */
  secretInFormOnly?: true;
  /** Whether tokens are revoked at the token endpoint, by a form without a grant type. */
  revokesAtToken?: true;
}

export interface Provider {
  readonly origin: string;
  /** The MCP endpoint. */
  readonly url: string;
  readonly issuer: string;
  ways: ProviderWays;
  /** Requests so far, in order, with the parameters of their form or query. */
  readonly seen: Seen[];
  /** What the next token requests meet; each is used once. */
  readonly tokenTroubles: Trouble[];
  /** Access tokens that the MCP endpoint takes. */
  readonly live: Set<string>;
  readonly refreshes: () => number;
  /** How many refresh tokens are good. */
  readonly refreshTokens: () => number;
  /** Forgets a registered client, as a provider that lost its database does. */
  forgetClients(): void;
  /** Ends every refresh token. */
  withdraw(): void;
  close(): Promise<void>;
}

/**
 * `status`: answers with it before anything is consumed. `cut-before`: the connection ends before the request is
 * looked at. `cut-after`: it is carried out, and the answer is lost.
 */
type Trouble = { readonly status: number; readonly body?: Body } | "cut-before" | "cut-after";

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly authorization: string | undefined;
  readonly body: string;
}

interface Code {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scope: string;
}

interface Client {
  readonly secret: string | undefined;
}

interface State {
  readonly codes: Map<string, Code>;
  readonly refreshTokens: Map<string, string>;
  readonly clients: Map<string, Client>;
}

/** An MCP endpoint that wants a token, and the authorization server that gives it, at one loopback origin. */
export async function startProvider(ways: ProviderWays = {}, path = "/mcp"): Promise<Provider> {
  const state: State = { codes: new Map(), refreshTokens: new Map(), clients: new Map() };
  const server = createServer((request, response) => {
    void serve(provider, state, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: Provider = {
    origin,
    url: `${origin}${path}`,
    issuer: `${origin}${ways.issuerPath ?? ""}`,
    ways,
    seen: [],
    tokenTroubles: [],
    live: new Set(),
    refreshes: () =>
      provider.seen.filter(({ path: at, params }) => at === "/token" && params["grant_type"] === "refresh_token")
        .length,
    refreshTokens: () => state.refreshTokens.size,
    forgetClients: () => {
      state.clients.clear();
    },
    withdraw: () => {
      state.refreshTokens.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
  return provider;
}

/** A client that was registered by hand: ordinary providers know these without being asked. */
export const handMade = { id: "hand-made", secret: "hand made: secret/with+signs" } as const;

async function serve(
  provider: Provider,
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", provider.origin);
  const body = await text(request);
  const isForm = request.headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  const params = Object.fromEntries(isForm ? new URLSearchParams(body) : url.searchParams);
  const { authorization } = request.headers;
  provider.seen.push({ method: request.method ?? "", path: url.pathname, params, authorization, body });
  const document = documentAt(provider, url);
  if (document !== undefined) send(response, 200, document);
  else if (url.href === provider.url) serveMcp(provider, authorization, response);
  else if (url.pathname === "/authorize") authorize(provider, state, params, response);
  else if (url.pathname === "/token") giveTokens(provider, state, { params, authorization }, response);
  else if (url.pathname === "/register") register(provider, state, body, response);
  else if (url.pathname === "/revoke") revoke(state, params, response);
  else send(response, 404, { error: "not_found" });
}

function documentAt({ ways, origin, url, issuer }: Provider, at: URL): Body | undefined {
  const { resourceMetadata = "challenge", serverMetadata = "oauth", issuerPath = "" } = ways;
  const mcpPath = new URL(url).pathname;
  const kind = "/.well-known/oauth-protected-resource";
  const [inserted, root] = [kind + mcpPath, kind];
  const places = {
    challenge: inserted,
    inserted,
    root,
    "root-in-challenge": root,
    elsewhere: "/about",
    none: "",
  };
  const resource = ways.resourceIsOrigin === true ? origin : url;
  if (at.pathname === places[resourceMetadata])
    return defined({ resource, authorization_servers: [issuer], ...ways.resourceChanges });
  const forms = {
    oauth: `/.well-known/oauth-authorization-server${issuerPath}`,
    openid: `/.well-known/openid-configuration${issuerPath}`,
    appended: `${issuerPath}/.well-known/openid-configuration`,
    none: "",
  };
  if (at.pathname !== forms[serverMetadata]) return undefined;
  return defined({
    issuer,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/${ways.revokesAtToken === true ? "token" : "revoke"}`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: ways.iss === null ? undefined : true,
    ...ways.serverChanges,
  });
}

function serveMcp(
  { ways, origin, url, live }: Provider,
  authorization: string | undefined,
  response: ServerResponse,
): void {
  const token = authorization?.replace(/^Bearer /, "") ?? "";
  if (live.has(token)) {
    send(response, 200, { jsonrpc: "2.0", id: null, result: {} });
    return;
  }
  const { resourceMetadata = "challenge", challengeScope } = ways;
  const kind = "/.well-known/oauth-protected-resource";
  const challenged: Partial<Record<typeof resourceMetadata, string>> = {
    challenge: kind + new URL(url).pathname,
    "root-in-challenge": kind,
    elsewhere: "/about",
  };
  const at = challenged[resourceMetadata];
  const parts = [
    'error="invalid_token"',
    ...(challengeScope === undefined ? [] : [`scope="${challengeScope}"`]),
    ...(at === undefined ? [] : [`resource_metadata="${origin}${at}"`]),
  ];
  response.setHeader("www-authenticate", `Basic realm="other", Bearer ${parts.join(", ")}`);
  send(response, 401, { error: "invalid_token" });
}

/** The person agrees at once. */
function authorize({ ways, issuer }: Provider, state: State, params: Seen["params"], response: ServerResponse): void {
  const code = randomBytes(8).toString("hex");
  state.codes.set(code, {
    clientId: params["client_id"] ?? "",
    redirectUri: params["redirect_uri"] ?? "",
    challenge: params["code_challenge_method"] === "S256" ? (params["code_challenge"] ?? "") : "none",
    scope: params["scope"] ?? "",
  });
  const back = new URL(params["redirect_uri"] ?? "");
  back.searchParams.set("code", code);
  back.searchParams.set("state", params["state"] ?? "");
  if (ways.iss !== null) back.searchParams.set("iss", ways.iss ?? issuer);
  response.writeHead(302, { location: back.href }).end();
}

function giveTokens(
  provider: Provider,
  state: State,
  request: { readonly params: Seen["params"]; readonly authorization: string | undefined },
  response: ServerResponse,
): void {
  if (provider.ways.revokesAtToken === true && request.params["grant_type"] === undefined) {
    revoke(state, request.params, response);
    return;
  }
  const trouble = provider.tokenTroubles.shift();
  if (trouble === "cut-before") {
    response.destroy();
    return;
  }
  if (typeof trouble === "object") {
    send(response, trouble.status, trouble.body ?? {});
    return;
  }
  const { status, body } = tokenAnswer(provider, state, request);
  if (trouble === "cut-after") response.destroy();
  else {
    const shaped = provider.ways.shape?.(status, body) ?? { status, body };
    send(response, shaped.status, shaped.body);
  }
}

function tokenAnswer(
  provider: Provider,
  state: State,
  { params, authorization }: { readonly params: Seen["params"]; readonly authorization: string | undefined },
): { readonly status: number; readonly body: Body } {
  const failed = (status: number, error: string): { status: number; body: Body } => ({ status, body: { error } });
  const clientId = clientOf(state, params, provider.ways.secretInFormOnly === true ? undefined : authorization);
  if (clientId === undefined) return failed(401, "invalid_client");
  if (provider.ways.refusesResource === true && params["resource"] !== undefined) return failed(400, "invalid_target");
  if (params["grant_type"] === "refresh_token") {
    const scope = state.refreshTokens.get(params["refresh_token"] ?? "");
    if (scope === undefined) return failed(400, "invalid_grant");
    if (provider.ways.rotates !== false) state.refreshTokens.delete(params["refresh_token"] ?? "");
    return { status: 200, body: issue(provider, state, scope) };
  }
  const code = takeCode(state, params);
  if (code?.clientId !== clientId) return failed(400, "invalid_grant");
  return { status: 200, body: issue(provider, state, code.scope) };
}

/** A code serves once, with the redirect URI and the verifier that it was made for (RFC 7636 §4.6). */
function takeCode({ codes }: State, params: Seen["params"]): Code | undefined {
  const { code: name = "", redirect_uri, code_verifier = "" } = params;
  const code = codes.get(name);
  codes.delete(name);
  const challenge = createHash("sha256").update(code_verifier).digest("base64url");
  return code?.redirectUri === redirect_uri && code?.challenge === challenge ? code : undefined;
}

/** Basic (form-encoded, RFC 6749 §2.3.1), post, or none. */
function clientOf({ clients }: State, params: Seen["params"], authorization: string | undefined): string | undefined {
  const [id = "", secret] =
    authorization?.startsWith("Basic ") === true
      ? Buffer.from(authorization.slice(6), "base64")
          .toString()
          .split(":")
          .map((part) => decodeURIComponent(part.replaceAll("+", " ")))
      : [params["client_id"] ?? "", params["client_secret"]];
  if (id.startsWith("https://") && secret === undefined) return id;
  const known = id === handMade.id ? { secret: handMade.secret } : clients.get(id);
  return known !== undefined && known.secret === secret ? id : undefined;
}

function issue(provider: Provider, state: State, scope: string): Body {
  const access = `access-${randomBytes(12).toString("hex")}`;
  const refresh = `refresh-${randomBytes(12).toString("hex")}`;
  provider.live.add(access);
  state.refreshTokens.set(refresh, scope);
  const { expiresIn = 3_600, rotates } = provider.ways;
  const lasting = "expiresIn" in provider.ways && provider.ways.expiresIn === undefined;
  return {
    access_token: access,
    token_type: "Bearer",
    ...(lasting ? {} : { expires_in: expiresIn }),
    ...(rotates === false && provider.refreshes() > 0 ? {} : { refresh_token: refresh }),
    ...(scope === "" ? {} : { scope }),
  };
}

function register({ ways }: Provider, state: State, body: string, response: ServerResponse): void {
  const asked = JSON.parse(body) as { redirect_uris: string[]; token_endpoint_auth_method?: string };
  const id = `dynamic-${randomBytes(6).toString("hex")}`;
  const secret = asked.token_endpoint_auth_method === "none" ? undefined : randomBytes(12).toString("hex");
  state.clients.set(id, { secret });
  const secrets = secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 };
  const answer = { client_id: id, ...secrets, redirect_uris: asked.redirect_uris, ...ways.registrationChanges };
  send(response, ways.registrationStatus ?? 201, defined(answer));
}

function revoke({ refreshTokens }: State, params: Seen["params"], response: ServerResponse): void {
  refreshTokens.delete(params["token"] ?? "");
  response.writeHead(200).end();
}

function defined(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

function send(response: ServerResponse, status: number, body: Body): void {
  response
    .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
    .end(JSON.stringify(body));
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
