import { processDiscoveryResponse } from "oauth4webapi";
import type { AuthorizationServer } from "oauth4webapi";
import type { Limits } from "../model/limits.ts";
import { refuse } from "../model/refusal.ts";
import { ok } from "../model/result.ts";
import type { Result } from "../model/result.ts";
import type { GuardedFetch } from "./port.ts";

export interface MetadataOptions {
  readonly issuer: string;
  readonly fetch: GuardedFetch;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly limits: Pick<Limits, "issuerKeysAgeMsMax" | "issuerKeysRetryMsMin">;
}

/**
 * The provider's metadata (OpenID Connect Discovery §4): one document, kept for `issuerKeysAgeMsMax` and fetched by
 * one request at a time; after a failure the next attempt waits `issuerKeysRetryMsMin`. Its `issuer` must equal the
 * configured one character by character, and it must name where to sign in, to exchange codes and to find keys.
 *
 * Refuses SIGNIN_PROVIDER_UNAVAILABLE.
 */
export function createProviderMetadata(options: MetadataOptions): () => Promise<Result<AuthorizationServer>> {
  const { now, limits } = options;
  let held: { readonly until: number; readonly result: Result<AuthorizationServer> } | undefined;
  let underWay: Promise<Result<AuthorizationServer>> | undefined;
  const fetchAnew = async (): Promise<Result<AuthorizationServer>> => {
    const result = await discover(options);
    held = { until: now() + (result.ok ? limits.issuerKeysAgeMsMax : limits.issuerKeysRetryMsMin), result };
    underWay = undefined;
    return result;
  };
  return () => {
    if (held !== undefined && now() < held.until) return Promise.resolve(held.result);
    underWay ??= fetchAnew();
    return underWay;
  };
}

async function discover({ issuer, fetch }: MetadataOptions): Promise<Result<AuthorizationServer>> {
  try {
    const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const response = await fetch(url, { headers: { accept: "application/json" } });
    const metadata = await processDiscoveryResponse(new URL(issuer), response);
    const unusable = whyUnusable(metadata, issuer);
    if (unusable === undefined) return ok(metadata);
    return refuse("SIGNIN_PROVIDER_UNAVAILABLE", { issuer, reason: unusable });
  } catch {
    return refuse("SIGNIN_PROVIDER_UNAVAILABLE", { issuer, reason: "its metadata cannot be read" });
  }
}

function whyUnusable(metadata: AuthorizationServer, issuer: string): string | undefined {
  // The library compares normalised URLs; an issuer is an exact string (OpenID Connect Discovery §4.3).
  if (metadata.issuer !== issuer) return "its metadata names another issuer";
  const { authorization_endpoint: signIn, token_endpoint: token, jwks_uri: keys } = metadata;
  if (signIn === undefined || token === undefined || keys === undefined) return "its metadata lacks an endpoint";
  // The browser goes there with nothing in between: a provider on https may not send it to plain http.
  if (!URL.canParse(signIn)) return "its authorization endpoint is no URL";
  return new URL(signIn).protocol === new URL(issuer).protocol ? undefined : "its authorization endpoint is not https";
}
