import { allowInsecureRequests, customFetch, genericTokenEndpointRequest } from "oauth4webapi";
import type { AuthorizationServer } from "oauth4webapi";
import { isJsonObject, readOwn, readOwnString } from "../../model/json.ts";
import type { JsonObject } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Refused, Result } from "../../model/result.ts";
import { parseJson } from "../../protocol/json/parse.ts";
import { connectionFault, faultCode } from "../connection-fault.ts";
import type { GuardedFetch } from "../egress.ts";
import { EgressRefused } from "../guarded-connect.ts";
import type { ClientOptions } from "../options.ts";
import { createSingleFlight } from "../single-flight.ts";
import { clientAuthentication } from "./client-authentication.ts";
import { discoverIssuer } from "./discover-issuer.ts";
import type { Held } from "./held-tokens.ts";

export interface TokenRequestsContext {
  readonly fetch: GuardedFetch;
  readonly now: () => number;
  readonly limits: Pick<
    Limits,
    "bearerBytesMax" | "upstreamAuthorizationAgeMsMax" | "upstreamTokenMsUnstated" | "upstreamTokenLeewayMs"
  >;
}

export interface TokenRequest {
  readonly grantType: string;
  readonly parameters: URLSearchParams;
  /** `token_type` that must come, in lower case: `n_a` for what is no access token (RFC 8693 §2.2.1). */
  readonly tokenType: "bearer" | "n_a";
  /** `issued_token_type` that may come (RFC 8693 §2.2.1); undefined takes any, and none. */
  readonly issuedTypes?: readonly string[] | undefined;
}

export interface IssuedToken {
  readonly token: string;
  /** Milliseconds; undefined: the server did not say. */
  readonly lifeMs: number | undefined;
}

/** One client at one authorization server. */
export interface TokenRequests {
  /**
   * Refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE, with `error` where the server named one of RFC 6749 §5.2, or
   * UPSTREAM_ADDRESS_FORBIDDEN from the egress guard. Not checked: what the token says; it is others' to read.
   */
  ask(request: TokenRequest): Promise<Result<IssuedToken>>;
}

export function createTokenRequests(client: ClientOptions, context: TokenRequestsContext): TokenRequests {
  const authenticate = clientAuthentication(client);
  const metadata = rememberedMetadata(client.issuer, context);
  return {
    async ask(request) {
      try {
        const response = await genericTokenEndpointRequest(
          await metadata(),
          { client_id: client.clientId },
          await authenticate(),
          request.grantType,
          request.parameters,
          // The guarded fetch decides where plain HTTP may go (loopback at most); the library's own check is looser.
          { [customFetch]: (url, init) => context.fetch(url, init), [allowInsecureRequests]: true },
        );
        return await readToken(response, request, { issuer: client.issuer, charsMax: context.limits.bearerBytesMax });
      } catch (fault) {
        return unobtainable(client.issuer, fault);
      }
    },
  };
}

/** The token as it is shown to an upstream, and for how long. */
export function heldBearer({ token, lifeMs }: IssuedToken, { now, limits }: TokenRequestsContext): Held {
  const ms = lifeMs ?? limits.upstreamTokenMsUnstated;
  const at = now();
  return {
    headers: Object.freeze(["authorization", `Bearer ${token}`]),
    renewAt: at + ms - Math.min(limits.upstreamTokenLeewayMs, ms / 2),
    endsAt: at + ms,
  };
}

/** Metadata is asked for once in a while, not once per token. */
function rememberedMetadata(
  issuer: string,
  { fetch, now, limits }: TokenRequestsContext,
): () => Promise<AuthorizationServer> {
  const flight = createSingleFlight<AuthorizationServer>();
  let held: { readonly server: AuthorizationServer; readonly until: number } | undefined;
  return () => {
    if (held !== undefined && now() < held.until) return Promise.resolve(held.server);
    return flight.run(issuer, async () => {
      const server = await discoverIssuer(issuer, fetch);
      held = { server, until: now() + limits.upstreamAuthorizationAgeMsMax };
      return server;
    });
  };
}

function unobtainable(issuer: string, fault: unknown): Refused {
  if (fault instanceof EgressRefused) return { ok: false, refusal: connectionFault(fault, false) };
  return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { issuer, code: faultCode(fault) }, { cause: fault });
}

async function readToken(
  response: Response,
  request: TokenRequest,
  { issuer, charsMax }: { readonly issuer: string; readonly charsMax: number },
): Promise<Result<IssuedToken>> {
  const { status } = response;
  const parsed = parseJson(new Uint8Array(await response.arrayBuffer()));
  const body: JsonObject = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const token = readOwnString(body, "access_token") ?? "";
  if (status !== 200 || token === "") {
    return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { issuer, status, ...said(body) });
  }
  const reason = unusable(body, request) ?? (isShowable(token, charsMax) ? undefined : "token characters");
  if (reason !== undefined) return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { issuer, reason });
  return ok({ token, lifeMs: lifeOf(body) });
}

function unusable(body: JsonObject, { tokenType, issuedTypes }: TokenRequest): string | undefined {
  if (readOwnString(body, "token_type")?.toLowerCase() !== tokenType) return "token type";
  if (issuedTypes === undefined) return undefined;
  const issued = readOwnString(body, "issued_token_type");
  return issued !== undefined && issuedTypes.includes(issued) ? undefined : "issued token type";
}

/** What no header may hold is no token (RFC 6750 §2.1). */
function isShowable(token: string, charsMax: number): boolean {
  return token.length <= charsMax && /^[\x21-\x7e]+$/.test(token);
}

/** The server's error codes are a closed list of words; anything else that it says is not repeated. */
function said(body: JsonObject): { readonly error?: string } {
  const error = readOwnString(body, "error");
  return error !== undefined && /^[a-z_]{1,40}$/.test(error) ? { error } : {};
}

function lifeOf(body: JsonObject): number | undefined {
  const seconds = Number(readOwn(body, "expires_in") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}
