import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAuthServer } from "../../src/authserver/create.ts";
import type { AuthServer, AuthServerOptions, DemoUser } from "../../src/authserver/create.ts";
import type { Fact } from "../../src/model/refusal.ts";
import { signInHeadlessly } from "../../deploy/quickstart/sign-in.ts";
import { createMemoryRecords } from "./memory-records.ts";
import type { MemoryRecords } from "./memory-records.ts";

export const ada: DemoUser = {
  username: "ada",
  password: "correct horse",
  subject: "u-ada",
  groups: ["support"],
  name: "Ada L",
};
export const bob: DemoUser = { username: "bob", password: "battery staple", subject: "u-bob", groups: [], name: "Bob" };
export const robot = {
  clientId: "robot",
  clientSecret: "robot-secret-0123456789",
  grantTypes: ["client_credentials"],
  scopes: ["tickets:read"],
} as const;

export const redirectUri = "http://127.0.0.1:4711/callback";

export interface Harness {
  readonly origin: string;
  readonly server: AuthServer;
  readonly records: MemoryRecords;
  readonly events: { readonly event: string; readonly facts: Readonly<Record<string, Fact>> }[];
  /** Moves the injected clock. */
  advance(ms: number): void;
  close(): Promise<void>;
}

export type Changes = Partial<Omit<AuthServerOptions, "records">> & {
  readonly servers?: readonly string[];
  readonly records?: MemoryRecords;
};

/** An authorization server on a free loopback port, with two virtual servers unless told otherwise. */
export async function startHarness(changes: Changes = {}): Promise<Harness> {
  const { servers = ["support", "sales"], ...rest } = changes;
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const listening = `http://127.0.0.1:${String((http.address() as AddressInfo).port)}`;
  const publicUrl = rest.publicUrl ?? listening;
  const records = changes.records ?? createMemoryRecords();
  const events: Harness["events"] = [];
  let offsetMs = 0;
  const server = await createAuthServer({
    ...optionsFor(publicUrl, servers),
    now: () => Date.now() + offsetMs,
    log: (event, facts) => events.push({ event, facts }),
    ...rest,
    records,
    publicUrl,
  });
  http.on("request", (req, res) => void server.handle(req, res));
  return {
    origin: listening,
    server,
    records,
    events,
    advance: (ms) => {
      offsetMs += ms;
    },
    close: () => closeServer(http),
  };
}

export function optionsFor(publicUrl: string, servers: readonly string[]): Omit<AuthServerOptions, "records" | "log"> {
  return {
    publicUrl,
    resources: servers.map((name) => ({
      uri: `${publicUrl}/${name}/mcp`,
      scopes: ["tickets:read", "tickets:write"],
      minimalScopes: ["tickets:read"],
    })),
    users: [ada, bob],
    clients: [robot],
    redirectSchemes: ["com.example.app"],
    secrets: { cookieKeys: ["a cookie key of some length"] },
    accessTokenSeconds: 300,
    refreshTokenSeconds: 86_400,
  };
}

function closeServer(http: Server): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => {
      resolve();
    });
    http.closeAllConnections();
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { status: response.status, headers: response.headers, body };
}

export async function register(harness: Harness, body: unknown): Promise<Answer> {
  const response = await fetch(`${harness.origin}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return answerOf(response);
}

/** Registers a public client of the kind that most MCP clients are, and returns its id. */
export async function registerPublic(
  harness: Harness,
  redirectUris: readonly string[] = [redirectUri],
): Promise<string> {
  const { body } = await register(harness, { redirect_uris: redirectUris, token_endpoint_auth_method: "none" });
  return String(body["client_id"]);
}

export async function postForm(
  harness: Harness,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(harness.origin + path, { method: "POST", headers, body: new URLSearchParams(fields) });
  return answerOf(response);
}

function proofKey(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** The URL of an ordinary authorization request; an undefined parameter is left out. */
export function authorizationUrl(
  harness: Harness,
  clientId: string,
  parameters: Record<string, string | undefined> = {},
): URL {
  const url = new URL(`${harness.origin}/authorize`);
  const all: Record<string, string | undefined> = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    state: "st/a te",
    code_challenge: proofKey().challenge,
    code_challenge_method: "S256",
    resource: `${harness.server.issuer}/support/mcp`,
    ...parameters,
  };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value);
  return url;
}

export interface Flow {
  readonly clientId: string;
  readonly verifier: string;
  readonly code: string;
}

/** Signs Ada in and allows access; the code is not exchanged yet. */
export async function obtainCode(
  harness: Harness,
  parameters: Record<string, string | undefined> = {},
  registered?: string,
): Promise<Flow> {
  const clientId = registered ?? (await registerPublic(harness));
  const { verifier, challenge } = proofKey();
  const url = authorizationUrl(harness, clientId, { code_challenge: challenge, ...parameters });
  const redirect = await signInHeadlessly({ authorizationUrl: url, username: ada.username, password: ada.password });
  return { clientId, verifier, code: redirect.searchParams.get("code") ?? "" };
}

export function exchange(harness: Harness, flow: Flow, changes: Record<string, string> = {}): Promise<Answer> {
  return postForm(harness, "/token", {
    grant_type: "authorization_code",
    client_id: flow.clientId,
    code: flow.code,
    code_verifier: flow.verifier,
    redirect_uri: redirectUri,
    ...changes,
  });
}

export function refresh(
  harness: Harness,
  clientId: string,
  token: unknown,
  changes: Record<string, string> = {},
): Promise<Answer> {
  return postForm(harness, "/token", {
    grant_type: "refresh_token",
    client_id: clientId,
    refresh_token: String(token),
    ...changes,
  });
}

/** Header and claims of a JWT, unverified. */
export function decodeToken(token: unknown): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header = "", claims = ""] = String(token).split(".");
  const read = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  return { header: read(header), claims: read(claims) };
}
