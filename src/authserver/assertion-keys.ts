import { createRemoteJWKSet, customFetch } from "jose";
import type { JWTVerifyGetKey } from "jose";
import type { AssertionIssuer } from "./assertion-issuer.ts";

/**
 * The verification keys of an issuer, fetched when first needed and again for a key that is not known, at most
 * every half minute. Where nobody says where they are, its metadata does (OpenID Discovery §4, RFC 8414 §3), once
 * its `issuer` is exactly the configured one; a metadata document that failed is asked for again. Rejects when
 * neither can be had.
 */
export function createAssertionKeys(issuer: AssertionIssuer): JWTVerifyGetKey {
  let discovering: Promise<JWTVerifyGetKey> | undefined;
  const keys = (): Promise<JWTVerifyGetKey> => {
    discovering ??= openKeys(issuer).catch((error: unknown) => {
      discovering = undefined;
      throw error;
    });
    return discovering;
  };
  return async (header, token) => (await keys())(header, token);
}

async function openKeys(issuer: AssertionIssuer): Promise<JWTVerifyGetKey> {
  const uri = issuer.jwksUri ?? (await discoverKeys(issuer));
  const fetch = (url: string, init: RequestInit): Promise<Response> => issuer.fetch(url, init);
  return createRemoteJWKSet(new URL(uri), { [customFetch]: fetch, cooldownDuration: 30_000, cacheMaxAge: 600_000 });
}

async function discoverKeys({ issuer, fetch }: AssertionIssuer): Promise<string> {
  for (const url of metadataUrls(issuer)) {
    const response = await fetch(url, { headers: { accept: "application/json" } });
    if (response.status !== 200) continue;
    // A page in place of JSON is no metadata, and the next place may have some.
    const metadata: unknown = await response.json().catch(() => undefined);
    const uri = memberOf(metadata, "jwks_uri");
    if (memberOf(metadata, "issuer") === issuer && typeof uri === "string" && URL.canParse(uri)) return uri;
  }
  throw new Error("the assertion issuer's metadata names no keys, or another issuer");
}

function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname === "/" ? "" : pathname.replace(/\/$/, "");
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
    ...(path === "" ? [] : [`${origin}/.well-known/openid-configuration${path}`]),
  ];
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}
