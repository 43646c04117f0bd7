import { readOwnString } from "../model/json.ts";
import { parseJson } from "../protocol/json/parse.ts";
import type { ProtectedResource, RegisteredClient } from "./options.ts";
import { knownScopes, resolveResource, scopesAskedByService } from "./resources.ts";

export interface TokenContext {
  readonly resources: readonly ProtectedResource[];
  readonly clients: readonly RegisteredClient[];
  /** The request's Authorization header, for the client's name only; the library verifies the secret. */
  readonly authorization: string | undefined;
}

/**
 * What a token request is taken to say: `resource` in its canonical spelling, and scopes it can have.
 * An unknown resource stays, and the library answers `invalid_target`. It authenticates nobody.
 */
export function prepareTokenForm(form: URLSearchParams, context: TokenContext): URLSearchParams {
  const prepared = new URLSearchParams(form);
  const resource = resolveResource(context.resources, form.getAll("resource"));
  if (resource !== undefined && form.has("resource")) prepared.set("resource", resource.uri);
  const grantType = form.get("grant_type");
  if (grantType === "refresh_token") {
    setOrDelete(prepared, "scope", knownScopes(context.resources, form.get("scope") ?? ""));
  } else if (grantType === "client_credentials") {
    prepareService(prepared, resource, context);
  }
  return prepared;
}

function prepareService(
  prepared: URLSearchParams,
  resource: ProtectedResource | undefined,
  context: TokenContext,
): void {
  if (resource === undefined) return;
  const assertion = prepared.get("client_assertion") ?? undefined;
  const clientId = prepared.get("client_id") ?? basicUser(context.authorization) ?? assertedClient(assertion);
  const client = context.clients.find((known) => known.clientId === clientId);
  if (client === undefined) return;
  prepared.set("resource", resource.uri);
  prepared.set("scope", scopesAskedByService(resource, prepared.get("scope"), client.scopes));
}

/** The user part of HTTP Basic credentials, form-decoded as RFC 6749 §2.3.1 has it. */
function basicUser(authorization: string | undefined): string | undefined {
  const encoded = /^basic ([A-Za-z0-9+/=]+)$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const user = Buffer.from(encoded, "base64").toString("utf8").split(":")[0] ?? "";
  return [...new URLSearchParams(`user=${user}`).values()][0];
}

/** Whom a client assertion claims to be from (RFC 7523 §3); the library verifies it. */
function assertedClient(assertion: string | undefined): string | undefined {
  const parsed = parseJson(Buffer.from(assertion?.split(".")[1] ?? "", "base64url"));
  return parsed.ok ? readOwnString(parsed.value, "sub") : undefined;
}

function setOrDelete(form: URLSearchParams, name: string, value: string): void {
  if (value === "") form.delete(name);
  else form.set(name, value);
}
