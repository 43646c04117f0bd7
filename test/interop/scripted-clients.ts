import { createHash, randomBytes } from "node:crypto";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import type { Login } from "../../deploy/quickstart/person.ts";

type Loose = Record<string, unknown>;

/** Where a client ended up, and every request that took it there, as `METHOD path status`. */
export interface Discovered {
  readonly issuer: unknown;
  /** What it will name as `resource`; undefined for a client that found no resource metadata. */
  readonly resource: unknown;
  readonly metadata: Loose;
  readonly trail: readonly string[];
}

export type Discover = (serverUrl: string) => Promise<Discovered>;

interface Trail {
  readonly steps: string[];
  request(url: string, init?: RequestInit): Promise<Response>;
}

function createTrail(): Trail {
  const steps: string[] = [];
  return {
    steps,
    request: async (url, init = {}) => {
      const response = await fetch(url, { redirect: "manual", ...init });
      const { pathname, search } = new URL(url);
      steps.push(`${init.method ?? "GET"} ${pathname}${search} ${response.status}`);
      return response;
    },
  };
}

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "scripted", version: "1" } },
});

/** The specification's order: the challenge of the first 401 says where the metadata is. */
export const challengeFirst: Discover = async (serverUrl) => {
  const trail = createTrail();
  const refused = await trail.request(serverUrl, { method: "POST", body: initialize, headers: mcpHeaders });
  return follow(trail, challengedMetadata(refused));
};

/** Asks for `/.well-known/oauth-protected-resource{path}` without any request to the server before it. */
export const pathInsertedFirst: Discover = async (serverUrl) => {
  const { origin, pathname } = new URL(serverUrl);
  return follow(createTrail(), `${origin}/.well-known/oauth-protected-resource${pathname}`);
};

/** Asks at the root, and with the path inserted once the root has nothing. */
export const rootFirst: Discover = async (serverUrl) => {
  const trail = createTrail();
  const { origin, pathname } = new URL(serverUrl);
  const root = await trail.request(`${origin}/.well-known/oauth-protected-resource`);
  if (root.ok) throw new Error("the root has a document, which cannot fit every server");
  return follow(trail, `${origin}/.well-known/oauth-protected-resource${pathname}`);
};

/** HEAD on the server; reads a quoted `resource_metadata`, and wants `resource` to be the URL it was given. */
export const headProbe: Discover = async (serverUrl) => {
  const trail = createTrail();
  const refused = await trail.request(serverUrl, { method: "HEAD", headers: { accept: "application/json" } });
  const found = await follow(trail, challengedMetadata(refused));
  const { protocol, host, pathname } = new URL(serverUrl);
  if (found.resource !== `${protocol}//${host}${pathname}`) throw new Error("the resource is another URL");
  return found;
};

/** GET on the server with the revision of old discovery requests; wants the metadata at the server's own origin. */
export const getProbe: Discover = async (serverUrl) => {
  const trail = createTrail();
  const headers = { accept: "text/event-stream, application/json", "mcp-protocol-version": "2024-11-05" };
  const location = challengedMetadata(await trail.request(serverUrl, { headers }));
  if (new URL(location).origin !== new URL(serverUrl).origin) throw new Error("the metadata is at another origin");
  return follow(trail, location, headers);
};

/** Compares `resource` as a string, and demands the media type, PKCE and the promise of `iss`. */
export const strictReader: Discover = async (serverUrl) => {
  const found = await challengeFirst(serverUrl);
  if (found.resource !== serverUrl) throw new Error("the resource is not the configured string");
  const { code_challenge_methods_supported: pkce, authorization_response_iss_parameter_supported: iss } =
    found.metadata;
  if (!Array.isArray(pkce) || !pkce.includes("S256") || iss !== true) throw new Error("PKCE or iss is not promised");
  return found;
};

/** Knows no resource metadata: the authorization server is the server's origin (2025-03-26). */
export const originAsIssuer: Discover = async (serverUrl) => {
  const trail = createTrail();
  const { origin } = new URL(serverUrl);
  const metadata = await jsonAt(trail, `${origin}/.well-known/oauth-authorization-server`);
  return { issuer: metadata["issuer"], resource: undefined, metadata, trail: trail.steps };
};

/** Looks for authorization server metadata with the server's path inserted, appended, and at the root. */
export const pathMirrors: Discover = async (serverUrl) => {
  const trail = createTrail();
  const { origin, pathname } = new URL(serverUrl);
  const documents = [];
  for (const name of ["oauth-authorization-server", "openid-configuration"])
    for (const url of [`/.well-known/${name}${pathname}`, `${pathname}/.well-known/${name}`, `/.well-known/${name}`])
      documents.push(JSON.stringify(await jsonAt(trail, origin + url)));
  if (new Set(documents).size !== 1) throw new Error("the mirrors differ");
  const metadata = JSON.parse(documents[0] ?? "") as Loose;
  return { issuer: metadata["issuer"], resource: serverUrl, metadata, trail: trail.steps };
};

/** A page of another origin: a preflight before each request that needs one, and reads only what CORS shows. */
export function pageAt(pageOrigin: string): Discover {
  return async (serverUrl) => {
    const trail = createTrail();
    const preflight = await trail.request(serverUrl, {
      method: "OPTIONS",
      headers: {
        origin: pageOrigin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,mcp-method,mcp-name,mcp-protocol-version",
      },
    });
    if (!grants(preflight, pageOrigin, ["authorization", "content-type", "mcp-method", "mcp-name"]))
      throw new Error(`the preflight is refused: ${preflight.status}`);
    const headers = { ...mcpHeaders, origin: pageOrigin };
    const refused = await trail.request(serverUrl, { method: "POST", body: initialize, headers });
    const exposed = refused.headers.get("access-control-expose-headers")?.toLowerCase() ?? "";
    if (!isReadable(refused, pageOrigin) || !exposed.includes("www-authenticate"))
      throw new Error("the page cannot read the challenge");
    const found = await follow(trail, challengedMetadata(refused), { origin: pageOrigin });
    await canPost(trail, pageOrigin, [found.metadata["registration_endpoint"], found.metadata["token_endpoint"]]);
    return found;
  };
}

async function canPost(trail: Trail, pageOrigin: string, urls: readonly unknown[]): Promise<void> {
  for (const url of urls) {
    const asked = { "access-control-request-method": "POST", "access-control-request-headers": "content-type" };
    const answer = await trail.request(String(url), { method: "OPTIONS", headers: { origin: pageOrigin, ...asked } });
    if (!grants(answer, pageOrigin, ["content-type"])) throw new Error(`a page cannot post to ${String(url)}`);
  }
}

function grants(preflight: Response, pageOrigin: string, names: readonly string[]): boolean {
  const allowed = (preflight.headers.get("access-control-allow-headers") ?? "").toLowerCase().split(/,\s*/);
  return preflight.ok && isReadable(preflight, pageOrigin) && names.every((name) => allowed.includes(name));
}

function isReadable({ headers }: Response, pageOrigin: string): boolean {
  return ["*", pageOrigin].includes(headers.get("access-control-allow-origin") ?? "");
}

const mcpHeaders = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function challengedMetadata(refused: Response): string {
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const location = /^Bearer (?:.*, )?resource_metadata="([^"]+)"/.exec(challenge)?.[1];
  if (refused.status !== 401 || location === undefined)
    throw new Error(`no challenge: ${refused.status} ${challenge} ${refused.headers.get("location") ?? ""}`);
  return location;
}

async function follow(trail: Trail, metadataUrl: string, headers: Record<string, string> = {}): Promise<Discovered> {
  const resource = await jsonAt(trail, metadataUrl, headers);
  const [issuer] = resource["authorization_servers"] as string[];
  const metadata = await jsonAt(trail, `${issuer ?? ""}/.well-known/oauth-authorization-server`, headers);
  if (metadata["issuer"] !== issuer) throw new Error("the metadata is another issuer's");
  return { issuer, resource: resource["resource"], metadata, trail: trail.steps };
}

async function jsonAt(trail: Trail, url: string, headers: Record<string, string> = {}): Promise<Loose> {
  const response = await trail.request(url, { headers });
  const type = response.headers.get("content-type");
  if (response.status !== 200 || type !== "application/json")
    throw new Error(`${url}: ${response.status} ${type ?? ""}`);
  const page = headers["origin"];
  if (page !== undefined && !isReadable(response, page)) throw new Error(`a page cannot read ${url}`);
  return (await response.json()) as Loose;
}

const redirectUri = "http://127.0.0.1:49153/callback";

/** Registers a public client, and returns its id. */
export async function registerAt({ metadata }: Discovered): Promise<string> {
  const registered = await postJson(String(metadata["registration_endpoint"]), {
    client_name: "scripted",
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "none",
  });
  return String(registered["client_id"]);
}

/**
 * Registers unless it is registered, signs in with PKCE, and exchanges the code; what the token endpoint or the
 * redirect said. Without `scope` it asks for none.
 */
export async function signInWith(
  found: Discovered,
  login: Login,
  more: { readonly scope?: string | undefined; readonly clientId?: string } = {},
): Promise<Loose> {
  const { metadata, resource } = found;
  const target: Record<string, string> = typeof resource === "string" ? { resource } : {};
  const wanted: Record<string, string> = more.scope === undefined ? {} : { scope: more.scope };
  const clientId = more.clientId ?? (await registerAt(found));
  const verifier = randomBytes(32).toString("base64url");
  const url = new URL(String(metadata["authorization_endpoint"]));
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: "s",
    ...target,
    ...wanted,
  }).toString();
  const back = (await signInHeadlessly({ authorizationUrl: url, ...login })).searchParams;
  const code = back.get("code");
  if (back.get("iss") !== metadata["issuer"]) throw new Error("the redirect is another issuer's");
  if (code === null) return Object.fromEntries(back);
  const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri };
  const body = new URLSearchParams({ ...form, client_id: clientId, ...target });
  return (await (await fetch(String(metadata["token_endpoint"]), { method: "POST", body })).json()) as Loose;
}

async function postJson(url: string, body: unknown): Promise<Loose> {
  const headers = { "content-type": "application/json" };
  return (await (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json()) as Loose;
}
