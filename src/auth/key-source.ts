import { parseJsonText } from "../protocol/json/parse.ts";
import { isJsonObject } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import { fetchJson } from "./fetch-json.ts";
import { createIssuerKeys } from "./issuer-keys.ts";
import type { IssuerKeyLimits, IssuerKeys } from "./issuer-keys.ts";
import { discoverPlace } from "./issuer-metadata.ts";
import type { GuardedFetch } from "./port.ts";
import type { JwkSet, TrustedIssuer } from "./trusted-issuer.ts";

export type KeySourceLimits = IssuerKeyLimits & Pick<Limits, "issuerMetadataBytesMax" | "issuerFetchTimeoutMs">;

/** The keys of a trusted issuer, from wherever its configuration says they come. */
export function keysOf(trusted: TrustedIssuer, fetch: GuardedFetch, limits: KeySourceLimits): IssuerKeys {
  const { alias, keys: source } = trusted;
  if (source.kind === "local") {
    // Nothing is fetched, so nothing is spared by keeping keys.
    const noWaits = { ...limits, issuerKeysAgeMsMax: 0, issuerKeysRetryMsMin: 0 };
    return createIssuerKeys({ alias, limits: noWaits, load: async () => asJson(await source.keys()) });
  }
  return createIssuerKeys({ alias, limits, load: () => loadRemote(trusted, trusted.fetch ?? fetch, limits) });
}

/** One time limit spans metadata and keys. The metadata is read anew each time, since `jwks_uri` may move. */
async function loadRemote(trusted: TrustedIssuer, fetch: GuardedFetch, limits: KeySourceLimits): Promise<JsonObject> {
  const signal = AbortSignal.timeout(limits.issuerFetchTimeoutMs);
  const options = { fetch, signal, bytesMax: limits.issuerMetadataBytesMax };
  const { keys, issuer } = trusted;
  const uri = keys.kind === "jwksUri" ? keys.uri : await discoverPlace(issuer, "jwks_uri", options);
  return fetchJson(uri, options);
}

function asJson(set: JwkSet): JsonObject {
  const parsed = parseJsonText(JSON.stringify({ keys: set.keys }));
  if (!parsed.ok || !isJsonObject(parsed.value)) throw new Error("local keys are no JSON");
  return parsed.value;
}
