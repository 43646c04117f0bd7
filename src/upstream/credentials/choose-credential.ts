import type { Limits } from "../../model/limits.ts";
import { createGuardedFetch } from "../egress.ts";
import type { Addresses, CredentialOptions } from "../options.ts";
import { assertion } from "./assertion.ts";
import type { AssertionSigner } from "./assertion-keys.ts";
import { clientCredentials } from "./client-credentials.ts";
import type { TokenContext } from "./client-credentials.ts";
import type { Credential } from "./credential.ts";
import { identityAssertion } from "./identity-assertion.ts";
import type { IdentityTokens } from "./identity-assertion.ts";
import { noCredential, staticHeaders } from "./static-headers.ts";
import { tokenExchange } from "./token-exchange.ts";
import { unrejecting } from "./unrejecting.ts";

export interface CredentialContext {
  readonly now: () => number;
  readonly limits: Limits;
  /** Where the upstream may be; its authorization server too, unless configured apart. */
  readonly addresses: Addresses;
  /** PEM of the authorities that vouch for the authorization server, in place of the system's. */
  readonly ca?: string | undefined;
  /** What kinds of credential need that others have; without it such a kind throws. */
  readonly signer?: AssertionSigner | undefined;
  readonly identities?: IdentityTokens | undefined;
}

/**
 * The credential that configuration chose for one upstream. Throws for headers that must not be set, and for a kind
 * that needs what `context` has not.
 */
export function chooseCredential(options: CredentialOptions, context: CredentialContext): Credential {
  switch (options.type) {
    case "none":
      return noCredential();
    case "made":
      return unrejecting(options.credential);
    case "static":
      return staticHeaders(options.headers);
    case "clientCredentials":
      return clientCredentials(options, tokenContext(options.addresses, context));
    case "assertion":
      return unrejecting(assertion(options, { ...context, signer: needed(context.signer, "assertion keys") }));
    case "tokenExchange": {
      const signer = options.actor === "assertion" ? needed(context.signer, "assertion keys") : undefined;
      return unrejecting(tokenExchange(options, { ...tokenContext(options.addresses, context), signer }));
    }
    case "identityAssertion":
      return unrejecting(
        identityAssertion(options, {
          ...tokenContext(options.addresses, context),
          provider: tokenContext(options.provider.addresses, { ...context, ca: undefined }),
          identities: needed(context.identities, "a sign-in at the company's provider"),
        }),
      );
  }
}

function needed<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the upstream's credential needs ${what}`);
  return value;
}

function tokenContext(addresses: Addresses | undefined, context: CredentialContext): TokenContext {
  const { now, limits, ca } = context;
  const fetch = createGuardedFetch({
    allow: addresses ?? context.addresses,
    timeoutMs: limits.issuerFetchTimeoutMs,
    bytesMax: limits.issuerMetadataBytesMax,
    ca,
  });
  return { fetch, now, limits };
}
