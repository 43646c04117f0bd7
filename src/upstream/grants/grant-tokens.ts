import { ok, type Result } from "../../model/result.ts";
import { connectionRequired } from "./faults.ts";
import type { GrantBook, GrantName, Held } from "./grant-book.ts";
import type { GrantsOptions } from "./options.ts";
import type { Person } from "./port.ts";
import type { Refreshing } from "./refresh.ts";
import type { Registrations } from "./registration.ts";
import { scopeList } from "./scope-list.ts";
import type { Targets } from "./targets.ts";
import type { Tokens } from "./token-endpoint.ts";

/** For whom a token is wanted: the person, and the client that acts for them. */
export interface Caller {
  readonly person: Person;
  readonly clientId: string;
}

export interface GrantToken {
  readonly accessToken: string;
}

/** Tokens for calls. All refuse with UPSTREAM_CONNECTION_REQUIRED and a reason where the person has to act. */
export interface GrantTokens {
  /** A token that is good for a while; refreshed first where it is about to expire. */
  tokenFor(upstream: string, caller: Caller): Promise<Result<GrantToken>>;
  /** Another one after the upstream answered 401 to `used`. */
  renewed(upstream: string, caller: Caller, used: string): Promise<Result<GrantToken>>;
  /**
   * The upstream answered 403 `insufficient_scope` and named these scopes: they are kept for the next connecting, which
   * asks for them and for what the grant has. Always a refusal; the grant stays good for everything else.
   */
  lacking(upstream: string, caller: Caller, scopes: readonly string[]): Promise<Result<never>>;
}

interface TokensContext {
  readonly options: GrantsOptions;
  readonly book: GrantBook;
  readonly targets: Targets;
  readonly registrations: Pick<Registrations, "inUse">;
  readonly refreshing: Refreshing;
}

export function createGrantTokens(context: TokensContext): GrantTokens {
  const { options, book, targets, refreshing } = context;
  return {
    tokenFor: async (upstream, caller) => {
      const held = await usable(context, upstream, caller);
      if (!held.ok) return held;
      await noteUse(context, held.value);
      return fresh(context, held.value);
    },
    renewed: async (upstream, caller, used) => {
      const held = await usable(context, upstream, caller);
      if (!held.ok) return held;
      const { name, tokens } = held.value;
      // Somebody has renewed it meanwhile.
      if (tokens.accessToken !== used) return ok({ accessToken: tokens.accessToken });
      if (tokens.refreshToken === undefined) return tokenRefused(context, held.value);
      return tokenOf(await refreshing.renew(name, held.value.grant.generation), name);
    },
    lacking: async (upstream, caller, scopes) => {
      const held = await usable(context, upstream, caller);
      if (!held.ok) return held;
      const { name, grant } = held.value;
      const wanted = scopeList([...grant.wanted, ...scopes], options.limits.grantScopesMax);
      targets.forget(upstream);
      await book.change(name, (now) => ({ ...now, wanted, reason: "scope-insufficient" }));
      return connectionRequired(upstream, "scope-insufficient");
    },
  };
}

interface Usable extends Held {
  readonly tokens: Tokens;
}

/** The grant, when it is there and the person has consented for this client. */
async function usable({ book, targets }: TokensContext, upstream: string, caller: Caller): Promise<Result<Usable>> {
  const issuer = await targets.issuerOf(upstream);
  const held = issuer === undefined ? undefined : await book.read({ person: caller.person, upstream, issuer });
  if (held === undefined) return connectionRequired(upstream, "not-connected");
  const { tokens, consented, reason } = held.grant;
  if (tokens === undefined) return connectionRequired(upstream, reason ?? "expired");
  if (!consented.includes(caller.clientId)) return connectionRequired(upstream, "not-consented");
  return ok({ ...held, tokens });
}

/** With a grant that nothing is ever renewed of, what it hangs on would pass for idle: its server, and its registration. */
async function noteUse({ book, targets, registrations }: TokensContext, held: Held): Promise<void> {
  if (!(await book.touch(held))) return;
  await targets.inUse(held.name.upstream);
  await registrations.inUse(held.name.issuer, held.grant.redirectUri);
}

async function fresh({ options, refreshing }: TokensContext, held: Usable): Promise<Result<GrantToken>> {
  const { name, grant, tokens } = held;
  const left = tokens.expiresAt === undefined ? Number.POSITIVE_INFINITY : tokens.expiresAt - options.now();
  if (left > leewayMs(options)) return ok({ accessToken: tokens.accessToken });
  if (tokens.refreshToken === undefined) {
    // Without a refresh token the last moments are as good as the first.
    return left > 0 ? ok({ accessToken: tokens.accessToken }) : connectionRequired(name.upstream, "expired");
  }
  const renewed = tokenOf(await refreshing.renew(name, grant.generation), name);
  // What cannot be renewed now and has not expired serves on; what has ended does not.
  if (!renewed.ok && left > 0 && renewed.refusal.code === "UPSTREAM_CREDENTIAL_UNAVAILABLE")
    return ok({ accessToken: tokens.accessToken });
  return renewed;
}

/** Between one and two times the leeway, so that grants made together are not all refreshed together. */
function leewayMs({ limits, jitter }: GrantsOptions): number {
  return limits.upstreamTokenLeewayMs * (1 + jitter());
}

function tokenOf(renewed: Result<Held>, { upstream }: GrantName): Result<GrantToken> {
  if (!renewed.ok) return renewed;
  const tokens = renewed.value.grant.tokens;
  return tokens === undefined ? connectionRequired(upstream, "expired") : ok({ accessToken: tokens.accessToken });
}

/** Nothing can renew it, and the upstream does not take it: the person is told; the tokens stay, as one 401 proves little. */
async function tokenRefused({ book, targets }: TokensContext, { name, grant }: Usable): Promise<Result<never>> {
  // Its authorization server may be another by now, which connecting again is to find out.
  targets.forget(name.upstream);
  await book.change(name, (now) =>
    now.generation === grant.generation && now.reason !== "token-refused"
      ? { ...now, reason: "token-refused" }
      : undefined,
  );
  return connectionRequired(name.upstream, "token-refused");
}
