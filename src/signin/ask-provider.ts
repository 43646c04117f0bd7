import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  ClientSecretBasic,
  ClientSecretPost,
  clockSkew,
  clockTolerance,
  customFetch,
  getValidatedIdTokenClaims,
  jwksCache,
  None,
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  processUserInfoResponse,
  refreshTokenGrantRequest,
  skipSubjectCheck,
  userInfoRequest,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from "oauth4webapi";
import type { AuthorizationServer, Client, ClientAuth, JWKSCacheInput, TokenEndpointResponse } from "oauth4webapi";
import { isJsonObject } from "../model/json.ts";
import type { JsonObject } from "../model/json.ts";
import { readClaim } from "../model/read-claim.ts";
import type { Result } from "../model/result.ts";
import { parseJsonText } from "../protocol/json/parse.ts";
import { ClaimsUnreadable } from "./provider-faults.ts";
import type { RelyingPartyOptions } from "./relying-party.ts";

export interface Provider extends RelyingPartyOptions {
  readonly metadata: () => Promise<Result<AuthorizationServer>>;
  /** The library's memory of the provider's keys: one key set, which it renews by age and on an unknown `kid`. */
  readonly keys: JWKSCacheInput;
}

/** The browser's answer, and what was kept for it. */
export interface CodeAnswer {
  readonly parameters: URLSearchParams;
  readonly state: string;
  readonly redirectUri: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface ProviderAnswer {
  /** Of the ID token and, where it lacks what is needed, of UserInfo. */
  readonly claims: JsonObject;
  readonly idToken: string;
  readonly refreshToken: string | undefined;
}

/** Checks the browser's answer and redeems its code. Rejects with the library's errors, whose `cause` holds secrets. */
export async function exchangeCode(
  provider: Provider,
  metadata: AuthorizationServer,
  answer: CodeAnswer,
): Promise<ProviderAnswer> {
  const client = clientOf(provider);
  const checked = validateAuthResponse(metadata, client, answer.parameters, answer.state);
  const response = await authorizationCodeGrantRequest(
    metadata,
    client,
    authenticationOf(provider, metadata),
    checked,
    answer.redirectUri,
    answer.verifier,
    requestOptions(provider),
  );
  const tokens = await processAuthorizationCodeResponse(metadata, client, response, {
    expectedNonce: answer.nonce,
    requireIdToken: true,
  });
  // The library trusts TLS alone for tokens of the token endpoint; the signature is one check more.
  await validateApplicationLevelSignature(metadata, response, keyOptions(provider));
  return complete(provider, metadata, tokens);
}

/** What a refresh brought: the refresh token that counts next, which is used up whatever else comes of it, and the rest. */
export interface Refreshed {
  readonly refreshToken: string | undefined;
  /** Without an ID token in the answer (OpenID Connect Core §12.2) UserInfo tells who it is. */
  read(): Promise<ProviderAnswer>;
}

/** Uses a refresh token. Both steps reject with the library's errors. */
export async function refreshTokens(
  provider: Provider,
  metadata: AuthorizationServer,
  refreshToken: string,
): Promise<Refreshed> {
  const client = clientOf(provider);
  const response = await refreshTokenGrantRequest(
    metadata,
    client,
    authenticationOf(provider, metadata),
    refreshToken,
    requestOptions(provider),
  );
  const tokens = await processRefreshTokenResponse(metadata, client, response);
  return {
    refreshToken: tokens.refresh_token,
    read: async () => {
      if (tokens.id_token !== undefined)
        await validateApplicationLevelSignature(metadata, response, keyOptions(provider));
      return complete(provider, metadata, tokens);
    },
  };
}

async function complete(
  provider: Provider,
  metadata: AuthorizationServer,
  tokens: TokenEndpointResponse,
): Promise<ProviderAnswer> {
  const own = jsonOf(getValidatedIdTokenClaims(tokens));
  const claims = await withUserInfo(provider, metadata, { own, accessToken: tokens.access_token });
  return { claims, idToken: tokens.id_token ?? "", refreshToken: tokens.refresh_token };
}

/**
 * Claims of UserInfo below those of the ID token, where the latter lacks some. A failure counts only when the person
 * or the groups would be missing: to go on without groups would let rules that deny a group miss.
 */
async function withUserInfo(
  provider: Provider,
  metadata: AuthorizationServer,
  { own, accessToken }: { readonly own: JsonObject; readonly accessToken: string },
): Promise<JsonObject> {
  const needed = ["sub", provider.subjectFrom, provider.groupsClaim].filter((name) => name !== undefined);
  const lacks = (names: readonly string[]): boolean => names.some((name) => readClaim(own, name) === undefined);
  if (metadata.userinfo_endpoint === undefined || !lacks([...needed, "name"])) return own;
  try {
    const client = clientOf(provider);
    const response = await userInfoRequest(metadata, client, accessToken, requestOptions(provider));
    const subject = own["sub"];
    const expected = typeof subject === "string" ? subject : skipSubjectCheck;
    return { ...jsonOf(await processUserInfoResponse(metadata, client, expected, response)), ...own };
  } catch (fault) {
    if (lacks(needed)) throw fault;
    return own;
  }
}

function clientOf({ clientId, now, limits }: Provider): Client {
  return {
    client_id: clientId,
    // The library reads the system's clock; the difference makes it read ours.
    [clockSkew]: Math.round((now() - Date.now()) / 1_000),
    [clockTolerance]: limits.clockLeewaySeconds,
  };
}

/** `client_secret_basic` unless the provider says that it takes the secret in the form alone (RFC 8414 §2). */
function authenticationOf({ clientSecret }: Provider, metadata: AuthorizationServer): ClientAuth {
  if (clientSecret === undefined) return None();
  const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const form = !methods.includes("client_secret_basic") && methods.includes("client_secret_post");
  return form ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret);
}

interface RequestOptions {
  [customFetch]: LibraryFetch;
  [allowInsecureRequests]: true;
}

type LibraryFetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: URLSearchParams | null | undefined },
) => Promise<Response>;

function requestOptions({ fetch }: Provider): RequestOptions {
  return {
    [customFetch]: (url, { method, headers, body }) => fetch(url, { method, headers, body: body ?? null }),
    // The guarded fetch decides where plain HTTP may go, which is loopback at most.
    [allowInsecureRequests]: true,
  };
}

function keyOptions(provider: Provider): RequestOptions & { [jwksCache]: JWKSCacheInput } {
  return { ...requestOptions(provider), [jwksCache]: provider.keys };
}

/** The library parsed it from JSON, and leaves its own type open. */
function jsonOf(value: object | undefined): JsonObject {
  const parsed = parseJsonText(JSON.stringify(value ?? {}));
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value;
  throw new ClaimsUnreadable("the claims are no JSON object within bounds");
}
