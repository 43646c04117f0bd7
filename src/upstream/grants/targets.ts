import { ok, type Result } from "../../model/result.ts";
import { createGuardedFetch, type GuardedFetch } from "../egress.ts";
import { createSingleFlight } from "../single-flight.ts";
import { askServer, type UsableServer } from "./authorization-server.ts";
import { unusable } from "./faults.ts";
import type { GrantsOptions, GrantUpstreamOptions } from "./options.ts";
import { askResource, type ProtectedResource } from "./protected-resource.ts";
import { createTrustedIssuers } from "./trusted-issuers.ts";

/** Where tokens for an upstream come from. */
export interface Target {
  readonly upstream: string;
  readonly options: GrantUpstreamOptions;
  readonly server: UsableServer;
  /** The resource indicator (RFC 8707) to send; undefined sends none. */
  readonly resource: string | undefined;
  /** What an ordinary sign-in asks for; undefined leaves it to the server. */
  readonly scopes: readonly string[] | undefined;
  /** Another upstream that uses the server, where the operator has not named it for this one. */
  readonly sharedWith: string | undefined;
  readonly fetch: GuardedFetch;
}

export interface Targets {
  names(): readonly string[];
  optionsOf(upstream: string): GrantUpstreamOptions | undefined;
  /** Asks the upstream, or remembers for `upstreamAuthorizationAgeMsMax` what it said; a failure for a moment. */
  find(upstream: string): Promise<Result<Target>>;
  /** The issuer whose grants hold for this upstream, without asking anybody; undefined before the first `find`. */
  issuerOf(upstream: string): Promise<string | undefined>;
  /** Keeps in mind which issuer that is, although nobody asks the upstream. */
  inUse(upstream: string): Promise<void>;
  /** The next `find` asks anew. */
  forget(upstream: string): void;
}

/**
 * Finds authorization servers from upstreams' own metadata. `find` refuses with UPSTREAM_ISSUER_CHANGED when an
 * upstream names another issuer than before and configuration does not: a taken-over upstream would otherwise
 * be sent the credentials, and its users the sign-in page, of whomever it names. For the same reason a client that was
 * registered by hand needs the issuer that it is registered with: throws at construction where that is missing.
 */
export function createTargets(options: GrantsOptions): Targets {
  const { upstreams, now, limits } = options;
  for (const [name, { client, issuer }] of Object.entries(upstreams))
    if (client !== undefined && issuer === undefined) throw new Error(`upstream ${name}: a client needs its issuer`);
  const trusted = createTrustedIssuers(options);
  const flight = createSingleFlight<Result<Target>>();
  const fetches = new Map<GrantUpstreamOptions, GuardedFetch>();
  const held = new Map<string, { readonly found: Result<Target>; readonly until: number }>();

  const fetchFor = (of: GrantUpstreamOptions): GuardedFetch => {
    const made = fetches.get(of) ?? (options.fetchFrom ?? guardedFetch(options))(of);
    fetches.set(of, made);
    return made;
  };
  // A server that says nothing of PKCE has come this far on the operator's word alone.
  const assumed = new Set<string>();
  const tellOfPkce = (upstream: string, issuer: string): void => {
    if (assumed.size !== assumed.add(upstream).size) options.log("pkce-assumed", { upstream, issuer });
  };
  const ask = async (upstream: string, of: GrantUpstreamOptions): Promise<Result<Target>> => {
    const fetch = fetchFor(of);
    const question = { upstream, url: new URL(of.url), fetch, scopesMax: limits.grantScopesMax };
    const resource = await askResource(question);
    if (!resource.ok) return resource;
    const chosen = await trusted.choose(upstream, of.issuer, issuersOf(resource.value, of));
    if (!chosen.ok) return chosen;
    const guessed = resource.value.issuers.length === 0 && chosen.value === new URL(of.url).origin;
    const { addresses, assumePkce } = of;
    const server = await askServer({ upstream, issuer: chosen.value, addresses, fetch, assumePkce, guessed });
    if (!server.ok) return server;
    const kept = await trusted.keep(upstream, of.issuer, chosen.value);
    if (!kept.ok) return kept;
    if (server.value.code_challenge_methods_supported === undefined) tellOfPkce(upstream, chosen.value);
    const sharedWith = of.issuer === undefined ? await trusted.sharedWith(upstream, chosen.value) : undefined;
    return ok(targetOf({ upstream, of, fetch, sharedWith }, resource.value, server.value));
  };
  const askAndHold = async (upstream: string, of: GrantUpstreamOptions): Promise<Result<Target>> => {
    const found = await ask(upstream, of);
    const life = found.ok ? limits.upstreamAuthorizationAgeMsMax : limits.upstreamCredentialRetryMsMin;
    held.set(upstream, { found, until: now() + life });
    return found;
  };
  const remembered = (upstream: string): Result<Target> | undefined => {
    const known = held.get(upstream);
    return known !== undefined && now() < known.until ? known.found : undefined;
  };

  return {
    names: () => Object.keys(upstreams),
    optionsOf: (upstream) => (Object.hasOwn(upstreams, upstream) ? upstreams[upstream] : undefined),
    find: async (upstream) => {
      const of = Object.hasOwn(upstreams, upstream) ? upstreams[upstream] : undefined;
      if (of === undefined) return unusable(upstream, "no-such-upstream");
      return remembered(upstream) ?? flight.run(upstream, () => askAndHold(upstream, of));
    },
    issuerOf: async (upstream) => {
      const known = remembered(upstream);
      if (known?.ok === true) return known.value.server.issuer;
      return trusted.issuerOf(upstream, upstreams[upstream]?.issuer);
    },
    inUse: (upstream) => trusted.inUse(upstream),
    forget: (upstream) => {
      held.delete(upstream);
    },
  };
}

/** An upstream that publishes nothing is its own authorization server, at its origin (2025-03-26, authorization). */
function issuersOf(resource: ProtectedResource, of: GrantUpstreamOptions): readonly string[] {
  if (resource.issuers.length > 0) return resource.issuers;
  return [of.issuer ?? new URL(of.url).origin];
}

function targetOf(
  made: Pick<Target, "upstream" | "sharedWith" | "fetch"> & { readonly of: GrantUpstreamOptions },
  { identifier, scopes }: ProtectedResource,
  server: UsableServer,
): Target {
  const { upstream, of, fetch, sharedWith } = made;
  return {
    upstream,
    options: of,
    server,
    // Without metadata the upstream's own URL is its canonical identifier (2026-07-28, authorization).
    resource: of.sendResource ? (identifier ?? of.url) : undefined,
    scopes: of.scopes ?? scopes,
    sharedWith,
    fetch,
  };
}

function guardedFetch({ limits }: GrantsOptions): NonNullable<GrantsOptions["fetchFrom"]> {
  const { issuerFetchTimeoutMs: timeoutMs, issuerMetadataBytesMax: bytesMax } = limits;
  return ({ addresses: allow, ca }) => createGuardedFetch({ allow, ca, timeoutMs, bytesMax });
}
