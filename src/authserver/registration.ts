import { isJsonObject, readOwn, readOwnString } from "../model/json.ts";
import type { Json } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import type { ProtectedResource } from "./options.ts";
import { isAcceptableRedirect, isNativeRedirect } from "./redirects.ts";
import { knownScopes } from "./resources.ts";

/** An error of RFC 7591 §3.2.2. */
export interface RegistrationError {
  readonly error: "invalid_redirect_uri" | "invalid_client_metadata";
  readonly error_description: string;
}

export interface Registration {
  /** What the library registers. */
  readonly metadata: Readonly<Record<string, Json>>;
  /** The requested scopes that exist, to echo; undefined when none was asked for. They confine nothing. */
  readonly scope: string | undefined;
}

export interface RegistrationRules {
  readonly schemes: ReadonlySet<string>;
  readonly resources: readonly ProtectedResource[];
}

const grantTypes: readonly string[] = ["authorization_code", "refresh_token"];

/** Fields of the library's answer that RFC 7591 §3.2.1 knows and that say something true. */
const answered: readonly string[] = [
  "client_id",
  "client_id_issued_at",
  "client_secret",
  "client_secret_expires_at",
  "client_name",
  "redirect_uris",
  "grant_types",
  "response_types",
  "token_endpoint_auth_method",
  "application_type",
];

/**
 * A registration request as the library can take it (RFC 7591 §2 lets the server replace values).
 * Real clients list grants, scopes and redirect URIs that some server somewhere needs, so what is
 * not offered here is dropped and only a registration with nothing left is refused. Nobody registers
 * himself for client credentials: that would be a token for the asking.
 */
export function prepareRegistration(body: Json, rules: RegistrationRules): Registration | RegistrationError {
  if (!isJsonObject(body)) return invalidMetadata("the body must be a JSON object");
  const redirects = acceptedRedirects(readOwn(body, "redirect_uris"), rules.schemes);
  if ("error" in redirects) return redirects;
  const grants = strings(readOwn(body, "grant_types"));
  if (grants.length > 0 && !grants.includes("authorization_code")) {
    return invalidMetadata("only clients of the authorization code grant can register themselves");
  }
  const scope = knownScopes(rules.resources, readOwnString(body, "scope") ?? "");
  const metadata: Record<string, Json> = {
    redirect_uris: redirects,
    grant_types: [...grantTypes],
    response_types: ["code"],
    application_type: redirects.some(isNativeRedirect) ? "native" : "web",
  };
  const method = readOwnString(body, "token_endpoint_auth_method");
  if (method !== undefined) metadata["token_endpoint_auth_method"] = method;
  return { metadata: { ...metadata, ...displayName(body) }, scope: scope === "" ? undefined : scope };
}

/** The client's record as the answer shows it: absent fields are absent, never null. */
export function registrationAnswer(record: unknown, scope: string | undefined): Record<string, unknown> {
  const entries = Object.entries(typeof record === "object" && record !== null ? record : {});
  const shown = entries.filter(([name, value]) => answered.includes(name) && value !== undefined && value !== null);
  return { ...Object.fromEntries(shown), ...(scope === undefined ? {} : { scope }) };
}

function acceptedRedirects(value: Json | undefined, schemes: ReadonlySet<string>): string[] | RegistrationError {
  const requested = strings(value);
  if (requested.length > limits.oauthRedirectUrisMax) {
    return invalidRedirects(`at most ${limits.oauthRedirectUrisMax} redirect URIs can be registered`);
  }
  const accepted = [...new Set(requested.filter((uri) => isAcceptableRedirect(uri, schemes)))];
  if (accepted.length > 0) return accepted;
  return invalidRedirects("an https, loopback http or known application redirect URI is needed");
}

/** The name is shown to people who decide by it: without control and direction characters, and short. */
function displayName(body: Json): Record<string, Json> {
  const name = readOwnString(body, "client_name") ?? "";
  const visible = name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").trim();
  return visible === "" ? {} : { client_name: Array.from(visible).slice(0, limits.oauthClientNameCharsMax).join("") };
}

function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((element) => typeof element === "string") : [];
}

function invalidMetadata(description: string): RegistrationError {
  return { error: "invalid_client_metadata", error_description: description };
}

function invalidRedirects(description: string): RegistrationError {
  return { error: "invalid_redirect_uri", error_description: description };
}
