import { refuse } from "../../model/refusal.ts";
import { ok, type Result } from "../../model/result.ts";
import { createConnecting, type Connecting } from "./connect.ts";
import { connectionRequired, unusable } from "./faults.ts";
import { createGrantBook, type GrantBook, type GrantName, type Held } from "./grant-book.ts";
import { underLock } from "./grant-lock.ts";
import { createGrantTokens, type GrantTokens } from "./grant-tokens.ts";
import type { Grant } from "./grant-record.ts";
import { mayBeginAt } from "./issuer-proof.ts";
import type { GrantsOptions } from "./options.ts";
import type { Person } from "./port.ts";
import { createRefreshing } from "./refresh.ts";
import { createRegistrations, type Registrations } from "./registration.ts";
import { createTargets, type Targets } from "./targets.ts";
import { revokeToken } from "./token-endpoint.ts";

/** How a person stands with an upstream. */
interface Description {
  readonly connected: boolean;
  /** Why to connect (again). */
  readonly reason?: string;
  /** Those of the grant, or those that connecting would ask for. */
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly clients: readonly string[];
  readonly issuer: string;
}

/** What pages and commands may do with grants. */
interface UserGrants extends Pick<Connecting, "begin" | "finish"> {
  upstreams(): readonly { readonly name: string; readonly title: string }[];
  describe(person: Person, upstream: string): Promise<Result<Description>>;
  /** Admits another client to a grant that is there. */
  consent(person: Person, clientId: string, upstream: string): Promise<Result<void>>;
  revoke(person: Person, upstream: string): Promise<Result<{ readonly revokedAtProvider: boolean }>>;
  /** Offboarding: ends every grant of a person, at the provider where that is offered. Counts what there was to end. */
  revokeAll(person: Person): Promise<{ readonly ended: number; readonly revokedAtProvider: number }>;
  /**
   * Moves a grant to another account, such as a bot's, and admits one client of that account to it. Waits for a refresh
   * of it that is under way, and refuses with UPSTREAM_CREDENTIAL_UNAVAILABLE `refresh-busy` where that does not end.
   */
  assign(from: Person, to: Person, of: { readonly upstream: string; readonly clientId: string }): Promise<Result<void>>;
}

/** The users' own grants: for pages and commands, and the tokens for calls. */
export interface Grants {
  readonly pages: UserGrants;
  readonly tokens: GrantTokens;
}

/**
 * Users' own grants at upstreams' authorization servers. Nothing is asked of anybody before it is needed. Every
 * operation rejects with `StoreUnavailable` when the store does.
 */
export function createGrants(options: GrantsOptions): Grants {
  const book = createGrantBook(options);
  const targets = createTargets(options);
  const registrations = createRegistrations(options);
  const context = { options, book, targets, registrations };
  const connecting = createConnecting(context);
  const pages = { ...context, connecting };
  return {
    tokens: createGrantTokens({ ...context, refreshing: createRefreshing(context) }),
    pages: {
      begin: (request) => connecting.begin(request),
      finish: (request) => connecting.finish(request),
      upstreams: () => targets.names().map((name) => ({ name, title: targets.optionsOf(name)?.title ?? name })),
      describe: (person, upstream) => describe(pages, person, upstream),
      consent: (person, clientId, upstream) => consent(pages, { person, clientId, upstream }),
      revoke: (person, upstream) => revoke(pages, person, upstream),
      revokeAll: (person) => revokeAll(pages, person),
      assign: (from, to, of) => assign(pages, { from, to, ...of }),
    },
  };
}

interface PagesContext {
  readonly options: GrantsOptions;
  readonly book: GrantBook;
  readonly targets: Targets;
  readonly registrations: Registrations;
  readonly connecting: Connecting;
}

async function describe(context: PagesContext, person: Person, upstream: string): Promise<Result<Description>> {
  const { book, targets, connecting } = context;
  if (targets.optionsOf(upstream) === undefined) return unusable(upstream, "no-such-upstream");
  const held = await find(context, person, upstream);
  if (held?.grant.tokens !== undefined) return ok(described(held));
  const found = await targets.find(upstream);
  // Said on the page that asks to connect, not after the person has agreed.
  const target = found.ok ? mayBeginAt(found.value) : found;
  if (!target.ok) return target;
  const { issuer } = target.value.server;
  const lost = (await book.read({ person, upstream, issuer }))?.grant;
  return ok({
    connected: false,
    ...(lost?.reason === undefined ? {} : { reason: lost.reason }),
    scopes: connecting.scopesFor(target.value, lost),
    clients: [],
    issuer,
  });
}

function described({ name, grant }: Held): Description {
  const { scopes, consented, since, reason } = grant;
  const why = reason === undefined ? {} : { reason };
  return { connected: true, ...why, scopes, since, clients: consented, issuer: name.issuer };
}

async function find({ book, targets }: PagesContext, person: Person, upstream: string): Promise<Held | undefined> {
  const issuer = await targets.issuerOf(upstream);
  return issuer === undefined ? undefined : book.read({ person, upstream, issuer });
}

async function consent(
  context: PagesContext,
  { person, clientId, upstream }: { readonly person: Person; readonly clientId: string; readonly upstream: string },
): Promise<Result<void>> {
  const { options, book } = context;
  const held = await find(context, person, upstream);
  if (held?.grant.tokens === undefined) return connectionRequired(upstream, held?.grant.reason ?? "not-connected");
  const { grantClientsMax } = options.limits;
  const changed = await book.change(held.name, (grant) => {
    if (grant.consented.includes(clientId) || grant.consented.length >= grantClientsMax) return undefined;
    return { ...grant, consented: [...grant.consented, clientId] };
  });
  if (changed === undefined) return connectionRequired(upstream, "not-connected");
  if (changed.consented.includes(clientId)) {
    if (!held.grant.consented.includes(clientId))
      options.witness.changed({ did: "opened", ...held.name, scopes: changed.scopes, clientId });
    return ok(undefined);
  }
  return refuse("UPSTREAM_CONNECTION_REFUSED", { upstream, reason: "too-many-clients" });
}

/** The record goes first, whatever the provider answers: what is gone here is used by nobody. */
async function revoke(
  context: PagesContext,
  person: Person,
  upstream: string,
): Promise<Result<{ revokedAtProvider: boolean }>> {
  const issuer = await context.targets.issuerOf(upstream);
  if (issuer === undefined) return ok({ revokedAtProvider: false });
  const ended = await end(context, { person, upstream, issuer });
  return ok({ revokedAtProvider: ended?.revokedAtProvider === true });
}

/** Undefined where there was no grant. */
async function end(
  context: PagesContext,
  name: GrantName,
): Promise<{ readonly revokedAtProvider: boolean } | undefined> {
  const { options, book } = context;
  const grant = await book.take(name);
  if (grant === undefined) return undefined;
  const revokedAtProvider = await revokeAtProvider(context, name, grant);
  options.log("grant-revoked", { upstream: name.upstream, tenant: name.person.tenant, revokedAtProvider });
  options.witness.changed({ did: "revoked", ...name, scopes: grant.scopes, clientId: "" });
  return { revokedAtProvider };
}

/** The refresh token, as with it the access tokens of the grant end (RFC 7009 §2.1); where there is none, the access token. */
async function revokeAtProvider(context: PagesContext, name: GrantName, grant: Grant): Promise<boolean> {
  const { targets, registrations } = context;
  if (grant.tokens === undefined) return false;
  const target = await targets.find(name.upstream);
  if (!target.ok || target.value.server.issuer !== name.issuer) return false;
  const client = await registrations.clientFor(target.value, grant.redirectUri);
  if (!client.ok || client.value.id !== grant.clientId) return false;
  const { refreshToken, accessToken } = grant.tokens;
  const hint = refreshToken === undefined ? "access_token" : "refresh_token";
  return revokeToken({ target: target.value, client: client.value }, { token: refreshToken ?? accessToken, hint });
}

async function revokeAll(context: PagesContext, person: Person): Promise<{ ended: number; revokedAtProvider: number }> {
  let [ended, revokedAtProvider] = [0, 0];
  for (const name of await context.book.namesOf(person)) {
    const done = await end(context, name);
    if (done !== undefined) ended += 1;
    if (done?.revokedAtProvider === true) revokedAtProvider += 1;
  }
  return { ended, revokedAtProvider };
}

interface Assignment {
  readonly from: Person;
  readonly to: Person;
  readonly upstream: string;
  readonly clientId: string;
}

async function assign(context: PagesContext, of: Assignment): Promise<Result<void>> {
  const { options, targets } = context;
  const { from, to: person, upstream, clientId } = of;
  const issuer = await targets.issuerOf(upstream);
  if (issuer === undefined) return connectionRequired(upstream, "not-connected");
  const name = { person: from, upstream, issuer };
  // A refresh that is under way would use the token up that moves, and find no grant to keep the new one in.
  const moved = await underLock(options, name, { work: () => move(context, name, of) });
  if (!moved.ok) return moved;
  options.log("grant-assigned", { upstream, tenant: person.tenant });
  options.witness.changed({ did: "assigned", person, upstream, issuer, scopes: moved.value.scopes, clientId });
  return ok(undefined);
}

/** Moved, not copied: two records of one rotating refresh token would end each other. */
async function move({ book }: PagesContext, name: GrantName, { to, clientId }: Assignment): Promise<Result<Grant>> {
  // Looked at first: one that is lost stays its owner's, with what it says of why.
  const usable = (await book.read(name))?.grant.tokens !== undefined;
  const grant = usable ? await book.take(name) : undefined;
  if (grant?.tokens === undefined) return connectionRequired(name.upstream, "not-connected");
  await book.put({ ...name, person: to }, { ...grant, consented: [clientId] });
  return ok(grant);
}
