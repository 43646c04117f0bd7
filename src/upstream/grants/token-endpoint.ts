import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  ClientSecretPost,
  customFetch,
  None,
  refreshTokenGrantRequest,
  revocationRequest,
} from "oauth4webapi";
import type { ClientAuth } from "oauth4webapi";
import { readOwn, readOwnString, type JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { clientSecretBasic } from "../credentials/client-secret-basic.ts";
import { networkFault } from "./faults.ts";
import { profileOf } from "./profiles.ts";
import { readDocument } from "./read-document.ts";
import type { RegisteredClient } from "./registration.ts";
import type { Target } from "./targets.ts";

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch; undefined: the server did not say. */
  readonly expiresAt: number | undefined;
  /** Undefined: as asked for (RFC 6749 §5.1). */
  readonly scopes: readonly string[] | undefined;
}

/**
 * What a token endpoint came to. `invalid-grant` and `invalid-client` are statements of the server (RFC 6749 §5.2);
 * `unavailable` is everything after which the same request may be tried again.
 */
export type TokenOutcome =
  | { readonly kind: "tokens"; readonly tokens: Tokens }
  | { readonly kind: "invalid-grant" }
  | { readonly kind: "invalid-client" }
  | { readonly kind: "unavailable"; readonly refusal: Refusal };

export interface TokenContext {
  readonly target: Target;
  readonly client: RegisteredClient;
  readonly now: () => number;
  readonly tokenCharsMax: number;
}

/** Exchanges a code (RFC 6749 §4.1.3, RFC 7636, RFC 8707). `answer` is a validated authorization response. */
export function exchangeCode(
  context: TokenContext,
  of: { readonly answer: URLSearchParams; readonly redirectUri: string; readonly verifier: string },
): Promise<TokenOutcome> {
  const { target, client } = context;
  return outcomeOf(context, () =>
    authorizationCodeGrantRequest(
      target.server,
      { client_id: client.id },
      authentication(client),
      of.answer,
      of.redirectUri,
      of.verifier,
      requestOptions(target),
    ),
  );
}

/** Refreshes (RFC 6749 §6). Scopes are left out, so the grant keeps its own. */
export function refreshTokens(context: TokenContext, refreshToken: string): Promise<TokenOutcome> {
  const { target, client } = context;
  return outcomeOf(context, () =>
    refreshTokenGrantRequest(
      target.server,
      { client_id: client.id },
      authentication(client),
      refreshToken,
      requestOptions(target),
    ),
  );
}

/** Revokes at the provider (RFC 7009); false where it offers that not, cannot be reached or refuses. */
export async function revokeToken(
  { target, client }: Pick<TokenContext, "target" | "client">,
  { token, hint }: { readonly token: string; readonly hint: "refresh_token" | "access_token" },
): Promise<boolean> {
  if (target.server.revocation_endpoint === undefined) return false;
  const options = {
    [customFetch]: target.fetch,
    [allowInsecureRequests]: true,
    additionalParameters: { token_type_hint: hint },
  };
  try {
    const { server } = target;
    const response = await revocationRequest(server, { client_id: client.id }, authentication(client), token, options);
    return response.status === 200;
  } catch {
    return false;
  }
}

function authentication({ secret, method }: RegisteredClient): ClientAuth {
  if (secret === undefined || method === "none") return None();
  return method === "client_secret_post" ? ClientSecretPost(secret) : clientSecretBasic(secret);
}

/** The guarded fetch decides where plain http may go (loopback at most); the library's own check is looser. */
function requestOptions({ fetch, resource }: Target): Parameters<typeof refreshTokenGrantRequest>[4] {
  return {
    [customFetch]: fetch,
    [allowInsecureRequests]: true,
    ...(resource === undefined ? {} : { additionalParameters: { resource } }),
  };
}

/**
 * Reads the answer by ourselves: providers tell errors with status 200 or with a challenge, name their members
 * otherwise, and add ID tokens, of which nothing is used here and whose faults must not cost a grant.
 */
async function outcomeOf(context: TokenContext, send: () => Promise<Response>): Promise<TokenOutcome> {
  try {
    const response = await send();
    const document = await readDocument(response);
    const body = document === undefined ? undefined : profileOf(context.target.options.profile).tokenAnswer(document);
    const error = readOwnString(body, "error");
    if (error === "invalid_grant" && response.status < 500) return { kind: "invalid-grant" };
    if (isClientUnknown(response.status, error)) return { kind: "invalid-client" };
    const tokens = response.status === 200 && error === undefined ? readTokens(body, context) : undefined;
    if (tokens !== undefined) return { kind: "tokens", tokens };
    return unavailable(context, `status ${response.status}`, error);
  } catch (fault) {
    return { kind: "unavailable", refusal: networkFault(context.target.upstream, fault).refusal };
  }
}

function isClientUnknown(status: number, error: string | undefined): boolean {
  return status < 500 && (error === "invalid_client" || error === "unauthorized_client" || status === 401);
}

function unavailable({ target }: TokenContext, code: string, error: string | undefined): TokenOutcome {
  const { refusal } = networkFault(target.upstream, new Error("the token endpoint gave no token"));
  // The server's error codes are a closed list of words (RFC 6749 §5.2); anything else it says is not repeated.
  const said = error !== undefined && /^[a-z_]{1,40}$/.test(error) ? { error } : {};
  return { kind: "unavailable", refusal: { ...refusal, facts: { ...refusal.facts, code, ...said } } };
}

function readTokens(body: JsonObject | undefined, { target, now, tokenCharsMax }: TokenContext): Tokens | undefined {
  const accessToken = tokenOf(body, "access_token", tokenCharsMax);
  if (accessToken === undefined || readOwnString(body, "token_type")?.toLowerCase() !== "bearer") return undefined;
  const seconds = Number(readOwn(body, "expires_in") ?? Number.NaN);
  const scope = readOwnString(body, "scope");
  return {
    accessToken,
    refreshToken: tokenOf(body, "refresh_token", tokenCharsMax),
    expiresAt: Number.isFinite(seconds) && seconds > 0 ? now() + seconds * 1_000 : undefined,
    scopes:
      scope === undefined ? undefined : scope.split(profileOf(target.options.profile).grantedSeparator).filter(Boolean),
  };
}

/** What no header or form may hold is no token (RFC 6750 §2.1, RFC 6749 appendix A). */
function tokenOf(body: JsonObject | undefined, name: string, charsMax: number): string | undefined {
  const token = readOwnString(body, name);
  return token !== undefined && token.length <= charsMax && /^[\x21-\x7e]+$/.test(token) ? token : undefined;
}
