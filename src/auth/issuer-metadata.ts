import { readOwnString } from "../model/json.ts";
import { fetchJson } from "./fetch-json.ts";
import type { JsonFetch } from "./fetch-json.ts";

/**
 * Where an issuer's metadata may stand, in the order the MCP specification gives (authorization,
 * "Authorization Server Metadata Discovery"): RFC 8414 §3.1 inserted, OpenID inserted, OpenID appended.
 * Throws when the issuer is no URL.
 */
export function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  const inserted = ["oauth-authorization-server", "openid-configuration"].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/**
 * The issuer's `jwks_uri`, from the first place that has metadata of exactly this issuer: a document that
 * names another one must not be used (RFC 8414 §3.3, OpenID Connect Discovery §4.3), even when it differs
 * by a slash only. Rejects when there is none, with what each place had as `cause`.
 */
export async function discoverJwksUri(issuer: string, options: JsonFetch): Promise<string> {
  const faults: unknown[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      return await jwksUriAt(url, issuer, options);
    } catch (fault) {
      faults.push(fault);
    }
  }
  throw new Error(`no usable metadata for issuer ${issuer}`, { cause: faults });
}

async function jwksUriAt(url: string, issuer: string, options: JsonFetch): Promise<string> {
  const metadata = await fetchJson(url, options);
  if (readOwnString(metadata, "issuer") !== issuer) throw new Error(`${url} is the metadata of another issuer`);
  const uri = readOwnString(metadata, "jwks_uri");
  if (uri === undefined || !URL.canParse(uri)) throw new Error(`${url} has no jwks_uri`);
  if (new URL(issuer).protocol === "https:" && new URL(uri).protocol !== "https:") {
    throw new Error(`${url} has a jwks_uri without TLS`);
  }
  return uri;
}
