import { createHash, randomBytes } from "node:crypto";
import type { Claims } from "./provider.ts";

const redirectUri = "http://127.0.0.1:49155/callback";

/** A client that is registered beforehand, as these providers ask for, and knows a server's URL. */
export interface RegisteredClient {
  readonly clientId: string;
  /** Clients that predate RFC 8707 send no `resource`. */
  readonly sendsResource?: boolean;
  /** Instead of what the challenge says. */
  readonly scope?: string;
}

/** What the server's challenge and metadata, and its issuer's metadata, tell a client. */
export interface Found {
  readonly resource: string;
  readonly scope: string;
  readonly issuer: string;
  readonly metadata: Claims;
}

export interface Tokens {
  readonly access: string;
  readonly refresh: string | undefined;
  readonly id: string | undefined;
}

/** The specification's way: challenge, resource metadata, and the three places of the issuer's metadata in order. */
export async function discover(serverUrl: string): Promise<Found> {
  const refused = await fetch(serverUrl, { method: "POST" });
  const challenge = refused.headers.get("www-authenticate") ?? "";
  const metadataUrl = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "";
  const about = (await (await fetch(metadataUrl)).json()) as Claims;
  const issuer = String((about["authorization_servers"] as string[])[0]);
  const metadata = await issuerMetadata(issuer);
  if (metadata["issuer"] !== issuer) throw new Error("the metadata is another issuer's");
  return { resource: String(about["resource"]), scope: /scope="([^"]+)"/.exec(challenge)?.[1] ?? "", issuer, metadata };
}

async function issuerMetadata(issuer: string): Promise<Claims> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  const oauth = `${origin}/.well-known/oauth-authorization-server${path}`;
  const openId = [
    `${origin}/.well-known/openid-configuration${path}`,
    `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`,
  ];
  for (const url of [oauth, ...openId]) {
    const answer = await fetch(url);
    if (answer.ok) return (await answer.json()) as Claims;
  }
  throw new Error(`no metadata of ${issuer}`);
}

/** Goes through the code flow with PKCE; the provider's error where it refuses. */
export async function signInAt(found: Found, client: RegisteredClient): Promise<Tokens | { readonly error: string }> {
  const verifier = randomBytes(32).toString("base64url");
  const target: Record<string, string> = client.sendsResource === false ? {} : { resource: found.resource };
  const url = new URL(String(found.metadata["authorization_endpoint"]));
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    scope: client.scope ?? found.scope,
    state: "s",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...target,
  }).toString();
  const sent = await fetch(url, { redirect: "manual" });
  const back = new URL(sent.headers.get("location") ?? "").searchParams;
  const code = back.get("code");
  if (code === null) return { error: `${back.get("error") ?? ""} ${back.get("error_description") ?? ""}` };
  const form = { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: redirectUri };
  return tokensAt(found, { ...form, client_id: client.clientId, ...target });
}

/** Posts to the token endpoint. */
export async function tokensAt(
  found: Found,
  form: Record<string, string>,
): Promise<Tokens | { readonly error: string }> {
  const body = new URLSearchParams(form);
  const answer = (await (
    await fetch(String(found.metadata["token_endpoint"]), { method: "POST", body })
  ).json()) as Claims;
  if (typeof answer["error"] === "string") return { error: answer["error"] };
  return {
    access: String(answer["access_token"]),
    refresh: answer["refresh_token"] as string | undefined,
    id: answer["id_token"] as string | undefined,
  };
}

/** RFC 7009 where the provider has it. */
export async function revokeAt(found: Found, token: string): Promise<void> {
  const body = new URLSearchParams({ token });
  const answer = await fetch(String(found.metadata["revocation_endpoint"]), { method: "POST", body });
  if (!answer.ok) throw new Error(`not revoked: ${answer.status}`);
}
