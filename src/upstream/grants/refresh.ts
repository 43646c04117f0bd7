import type { Refusal } from "../../model/refusal.ts";
import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { createSingleFlight } from "../single-flight.ts";
import { connectionRequired, type ConnectReason } from "./faults.ts";
import { digestOfName, type GrantBook, type GrantName, type Held } from "./grant-book.ts";
import { underLock } from "./grant-lock.ts";
import type { Grant } from "./grant-record.ts";
import type { GrantsOptions } from "./options.ts";
import type { Registrations, RegisteredClient } from "./registration.ts";
import { scopeList } from "./scope-list.ts";
import type { Target, Targets } from "./targets.ts";
import { refreshTokens, revokeToken, type TokenOutcome, type Tokens } from "./token-endpoint.ts";

export interface Refreshing {
  /**
   * Other tokens than those of `generation`: somebody else's newer ones, or refreshed ones. Of all callers of all
   * replicas one asks the server, and the others wait for what it gets.
   */
  renew(name: GrantName, generation: string): Promise<Result<Held>>;
}

export interface RefreshContext {
  readonly options: GrantsOptions;
  readonly book: GrantBook;
  readonly targets: Targets;
  readonly registrations: Registrations;
}

/**
 * Refreshing under a lock that all replicas share. What comes of it is written over the very record that was read,
 * so whoever loses a race neither overwrites nor deletes what the winner got; only the server's own
 * `invalid_grant`, said of the generation that is still current, ends a grant. Before the server is asked, the
 * record says so: when the answer is lost after the server rotated, the next `invalid_grant` is known for what it is.
 *
 * Refuses with UPSTREAM_CONNECTION_REQUIRED where the grant has ended, UPSTREAM_CREDENTIAL_UNAVAILABLE where the
 * server cannot be asked now (the grant stays, and nobody asks again for `upstreamCredentialRetryMsMin`), and with
 * what finding the server refuses.
 */
export function createRefreshing(context: RefreshContext): Refreshing {
  const { options, book } = context;
  const { now, limits } = options;
  const flight = createSingleFlight<Result<Held>>();
  const failures = new Map<string, { readonly until: number; readonly refusal: Refusal }>();

  const remember = (key: string, refusal: Refusal): void => {
    if (failures.size >= limits.grantFailuresRememberedMax) failures.clear();
    failures.set(key, { until: now() + limits.upstreamCredentialRetryMsMin, refusal });
  };
  const attempt = async (key: string, name: GrantName, generation: string): Promise<Result<Held>> => {
    const failed = failures.get(key);
    if (failed !== undefined && now() < failed.until) return { ok: false, refusal: failed.refusal };
    const renewed = await renewUnderLock(context, name, generation);
    if (renewed.ok) failures.delete(key);
    else if (renewed.refusal.code !== "UPSTREAM_CONNECTION_REQUIRED") remember(key, renewed.refusal);
    return renewed;
  };
  return {
    renew: async (name, generation) => {
      const current = await book.read(name);
      const newer = newerThan(name.upstream, current, generation);
      if (newer !== undefined) return newer;
      const key = `${digestOfName(name)} ${generation}`;
      return flight.run(key, () => attempt(key, name, generation));
    },
  };
}

/** Undefined while the record still has the tokens of `generation`. */
function newerThan(upstream: string, held: Held | undefined, generation: string): Result<Held> | undefined {
  if (held === undefined) return connectionRequired(upstream, "not-connected");
  if (held.grant.tokens === undefined) return connectionRequired(upstream, held.grant.reason ?? "expired");
  return held.grant.generation === generation ? undefined : ok(held);
}

async function renewUnderLock(context: RefreshContext, name: GrantName, generation: string): Promise<Result<Held>> {
  const { options, book, targets } = context;
  // Found before the lock is taken, which then covers the token endpoint alone.
  const target = await targets.find(name.upstream);
  if (!target.ok) return target;
  if (target.value.server.issuer !== name.issuer) return connectionRequired(name.upstream, "not-connected");
  return underLock(options, name, {
    work: () => refreshOnce(context, { name, generation, target: target.value }),
    instead: async () => newerThan(name.upstream, await book.read(name), generation),
  });
}

interface Job {
  readonly name: GrantName;
  readonly generation: string;
  readonly target: Target;
}

async function refreshOnce(context: RefreshContext, job: Job): Promise<Result<Held>> {
  const { book, registrations } = context;
  const { name, generation, target } = job;
  // Read again under the lock: its last holder may have been done between the reading and the locking.
  const held = await book.read(name);
  const newer = newerThan(name.upstream, held, generation);
  if (newer !== undefined || held === undefined) return newer ?? connectionRequired(name.upstream, "not-connected");
  const client = await registrations.clientFor(target, held.grant.redirectUri);
  if (!client.ok) return client;
  if (client.value.id !== held.grant.clientId) return lose(context, job, "registration-lost");
  return askServer(context, job, { grant: held.grant, client: client.value });
}

async function askServer(
  context: RefreshContext,
  job: Job,
  { grant: before, client }: { readonly grant: Grant; readonly client: RegisteredClient },
): Promise<Result<Held>> {
  const { name, generation, target } = job;
  const refreshToken = before.tokens?.refreshToken;
  if (refreshToken === undefined) return connectionRequired(name.upstream, "expired");
  const uncertain = before.refreshing;
  if (!uncertain)
    await context.book.change(name, (grant) => ifCurrent(grant, generation, { ...grant, refreshing: true }));
  const outcome = await askTwice(context, { target, client, refreshToken });
  switch (outcome.kind) {
    case "tokens":
      return keep(context, job, { tokens: outcome.tokens, client });
    case "invalid-grant":
      return lose(context, job, uncertain || outcome.repeated ? "rotation-lost" : "withdrawn");
    case "invalid-client":
      return clientUnknown(context, job, client);
    case "unavailable":
      return { ok: false, refusal: outcome.refusal };
  }
}

/**
 * Once more after a failure that is of the way or the moment, at once: the refresh token is the same, so when the
 * server did not get it nothing is lost, and when it did and rotated, waiting would not bring its answer back.
 */
async function askTwice(
  { options }: RefreshContext,
  of: { readonly target: Target; readonly client: RegisteredClient; readonly refreshToken: string },
): Promise<TokenOutcome & { readonly repeated: boolean }> {
  const { now, limits } = options;
  const context = { target: of.target, client: of.client, now, tokenCharsMax: limits.bearerBytesMax };
  const first = await refreshTokens(context, of.refreshToken);
  if (first.kind !== "unavailable") return { ...first, repeated: false };
  return { ...(await refreshTokens(context, of.refreshToken)), repeated: true };
}

async function keep(
  { options, book }: RefreshContext,
  { name, generation, target }: Job,
  { tokens, client }: { readonly tokens: Tokens; readonly client: RegisteredClient },
): Promise<Result<Held>> {
  const next = Buffer.from(options.random(12)).toString("base64url");
  const kept = await book.change(name, (grant) => {
    // Also when it was taken for lost meanwhile: whoever was told `invalid_grant` came second to this refresh.
    if (grant.generation !== generation) return undefined;
    // RFC 6749 §6: without a new refresh token the old one goes on.
    const refreshToken = tokens.refreshToken ?? grant.tokens?.refreshToken;
    const scopes = scopeList(tokens.scopes ?? grant.scopes, options.limits.grantScopesMax);
    return {
      ...grant,
      generation: next,
      tokens: { ...tokens, refreshToken },
      scopes,
      refreshing: false,
      reason: reasonAfter(grant),
    };
  });
  if (kept === undefined) await discard({ target, client }, tokens);
  const held = await book.read(name);
  return newerThan(name.upstream, held, generation) ?? connectionRequired(name.upstream, "not-connected");
}

/** New tokens do away with every reason but one: they carry no more scopes than the old ones. */
function reasonAfter({ reason }: Grant): ConnectReason | undefined {
  return reason === "scope-insufficient" ? reason : undefined;
}

/** The grant was revoked here while its tokens were renewed there. */
async function discard(
  at: { readonly target: Target; readonly client: RegisteredClient },
  tokens: Tokens,
): Promise<void> {
  const { refreshToken, accessToken } = tokens;
  const hint = refreshToken === undefined ? "access_token" : "refresh_token";
  await revokeToken(at, { token: refreshToken ?? accessToken, hint });
}

/** The tokens go, the rest stays: the person is told why, and what was consented to need not be asked again. */
async function lose(
  { options, book }: RefreshContext,
  { name, generation }: Job,
  reason: ConnectReason,
): Promise<Result<Held>> {
  let lost: Grant | undefined;
  const left = await book.change(name, (grant) => {
    lost = ifCurrent(grant, generation, { ...grant, tokens: undefined, refreshing: false, reason });
    return lost;
  });
  const held = await book.read(name);
  // Not where somebody else has ended or renewed it meanwhile, who tells of it.
  if (lost !== undefined && left === lost) {
    options.log("grant-lost", { upstream: name.upstream, tenant: name.person.tenant, reason });
    options.witness.changed({ did: "lost", ...name, scopes: lost.scopes, clientId: "", reason });
  }
  return newerThan(name.upstream, held, generation) ?? connectionRequired(name.upstream, reason);
}

/** A dynamic registration that is gone takes the tokens bound to it along; one that an operator made may come back. */
async function clientUnknown(context: RefreshContext, job: Job, client: RegisteredClient): Promise<Result<Held>> {
  const { upstream } = job.name;
  if (client.kind !== "dynamic")
    return refuse("UPSTREAM_CREDENTIAL_UNAVAILABLE", { upstream, code: "invalid_client", registration: client.kind });
  const held = await context.book.read(job.name);
  await context.registrations.lost(job.target, held?.grant.redirectUri ?? "", client.id);
  return lose(context, job, "registration-lost");
}

function ifCurrent(grant: Grant, generation: string, changed: Grant): Grant | undefined {
  return grant.generation === generation && grant.tokens !== undefined ? changed : undefined;
}
