import { createHash } from "node:crypto";
import { AuthorizationResponseError, validateAuthResponse } from "oauth4webapi";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { createAttempts, type Attempt } from "./attempts.ts";
import { digestOfName, type GrantBook, type GrantName } from "./grant-book.ts";
import type { Grant } from "./grant-record.ts";
import { mayBeginAt, mustNameItself } from "./issuer-proof.ts";
import type { GrantsOptions } from "./options.ts";
import type { Person } from "./port.ts";
import { profileOf } from "./profiles.ts";
import type { Registrations, RegisteredClient } from "./registration.ts";
import { scopeList } from "./scope-list.ts";
import type { Target, Targets } from "./targets.ts";
import { exchangeCode, type Tokens } from "./token-endpoint.ts";

export interface ConnectContext {
  readonly options: GrantsOptions;
  readonly book: GrantBook;
  readonly targets: Targets;
  readonly registrations: Registrations;
}

interface BeginRequest {
  readonly person: Person;
  /** The client that is admitted to the grant; empty admits none. */
  readonly clientId: string;
  readonly upstream: string;
  readonly redirectUri: string;
}

interface FinishRequest {
  readonly person: Person;
  readonly attempt: string;
  readonly params: URLSearchParams;
}

export interface Connecting {
  /** The page to open, what `finish` needs again, and the state that the answer brings back. */
  begin(
    request: BeginRequest,
  ): Promise<Result<{ readonly url: string; readonly attempt: string; readonly state: string }>>;
  finish(request: FinishRequest): Promise<Result<{ readonly upstream: string }>>;
  /** What `begin` would ask for. */
  scopesFor(target: Target, grant: Grant | undefined): readonly string[];
}

/**
 * The authorization code grant with PKCE (RFC 6749 §4.1, RFC 7636, RFC 8707, RFC 9207). An attempt is bound to the
 * person who began it and its answer to one authorization server: the issuer is part of the attempt, an `iss`
 * must equal it, and the code goes to that issuer's own token endpoint and nowhere else. This ends mix-up (RFC 9700 §4.4),
 * as a server that no operator named has to send `iss`; see `mayBeginAt`.
 *
 * `begin` refuses with UPSTREAM_CONNECTION_REFUSED `too-many-attempts` and UPSTREAM_AUTHORIZATION_UNUSABLE
 * `issuer-unproven` and `issuer-shared`, `finish` with UPSTREAM_CONNECTION_REFUSED and one of the reasons `attempt-unknown`,
 * `attempt-not-yours`, `issuer-mismatch`, `answer-invalid`, `denied`, `server-error`, `code-refused`,
 * `registration-lost`, `issuer-changed`. Both pass on what finding the server and registering refuse.
 */
export function createConnecting(context: ConnectContext): Connecting {
  const { options, book, targets, registrations } = context;
  const attempts = createAttempts(options);
  return {
    scopesFor: (target, grant) => scopesFor(options, target, grant),
    begin: async (request) => {
      const found = await targets.find(request.upstream);
      const target = found.ok ? mayBeginAt(found.value) : found;
      if (!target.ok) return target;
      const client = await registrations.clientFor(target.value, request.redirectUri);
      if (!client.ok) return client;
      const held = await book.read(nameOf(request.person, target.value));
      const scopes = scopesFor(options, target.value, held?.grant);
      const attempt = attemptOf(options, request, { target: target.value, client: client.value, scopes });
      const kept = await attempts.keep(attempt);
      if (kept === undefined) return refused(request.upstream, "too-many-attempts");
      return ok({ url: authorizationUrl(target.value, attempt), attempt: kept, state: attempt.state });
    },
    finish: async ({ person, attempt: name, params }) => {
      const attempt = await attempts.take(name, { person, state: params.get("state") ?? "" });
      if (attempt === "unknown") return refused("", "attempt-unknown");
      if (attempt === "not-yours") return refused("", "attempt-not-yours");
      return finish(context, attempt, params);
    },
  };
}

function nameOf(person: Person, { upstream, server }: Target): GrantName {
  return { person, upstream, issuer: server.issuer };
}

function refused(upstream: string, reason: string): Result<never> {
  return refuse("UPSTREAM_CONNECTION_REFUSED", { upstream, reason });
}

/**
 * What the grant has, what the upstream asked for besides, and what an ordinary sign-in asks: a person who comes
 * back for one more scope keeps the others. `offline_access` where the server lists it, as there is no refresh
 * without (OpenID Connect Core §11).
 */
function scopesFor({ limits }: GrantsOptions, target: Target, grant: Grant | undefined): readonly string[] {
  const kept = grant === undefined || grant.wanted.length === 0 ? [] : [...grant.scopes, ...grant.wanted];
  const asked = [...(target.scopes ?? []), ...kept];
  const listed = target.server.scopes_supported?.includes("offline_access") === true;
  const offline = listed && target.options.scopes === undefined && !asked.includes("offline_access");
  return scopeList([...(offline ? ["offline_access"] : []), ...asked], limits.grantScopesMax);
}

function attemptOf(
  { random }: GrantsOptions,
  { person, clientId, upstream, redirectUri }: BeginRequest,
  of: { readonly target: Target; readonly client: RegisteredClient; readonly scopes: readonly string[] },
): Attempt {
  const secret = (): string => Buffer.from(random(32)).toString("base64url");
  const { issuer } = of.target.server;
  const ends = { registeredId: of.client.id, redirectUri, state: secret(), verifier: secret() };
  return { person, clientId, upstream, issuer, ...ends, scopes: of.scopes };
}

/** Parameters that the endpoint's own URL carries stay (RFC 6749 §3.1). */
function authorizationUrl({ server, resource, options }: Target, attempt: Attempt): string {
  const profile = profileOf(options.profile);
  const url = new URL(server.authorization_endpoint);
  const set = (name: string, value: string): void => {
    url.searchParams.set(name, value);
  };
  set("response_type", "code");
  set("client_id", attempt.registeredId);
  set("redirect_uri", attempt.redirectUri);
  set("state", attempt.state);
  set("code_challenge", createHash("sha256").update(attempt.verifier).digest("base64url"));
  set("code_challenge_method", "S256");
  if (attempt.scopes.length > 0) set("scope", attempt.scopes.join(profile.scopeSeparator));
  if (resource !== undefined) set("resource", resource);
  // OpenID Connect Core §11: without it `offline_access` is ignored.
  if (attempt.scopes.includes("offline_access")) set("prompt", "consent");
  return url.href;
}

async function finish(
  context: ConnectContext,
  attempt: Attempt,
  params: URLSearchParams,
): Promise<Result<{ upstream: string }>> {
  const { options, targets, registrations } = context;
  const { upstream, redirectUri, verifier } = attempt;
  const target = await targets.find(upstream);
  if (!target.ok) return target;
  if (target.value.server.issuer !== attempt.issuer) return refused(upstream, "issuer-changed");
  const client = await registrations.clientFor(target.value, redirectUri);
  if (!client.ok) return client;
  if (client.value.id !== attempt.registeredId) return refused(upstream, "registration-lost");
  const answer = readAnswer(target.value, attempt, params);
  if (!answer.ok) return answer;
  const endpoint = {
    target: target.value,
    client: client.value,
    now: options.now,
    tokenCharsMax: options.limits.bearerBytesMax,
  };
  const outcome = await exchangeCode(endpoint, { answer: answer.value, redirectUri, verifier });
  switch (outcome.kind) {
    case "tokens":
      return keep(context, attempt, outcome.tokens);
    case "invalid-grant":
      return refused(upstream, "code-refused");
    case "invalid-client":
      if (client.value.kind === "dynamic") await registrations.lost(target.value, redirectUri, client.value.id);
      return refused(upstream, "registration-lost");
    case "unavailable":
      return { ok: false, refusal: outcome.refusal };
  }
}

/** What the browser brought, errors too. Its own words reach nobody: they are whoever's who made the link. */
function readAnswer(
  target: Target,
  { upstream, state, issuer, registeredId }: Attempt,
  params: URLSearchParams,
): Result<URLSearchParams> {
  const iss = params.getAll("iss");
  const missing = iss.length === 0 && mustNameItself(target);
  if (missing || iss.some((one) => one !== issuer)) return refused(upstream, "issuer-mismatch");
  try {
    return ok(validateAuthResponse(target.server, { client_id: registeredId }, params, state));
  } catch (fault) {
    if (!(fault instanceof AuthorizationResponseError)) return refused(upstream, "answer-invalid");
    return refused(upstream, fault.error === "access_denied" ? "denied" : "server-error");
  }
}

/**
 * The new tokens take the place of whatever was there. The old ones are not revoked: RFC 7009 §2.1 lets a server end the
 * underlying authorization with any token of it, and at servers that keep one for each person and client that is the one
 * that has just been given. They end as the server lets them, and nobody uses them any more. Consents for other clients stay unless the new grant may
 * do more than they were given for.
 */
async function keep(
  { options, book }: ConnectContext,
  attempt: Attempt,
  tokens: Tokens,
): Promise<Result<{ upstream: string }>> {
  const { person, upstream, issuer, clientId, registeredId, redirectUri } = attempt;
  const name: GrantName = { person, upstream, issuer };
  const before = (await book.read(name))?.grant;
  const scopes = scopeList(tokens.scopes ?? attempt.scopes, options.limits.grantScopesMax);
  const wider = scopes.some((scope) => before?.scopes.includes(scope) !== true);
  const others = wider ? [] : (before?.consented ?? []);
  const now = options.now();
  await book.put(name, {
    generation: Buffer.from(options.random(12)).toString("base64url"),
    tokens,
    scopes,
    wanted: [],
    clientId: registeredId,
    redirectUri,
    consented: [...new Set(clientId === "" ? others : [clientId, ...others])].slice(0, options.limits.grantClientsMax),
    since: now,
    writtenAt: now,
    refreshing: false,
    reason: undefined,
  });
  options.log("grant-connected", { upstream, tenant: person.tenant, grant: digestOfName(name).slice(0, 16) });
  options.witness.changed({ did: "connected", ...name, scopes, clientId });
  return ok({ upstream });
}
