import type { Limits } from "../../model/limits.ts";
import { createGuardedFetch } from "../egress.ts";
import type { Addresses, CredentialOptions } from "../options.ts";
import { clientCredentials } from "./client-credentials.ts";
import type { Credential } from "./credential.ts";
import { noCredential, staticHeaders } from "./static-headers.ts";

export interface CredentialContext {
  readonly now: () => number;
  readonly limits: Limits;
  /** Where the upstream may be; its authorization server too, unless configured apart. */
  readonly addresses: Addresses;
}

/** The credential that configuration chose for one upstream. Throws for headers that must not be set. */
export function chooseCredential(options: CredentialOptions, context: CredentialContext): Credential {
  switch (options.type) {
    case "none":
      return noCredential();
    case "static":
      return staticHeaders(options.headers);
    case "clientCredentials": {
      const { now, limits, addresses } = context;
      const fetch = createGuardedFetch({
        allow: options.addresses ?? addresses,
        timeoutMs: limits.issuerFetchTimeoutMs,
        bytesMax: limits.issuerMetadataBytesMax,
      });
      return clientCredentials(options, { fetch, now, limits });
    }
  }
}
