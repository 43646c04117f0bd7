import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Refused, Result } from "../../model/result.ts";
import type { TokenExchangeOptions } from "../options.ts";
import type { Caller, OnAccountOf } from "../port.ts";
import type { AssertionSigner } from "./assertion-keys.ts";
import { clientCredentials, targetParameters } from "./client-credentials.ts";
import type { TokenContext } from "./client-credentials.ts";
import type { Credential, CredentialHeaders } from "./credential.ts";
import { createHeldTokens } from "./held-tokens.ts";
import type { Ask, Held, HeldTokens } from "./held-tokens.ts";
import { digestOf } from "./static-headers.ts";
import { createTokenRequests, heldBearer } from "./token-requests.ts";
import type { TokenRequests } from "./token-requests.ts";

export interface TokenExchangeContext extends TokenContext {
  /** Signs the actor token; needed with `actor: "assertion"` alone. */
  readonly signer: AssertionSigner | undefined;
}

interface Exchanging {
  readonly options: TokenExchangeOptions;
  readonly context: TokenExchangeContext;
  readonly requests: TokenRequests;
  readonly tokens: HeldTokens;
}

/**
 * Token exchange (RFC 8693): the caller's token becomes one for the upstream, at the configured endpoint, which is the
 * only place that the caller's token is sent to. What comes is kept per principal and rights until it expires.
 *
 * What goes on without a caller at hand, such as a stream, has what was exchanged last, and nothing once that has
 * ended: the caller's next request brings another. On its own account the gateway asks as itself, by client
 * credentials with the same target. Refuses as `clientCredentials` does, `expired` and `sender-constrained` being
 * reasons besides; not checked: what the token says.
 */
export function tokenExchange(options: TokenExchangeOptions, context: TokenExchangeContext): Credential {
  const requests = createTokenRequests(options, context);
  const exchanging: Exchanging = { options, context, requests, tokens: createHeldTokens(context) };
  const own = clientCredentials(options, context);
  const about = digestOf(["tokenExchange", JSON.stringify(options)]);
  return {
    generation: ({ tenant, principalKey, caller }) =>
      caller === undefined ? about : digestOf([about, tenant, principalKey]),
    headers: (account) => (account.caller === undefined ? own.headers(account) : headers(exchanging, account.caller)),
    renew: (account, used) =>
      account.caller === undefined ? renewOwn(own, account, used) : renew(exchanging, account.caller, used),
    endsAt: ({ caller }) => (caller === undefined ? undefined : exchanging.tokens.endsAt(keyOf(caller))),
  };
}

function headers(
  { tokens, ...exchanging }: Exchanging,
  caller: Caller,
): Result<CredentialHeaders> | Promise<Result<CredentialHeaders>> {
  const bound = refuseBound(exchanging.options, caller);
  if (bound !== undefined) return bound;
  const key = keyOf(caller);
  const fresh = tokens.fresh(key);
  if (fresh !== undefined) return ok(fresh);
  const ask = exchangeOf(exchanging, caller);
  if (ask !== undefined) return tokens.obtain(key, ask);
  const last = tokens.good(key);
  return last === undefined ? over(exchanging.options) : ok(last);
}

function renew(
  { tokens, ...exchanging }: Exchanging,
  caller: Caller,
  used: CredentialHeaders,
): Promise<Result<CredentialHeaders>> {
  const bound = refuseBound(exchanging.options, caller);
  if (bound !== undefined) return Promise.resolve(bound);
  const refused: Ask = () => Promise.resolve(over(exchanging.options));
  return tokens.renew(keyOf(caller), used, exchangeOf(exchanging, caller) ?? refused);
}

function renewOwn(own: Credential, account: OnAccountOf, used: CredentialHeaders): Promise<Result<CredentialHeaders>> {
  return own.renew?.(account, used) ?? Promise.resolve(ok(used));
}

/**
 * Whoever came with a token that is bound to a key (RFC 9449 §6) or a certificate (RFC 8705 §3) proved to the gateway
 * that they hold it, and nobody can pass that proof on: to the endpoint the token would be a bearer token, which is what
 * its issuer meant it not to be. How such a token is exchanged, RFC 8693 §1 leaves open, so it is done where the operator
 * says so. Looked at before what is kept, so that the answer does not depend on how somebody came before.
 */
function refuseBound({ issuer, boundTokens }: TokenExchangeOptions, caller: Caller): Refused | undefined {
  const isBound = caller.token !== undefined && caller.principal.senderConstrained === true;
  if (!isBound || boundTokens === "send") return undefined;
  return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { issuer, reason: "sender-constrained" });
}

function over({ issuer }: TokenExchangeOptions): Refused {
  return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { issuer, reason: "expired" });
}

/** A token of fewer rights, by scopes or by groups, must not be answered with what was had for one of more. */
function keyOf({ principal: { key, scopes, groups, claims } }: Caller): string {
  return JSON.stringify([key, [...scopes].sort(), [...groups].sort(), claims]);
}

/** Undefined without a token that is still good: what has expired is not shown to anybody. */
function exchangeOf(
  { options, context, requests }: Omit<Exchanging, "tokens">,
  { principal, token }: Caller,
): Ask | undefined {
  if (token === undefined || principal.expiresAt * 1_000 <= context.now()) return undefined;
  return async (): Promise<Result<Held>> => {
    const parameters = targetParameters(options);
    parameters.set("subject_token", token.revealForExchange());
    parameters.set("subject_token_type", tokenTypes[options.subjectTokenType]);
    if (options.actor === "assertion") await addActor(parameters, options, context);
    const issuedTypes = [tokenTypes.accessToken, tokenTypes.jwt];
    const answer = await requests.ask({ grantType, parameters, tokenType: "bearer", issuedTypes });
    return answer.ok ? ok(heldBearer(answer.value, context)) : answer;
  };
}

const grantType = "urn:ietf:params:oauth:grant-type:token-exchange";

/** RFC 8693 §3. */
const tokenTypes = {
  accessToken: "urn:ietf:params:oauth:token-type:access_token",
  jwt: "urn:ietf:params:oauth:token-type:jwt",
} as const;

/** The gateway says by its own signature that it is the one who acts (RFC 8693 §2.1, `actor_token`). */
async function addActor(
  parameters: URLSearchParams,
  { issuer }: TokenExchangeOptions,
  { signer, now }: TokenExchangeContext,
): Promise<void> {
  if (signer === undefined) throw new Error("an actor token needs the gateway's assertion keys");
  const iat = Math.floor(now() / 1_000);
  const claims = { iss: signer.issuer, sub: signer.issuer, aud: issuer, iat, exp: iat + actorSeconds };
  parameters.set("actor_token", await signer.sign("JWT", claims));
  parameters.set("actor_token_type", tokenTypes.jwt);
}

const actorSeconds = 60;
