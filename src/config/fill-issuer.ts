import { defaults } from "./defaults.ts";
import type { Place } from "./fault.ts";
import { mapByName } from "./map-by-name.ts";
import type { RawIssuer } from "./raw.ts";
import type { SecretReader } from "./secret-reader.ts";
import type { IntrospectionConfig, IssuerConfig } from "./types-auth.ts";

export function fillIssuer(raw: RawIssuer, place: Place, secrets: SecretReader): IssuerConfig {
  return {
    alias: raw.alias,
    issuer: raw.issuer,
    issuerAliases: raw.issuerAliases ?? [],
    profile: raw.profile ?? defaults.issuerProfile,
    tokenTypes: raw.tokenTypes,
    subjectClaim: raw.subjectClaim,
    groupsClaim: raw.groupsClaim,
    scopeClaim: raw.scopeClaim,
    tenant: raw.tenant ?? defaults.tenant,
    tenantClaim: raw.tenantClaim,
    claims: mapByName(raw.claims ?? {}, String),
    algorithms: raw.algorithms ?? defaults.algorithms,
    ...fillServersOf(raw),
    introspection: fillIntrospection(raw.introspection, [...place, "introspection"], secrets),
    dpop: raw.dpop ?? defaults.dpop,
    jwksUri: raw.jwksUri,
    addresses: raw.addresses ?? defaults.addresses,
    tls: raw.tls === undefined ? undefined : { ca: secrets.read([...place, "tls", "ca"], raw.tls.ca) },
    serviceWhen: raw.serviceWhen,
  };
}

/** What is said by name of a server. */
function fillServersOf(raw: RawIssuer): Pick<IssuerConfig, "audience" | "scopePrefix"> {
  return { audience: mapByName(raw.audience ?? {}, String), scopePrefix: mapByName(raw.scopePrefix ?? {}, String) };
}

function fillIntrospection(
  raw: RawIssuer["introspection"],
  place: Place,
  secrets: SecretReader,
): IntrospectionConfig | undefined {
  if (raw === undefined) return undefined;
  const clientSecret = secrets.read([...place, "clientSecret"], raw.clientSecret);
  return { clientId: raw.clientId, clientSecret, endpoint: raw.endpoint };
}
