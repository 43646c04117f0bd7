import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sign, signer } from "../../auth/mock-issuer.ts";
import type { Signer } from "../../auth/mock-issuer.ts";

export type Claims = Record<string, unknown>;

/** What somebody, or a service, was granted. */
export interface Grant {
  readonly subject: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly isService: boolean;
  /** As the authorization request had them. */
  readonly asked: URLSearchParams;
}

/** What one kind of provider does in its own way. */
export interface ProviderKind {
  /** Of the issuer, below the origin; with the slash that its identifier ends in, if any. */
  readonly issuerPath: string;
  /** Where metadata stands, and nowhere else. */
  readonly metadataPaths: readonly string[];
  readonly alg?: string;
  /** Added to the metadata; `undefined` removes. */
  readonly metadata?: Claims;
  /** Refuses an authorization or token request, as `error` and a description. */
  readonly refuse?: (asked: URLSearchParams) => readonly [error: string, description: string] | undefined;
  /** The scopes that are granted of those asked for. */
  readonly grantScopes?: (asked: readonly string[]) => readonly string[];
  readonly accessToken: (grant: Grant, provider: Provider) => Promise<string>;
  readonly idToken: (grant: Grant, provider: Provider) => Claims;
  /** Absent: there is no endpoint to revoke tokens at. */
  readonly revocation?: true;
  /** What introspection says of an active access token, besides `active`; absent: there is none. */
  readonly introspected?: (grant: Grant, provider: Provider) => Claims;
}

export interface Provider {
  readonly origin: string;
  readonly issuer: string;
  readonly key: Signer;
  /** Form and answer of each request to the introspection endpoint. */
  readonly introspections: { token: string | null; authorization: string | undefined }[];
  /** Whole seconds that the provider's clock is ahead. */
  clockAheadSeconds: number;
  /** Seconds since the epoch, by the provider's clock. */
  now(): number;
  sign(claims: Claims, header?: Claims): Promise<string>;
  /** Signs with a new key from now on, and publishes only that one. */
  rotateKeys(): Promise<void>;
  /** What an administrator can do: every refresh token of the person ends. */
  endSignIns(subject: string): void;
  close(): Promise<void>;
}

/** The one client that introspects. */
export const gatewayClient = { id: "gate/way", secret: "s3cret: %" };

/** A service that may use the client credentials grant. */
export const robot = { id: "robot", secret: "robot-secret" };

interface State {
  readonly kind: ProviderKind;
  readonly codes: Map<string, Grant>;
  readonly refreshes: Map<string, Grant>;
  readonly accesses: Map<string, Grant>;
  readonly provider: Provider;
}

/** A small authorization server on loopback; the person who is sent there is `ada` and says yes at once. */
export async function startProvider(kind: ProviderKind): Promise<Provider> {
  let key = await signer("first", kind.alg ?? "RS256");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: Provider = {
    origin,
    issuer: origin + kind.issuerPath,
    introspections: [],
    clockAheadSeconds: 0,
    get key() {
      return key;
    },
    now: () => Math.floor(Date.now() / 1000) + provider.clockAheadSeconds,
    sign: (claims, header) => sign(key, claims, header),
    rotateKeys: async () => {
      key = await signer("second", kind.alg ?? "RS256");
    },
    endSignIns: (subject) => {
      for (const [token, grant] of state.refreshes) if (grant.subject === subject) state.refreshes.delete(token);
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
  const state: State = { kind, codes: new Map(), refreshes: new Map(), accesses: new Map(), provider };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void answer(state, request, response);
  });
  return provider;
}

async function answer(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", state.provider.origin);
  if (state.kind.metadataPaths.includes(url.pathname)) sendJson(response, 200, metadataOf(state));
  else if (url.pathname === "/keys") sendJson(response, 200, { keys: [state.provider.key.jwk] });
  else if (url.pathname === "/authorize") authorize(state, url.searchParams, response);
  else if (request.method === "POST") await post(state, { path: url.pathname, request, response });
  else response.writeHead(404, { "content-type": "text/html" }).end("<h1>404");
}

function metadataOf({ kind, provider: { origin, issuer } }: State): Claims {
  return {
    issuer,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    jwks_uri: `${origin}/keys`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    ...(kind.revocation === undefined ? {} : { revocation_endpoint: `${origin}/revoke` }),
    ...(kind.introspected === undefined ? {} : { introspection_endpoint: `${origin}/introspect` }),
    ...kind.metadata,
  };
}

/** RFC 6749 §4.1.1, and §4.1.2.1 for what is refused. */
function authorize({ kind, codes }: State, asked: URLSearchParams, response: ServerResponse): void {
  const back = new URL(asked.get("redirect_uri") ?? "");
  const refused = kind.refuse?.(asked);
  if (refused === undefined) {
    const code = randomBytes(16).toString("hex");
    codes.set(code, grantOf(kind, asked, { subject: "ada", isService: false }));
    back.searchParams.set("code", code);
  } else {
    back.searchParams.set("error", refused[0]);
    back.searchParams.set("error_description", refused[1]);
  }
  back.searchParams.set("state", asked.get("state") ?? "");
  response.writeHead(302, { location: back.href }).end();
}

function grantOf(kind: ProviderKind, asked: URLSearchParams, who: Pick<Grant, "subject" | "isService">): Grant {
  const scopes = (asked.get("scope") ?? "").split(" ").filter((scope) => scope !== "");
  return {
    ...who,
    clientId: asked.get("client_id") ?? "",
    scopes: kind.grantScopes?.(scopes) ?? scopes,
    resources: asked.getAll("resource"),
    asked,
  };
}

interface Posted {
  readonly path: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function post(state: State, { path, request, response }: Posted): Promise<void> {
  const form = await formOf(request);
  if (path === "/token") await token(state, form, response);
  else if (path === "/revoke" && state.kind.revocation === true) {
    state.refreshes.delete(form.get("token") ?? "");
    state.accesses.delete(form.get("token") ?? "");
    response.writeHead(200).end();
  } else if (path === "/introspect") introspect(state, form, { request, response });
  else response.writeHead(404).end();
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

async function token(state: State, form: URLSearchParams, response: ServerResponse): Promise<void> {
  const { kind, codes, refreshes } = state;
  const refused = form.get("grant_type") === "client_credentials" ? kind.refuse?.(form) : undefined;
  if (refused !== undefined) {
    sendJson(response, 400, { error: refused[0], error_description: refused[1] });
    return;
  }
  const grant = takeGrant(state, form);
  if (grant === undefined) sendJson(response, 400, { error: "invalid_grant" });
  else sendJson(response, 200, await issue(state, grant));
  codes.delete(form.get("code") ?? "");
  refreshes.delete(form.get("refresh_token") ?? "");
}

function takeGrant({ kind, codes, refreshes }: State, form: URLSearchParams): Grant | undefined {
  switch (form.get("grant_type")) {
    case "authorization_code": {
      const grant = codes.get(form.get("code") ?? "");
      const verifier = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      return grant?.asked.get("code_challenge") === verifier ? grant : undefined;
    }
    case "refresh_token":
      return refreshes.get(form.get("refresh_token") ?? "");
    case null:
    default:
      return form.get("client_secret") === robot.secret
        ? grantOf(kind, form, { subject: robot.id, isService: true })
        : undefined;
  }
}

async function issue({ kind, refreshes, accesses, provider }: State, grant: Grant): Promise<Claims> {
  const refresh = randomBytes(16).toString("hex");
  const access = await kind.accessToken(grant, provider);
  accesses.set(access, grant);
  if (!grant.isService) refreshes.set(refresh, grant);
  return {
    access_token: access,
    token_type: "Bearer",
    expires_in: 300,
    scope: grant.scopes.join(" "),
    ...(grant.isService
      ? {}
      : { refresh_token: refresh, id_token: await provider.sign(kind.idToken(grant, provider), { typ: "JWT" }) }),
  };
}

/** RFC 7662 §2: whoever asks is a client; refresh tokens are active as well. */
function introspect(state: State, form: URLSearchParams, on: Omit<Posted, "path">): void {
  const { authorization } = on.request.headers;
  state.provider.introspections.push({ token: form.get("token"), authorization });
  // RFC 6749 §2.3.1: each part form-encoded.
  const encoded = `${encodeURIComponent(gatewayClient.id)}:${encodeURIComponent(gatewayClient.secret).replace("%20", "+")}`;
  const expected = `Basic ${Buffer.from(encoded).toString("base64")}`;
  const known = authorization === expected;
  sendJson(on.response, known ? 200 : 401, known ? said(state, form.get("token") ?? "") : { error: "invalid_client" });
}

function said({ kind, provider, accesses, refreshes }: State, asked: string): Claims {
  const grant = accesses.get(asked) ?? refreshes.get(asked);
  if (grant === undefined) return { active: false };
  const type = accesses.has(asked) ? {} : { token_type: "refresh_token" };
  return { active: true, ...kind.introspected?.(grant, provider), ...type };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}
