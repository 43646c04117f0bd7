import { ok } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import type { ClientCredentialsOptions } from "../options.ts";
import type { Credential } from "./credential.ts";
import { createHeldTokens } from "./held-tokens.ts";
import type { Held, HeldTokensLimits } from "./held-tokens.ts";
import { digestOf } from "./static-headers.ts";
import { createTokenRequests, heldBearer } from "./token-requests.ts";
import type { TokenRequests, TokenRequestsContext } from "./token-requests.ts";

export interface TokenContext extends TokenRequestsContext {
  readonly limits: TokenRequestsContext["limits"] & HeldTokensLimits;
}

/**
 * The client credentials grant (RFC 6749 §4.4): one token per upstream, for the gateway itself. It is kept in
 * memory until shortly before it expires and fetched by one request at a time (see `HeldTokens`).
 *
 * Refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE, or UPSTREAM_ADDRESS_FORBIDDEN from the egress guard.
 * Not checked: what the token says; it is the upstream's to read.
 */
export function clientCredentials(options: ClientCredentialsOptions, context: TokenContext): Credential {
  const requests = createTokenRequests(options, context);
  const tokens = createHeldTokens(context);
  const generation = digestOf(["clientCredentials", JSON.stringify(options)]);
  const ask = (): Promise<Result<Held>> => askForOwn(requests, options, context);
  return {
    generation: () => generation,
    headers() {
      const fresh = tokens.fresh(ours);
      return fresh === undefined ? tokens.obtain(ours, ask) : ok(fresh);
    },
    renew: (_account, used) => tokens.renew(ours, used, ask),
  };
}

/** The one holder: the gateway. */
const ours = "gateway";

async function askForOwn(
  requests: TokenRequests,
  { scopes, resource, audience }: ClientCredentialsOptions,
  context: TokenContext,
): Promise<Result<Held>> {
  const parameters = targetParameters({ scopes, resource, audience });
  const answer = await requests.ask({ grantType: "client_credentials", parameters, tokenType: "bearer" });
  return answer.ok ? ok(heldBearer(answer.value, context)) : answer;
}

/** What a token is for: `scope` (RFC 6749 §3.3), `resource` (RFC 8707 §2), `audience` (RFC 8693 §2.1). */
export function targetParameters(of: {
  readonly scopes?: readonly string[] | undefined;
  readonly resource?: string | undefined;
  readonly audience?: string | undefined;
}): URLSearchParams {
  const parameters = new URLSearchParams();
  if (of.scopes !== undefined && of.scopes.length > 0) parameters.set("scope", of.scopes.join(" "));
  if (of.resource !== undefined) parameters.set("resource", of.resource);
  if (of.audience !== undefined) parameters.set("audience", of.audience);
  return parameters;
}
