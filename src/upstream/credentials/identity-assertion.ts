import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import type { IdentityAssertionOptions } from "../options.ts";
import type { Caller, OnAccountOf } from "../port.ts";
import { clientCredentials, targetParameters } from "./client-credentials.ts";
import type { TokenContext } from "./client-credentials.ts";
import type { Credential } from "./credential.ts";
import { createHeldTokens } from "./held-tokens.ts";
import type { Ask } from "./held-tokens.ts";
import { digestOf } from "./static-headers.ts";
import { createTokenRequests, heldBearer } from "./token-requests.ts";
import type { TokenRequests } from "./token-requests.ts";

/** What the company's provider said of a person as they signed in, kept sealed by whoever signed them in. */
export interface IdentityTokens {
  /** The person's ID token; undefined where none is kept, or it has expired and cannot be had again. */
  idTokenOf(person: {
    readonly tenant: string;
    readonly issuer: string;
    readonly subject: string;
  }): Promise<string | undefined>;
}

export interface IdentityAssertionContext extends TokenContext {
  /** How the company's provider is reached; the upstream's authorization server may lie elsewhere. */
  readonly provider: TokenContext;
  readonly identities: IdentityTokens;
}

interface Asserting {
  readonly options: IdentityAssertionOptions;
  readonly context: IdentityAssertionContext;
  readonly atProvider: TokenRequests;
  readonly atServer: TokenRequests;
}

/**
 * The identity assertion grant as its client (draft-ietf-oauth-identity-assertion-authz-grant): the company's
 * provider exchanges the caller's ID token for an assertion that is meant for the upstream's authorization server
 * (§4.3), which gives an access token for it (§4.4). Both are asked on the gateway's own account as clients; the caller's own token takes
 * no part. What comes is kept per principal until it expires, and what goes on without a caller may renew it, as long as the provider does.
 *
 * Refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE: `no-identity` for a caller whose ID token is not kept.
 */
export function identityAssertion(options: IdentityAssertionOptions, context: IdentityAssertionContext): Credential {
  const asserting: Asserting = {
    options,
    context,
    atProvider: createTokenRequests(options.provider, context.provider),
    atServer: createTokenRequests(options, context),
  };
  const tokens = createHeldTokens(context);
  const own = clientCredentials(options, context);
  const about = digestOf(["identityAssertion", JSON.stringify(options)]);
  return {
    generation: ({ tenant, principalKey, caller }) =>
      caller === undefined ? about : digestOf([about, tenant, principalKey]),
    headers(account) {
      if (account.caller === undefined) return own.headers(account);
      const key = keyOf(account);
      const fresh = tokens.fresh(key);
      return fresh === undefined ? tokens.obtain(key, askFor(asserting, account.caller)) : ok(fresh);
    },
    renew(account, used) {
      if (account.caller === undefined) return own.renew?.(account, used) ?? Promise.resolve(ok(used));
      return tokens.renew(keyOf(account), used, askFor(asserting, account.caller));
    },
    endsAt: (account) => (account.caller === undefined ? undefined : tokens.endsAt(keyOf(account))),
  };
}

function keyOf({ tenant, principalKey }: OnAccountOf): string {
  return JSON.stringify([tenant, principalKey]);
}

function askFor(asserting: Asserting, { principal }: Caller): Ask {
  const { options, context, atServer } = asserting;
  return async () => {
    const { tenant, issuer, subject } = principal;
    const idToken = await context.identities.idTokenOf({ tenant, issuer, subject });
    if (idToken === undefined) return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { reason: "no-identity" });
    const identity = await assertionFor(asserting, idToken);
    if (!identity.ok) return identity;
    const parameters = targetParameters({ scopes: options.scopes });
    parameters.set("assertion", identity.value);
    const answer = await atServer.ask({ grantType: bearerGrant, parameters, tokenType: "bearer" });
    return answer.ok ? ok(heldBearer(answer.value, context)) : answer;
  };
}

async function assertionFor({ options, atProvider }: Asserting, idToken: string): Promise<Result<string>> {
  const { issuer: audience, resource, scopes } = options;
  const parameters = targetParameters({ audience, resource, scopes });
  parameters.set("requested_token_type", identityAssertionType);
  parameters.set("subject_token", idToken);
  parameters.set("subject_token_type", "urn:ietf:params:oauth:token-type:id_token");
  const request = {
    grantType: exchangeGrant,
    parameters,
    tokenType: "n_a",
    issuedTypes: [identityAssertionType],
  } as const;
  const answer = await atProvider.ask(request);
  return answer.ok ? ok(answer.value.token) : answer;
}

const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const bearerGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag";
