import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  processClientCredentialsResponse,
} from "oauth4webapi";
import type { AuthorizationServer } from "oauth4webapi";
import type { Limits } from "../../model/limits.ts";
import { refuse } from "../../model/refusal.ts";
import { ok } from "../../model/result.ts";
import type { Result } from "../../model/result.ts";
import { connectionFault, faultCode } from "../connection-fault.ts";
import type { GuardedFetch } from "../egress.ts";
import { EgressRefused } from "../guarded-connect.ts";
import type { ClientCredentialsOptions } from "../options.ts";
import { createSingleFlight } from "../single-flight.ts";
import type { Credential, CredentialHeaders } from "./credential.ts";
import { discoverIssuer } from "./discover-issuer.ts";
import { digestOf } from "./static-headers.ts";

export interface ClientCredentialsContext {
  readonly fetch: GuardedFetch;
  readonly now: () => number;
  readonly limits: Pick<
    Limits,
    "issuerKeysAgeMsMax" | "upstreamCredentialRetryMsMin" | "upstreamTokenMsUnstated" | "upstreamTokenLeewayMs"
  >;
}

interface Held {
  readonly headers: CredentialHeaders;
  readonly renewAt: number;
}

/**
 * The client credentials grant (RFC 6749 §4.4): one token per upstream, for the gateway itself. It is kept in
 * memory until shortly before it expires and fetched by one request at a time; after a failure the next
 * attempt waits `upstreamCredentialRetryMsMin`, so that a dead issuer is not asked once per call.
 *
 * Refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE, or UPSTREAM_ADDRESS_FORBIDDEN from the egress guard.
 * Not checked: what the token says; it is the upstream's to read.
 */
export function clientCredentials(options: ClientCredentialsOptions, context: ClientCredentialsContext): Credential {
  const { now, limits } = context;
  const flight = createSingleFlight<Result<CredentialHeaders>>();
  let held: Held | undefined;
  let failed: { readonly until: number; readonly result: Result<CredentialHeaders> } | undefined;

  const obtain = (): Promise<Result<CredentialHeaders>> =>
    flight.run("token", async () => {
      if (failed !== undefined && now() < failed.until) return failed.result;
      const result = await requestToken(options, context);
      if (!result.ok) {
        failed = { until: now() + limits.upstreamCredentialRetryMsMin, result };
        return result;
      }
      held = result.value;
      failed = undefined;
      return ok(held.headers);
    });

  return {
    generation: generationOf(options),
    headers() {
      return held !== undefined && now() < held.renewAt ? ok(held.headers) : obtain();
    },
    renew(used) {
      // Another call may have renewed it meanwhile: then that one is tried.
      if (held !== undefined && held.headers !== used) return Promise.resolve(ok(held.headers));
      held = undefined;
      return obtain();
    },
  };
}

function generationOf(options: ClientCredentialsOptions): string {
  const { issuer, clientId, clientSecret, method = "", scopes = [], resource = "" } = options;
  return digestOf(["clientCredentials", issuer, clientId, clientSecret, method, scopes.join(" "), resource]);
}

async function requestToken(
  options: ClientCredentialsOptions,
  context: ClientCredentialsContext,
): Promise<Result<Held>> {
  try {
    const server = await discoverIssuer(options.issuer, context.fetch);
    const answer = await askForToken(server, options, context.fetch);
    return ok(hold(answer, context));
  } catch (fault) {
    if (fault instanceof EgressRefused) return { ok: false, refusal: connectionFault(fault, false) };
    return refuse(
      "UPSTREAM_CREDENTIAL_UNAVAILABLE",
      { issuer: options.issuer, code: faultCode(fault) },
      { cause: fault },
    );
  }
}

interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in?: number | undefined;
}

async function askForToken(
  server: AuthorizationServer,
  options: ClientCredentialsOptions,
  fetch: GuardedFetch,
): Promise<TokenAnswer> {
  const client = { client_id: options.clientId };
  const authenticate = options.method === "client_secret_post" ? ClientSecretPost : ClientSecretBasic;
  const parameters = new URLSearchParams();
  if (options.scopes !== undefined && options.scopes.length > 0) parameters.set("scope", options.scopes.join(" "));
  if (options.resource !== undefined) parameters.set("resource", options.resource);
  const response = await clientCredentialsGrantRequest(
    server,
    client,
    authenticate(options.clientSecret),
    parameters,
    // The guarded fetch decides where plain HTTP may go (loopback at most); the library's own check is looser.
    { [customFetch]: (url, init) => fetch(url, init), [allowInsecureRequests]: true },
  );
  return processClientCredentialsResponse(server, client, response);
}

function hold(answer: TokenAnswer, { now, limits }: ClientCredentialsContext): Held {
  if (answer.token_type.toLowerCase() !== "bearer") throw new Error("the token is no bearer token");
  if (!/^[\x21-\x7e]+$/.test(answer.access_token)) throw new Error("the token holds characters no header may hold");
  const lifeMs = answer.expires_in === undefined ? limits.upstreamTokenMsUnstated : answer.expires_in * 1_000;
  const leewayMs = Math.min(limits.upstreamTokenLeewayMs, lifeMs / 2);
  return {
    headers: Object.freeze(["authorization", `Bearer ${answer.access_token}`]),
    renewAt: now() + lifeMs - leewayMs,
  };
}
