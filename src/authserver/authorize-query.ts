import type { ProtectedResource } from "./options.ts";
import { resolveResource, scopesAsked } from "./resources.ts";

/**
 * The parameters that reach the library. The rest is OpenID's (`nonce`, `claims`, `max_age` …): without
 * an ID token they mean nothing, and the library refuses them outside of OpenID requests.
 */
const kept: readonly string[] = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "code_challenge",
  "code_challenge_method",
  "login_hint",
  "request",
  "request_uri",
  "registration",
];

const promptsKnown: ReadonlySet<string> = new Set(["none", "login", "consent"]);

/** A resource that exists nowhere, so that the library answers `invalid_target` at the client's redirect URI. */
const noResource = "urn:invalid-target";

/**
 * What an authorization request is taken to say: `resource` in its canonical spelling or defaulted,
 * scopes it can have. Undefined when it asks for another response mode than `query`, which cannot be
 * answered at the redirect URI without using that mode. Repeated parameters stay repeated: the
 * library refuses them. It checks neither client, redirect URI nor PKCE; the library does.
 */
export function prepareAuthorization(
  query: URLSearchParams,
  resources: readonly ProtectedResource[],
): URLSearchParams | undefined {
  if (query.getAll("response_mode").some((mode) => mode !== "query")) return undefined;
  const prepared = new URLSearchParams();
  for (const name of kept) {
    for (const value of query.getAll(name)) prepared.append(name, value);
  }
  for (const prompt of query.getAll("prompt").map(knownPrompts)) {
    if (prompt !== "") prepared.append("prompt", prompt);
  }
  const resource = resolveResource(resources, query.getAll("resource"));
  prepared.append("resource", resource?.uri ?? noResource);
  for (const scope of preparedScopes(query.getAll("scope"), resource)) prepared.append("scope", scope);
  return prepared;
}

function preparedScopes(requested: readonly string[], resource: ProtectedResource | undefined): readonly string[] {
  if (resource === undefined || requested.length > 1) return requested;
  return [scopesAsked(resource, requested[0] ?? null)];
}

/** `select_account` and the like are wishes (OpenID Core §3.1.2.1); an unknown one is not worth a failed sign-in. */
function knownPrompts(prompt: string): string {
  return prompt
    .split(" ")
    .filter((name) => promptsKnown.has(name))
    .join(" ");
}
