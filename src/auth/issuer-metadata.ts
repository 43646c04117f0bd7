import { readOwnString } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
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

/** Members of the metadata that name a place (RFC 8414 §2). */
export type MetadataPlace = "jwks_uri" | "introspection_endpoint";

/**
 * A place the issuer's metadata names, from the first document of exactly this issuer: one that names another
 * must not be used (RFC 8414 §3.3, OpenID Connect Discovery §4.3), even when it differs by a slash only.
 * Rejects when there is none, with what each place had as `cause`.
 */
export async function discoverPlace(issuer: string, place: MetadataPlace, options: JsonFetch): Promise<string> {
  const faults: unknown[] = [];
  for (const url of metadataUrls(issuer)) {
    try {
      return placeIn(await fetchJson(url, options), { url, issuer, place });
    } catch (fault) {
      faults.push(fault);
    }
  }
  throw new Error(`no usable metadata for issuer ${issuer}`, { cause: faults });
}

function placeIn(metadata: JsonObject, of: { url: string; issuer: string; place: MetadataPlace }): string {
  const { url, issuer, place } = of;
  if (readOwnString(metadata, "issuer") !== issuer) throw new Error(`${url} is the metadata of another issuer`);
  const uri = readOwnString(metadata, place);
  if (uri === undefined || !URL.canParse(uri)) throw new Error(`${url} has no ${place}`);
  if (new URL(issuer).protocol === "https:" && new URL(uri).protocol !== "https:") {
    throw new Error(`${url} has a ${place} without TLS`);
  }
  return uri;
}
