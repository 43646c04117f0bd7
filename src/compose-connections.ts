import type { Catalog } from "./catalog/catalog.ts";
import { openSealer } from "./compose-sealer.ts";
import type { SignIn } from "./compose-sign-in.ts";
import type { Config } from "./config/types.ts";
import { createConnectLinks } from "./connect/links.ts";
import type { UserGrants } from "./connect/port.ts";
import { createConnections, noConnections, type Connections, type Wanted } from "./gateway/connections/connections.ts";
import type { Courier } from "./model/courier.ts";
import type { Grants } from "./upstream/grants/user-grants.ts";

export interface ConnectionParts {
  readonly config: Config;
  readonly catalog: Pick<Catalog, "personal">;
  readonly signIn: Pick<SignIn, "issuerOf">;
  readonly courier: Courier;
  /** Absent where no upstream is reached by grants of users. */
  readonly grants: Grants | undefined;
}

/** What calls know of users' grants: where to connect, and whether it is done. */
export function openConnections({ config, catalog, signIn, courier, grants }: ConnectionParts): Connections {
  if (grants === undefined) return noConnections;
  const links = createConnectLinks({
    publicUrl: config.publicUrl,
    sealer: openSealer("connect", config),
    now: Date.now,
  });
  const issuers = pageIssuers(config, signIn);
  const titles = new Map(grants.pages.upstreams().map(({ name, title }) => [name, title]));
  const connections = createConnections({
    linkFor: (principal, upstream) =>
      principal.kind === "human" && issuers.has(principal.issuer) ? links.make(principal, upstream) : undefined,
    titleOf: (upstream) => titles.get(upstream) ?? upstream,
    isConnected: (wanted) => isGood(grants, wanted),
    courier,
    now: Date.now,
    limits: config.limits,
  });
  // What was listed to them, or that nothing was, is so no more.
  connections.onChange(({ person }) => {
    catalog.personal.forget(person);
  });
  return connections;
}

/** One with a reason is there and has to be given again all the same, as a scope is missing or it is not taken any more. */
async function isGood(grants: Grants, { principal, upstream }: Wanted): Promise<boolean> {
  const { tenant, issuer, subject, clientId } = principal;
  const person = { tenant, issuer, subject };
  const token = await grants.tokens.tokenFor(upstream, { person, clientId });
  if (!token.ok) return false;
  const described = await grants.pages.describe(person, upstream);
  return described.ok && described.value.reason === undefined;
}

/** The grants as the pages have them: whatever changes on a page is told to whoever waits for it. */
export function announcing(grants: UserGrants, { changed }: Pick<Connections, "changed">): UserGrants {
  return {
    upstreams: () => grants.upstreams(),
    describe: (person, upstream) => grants.describe(person, upstream),
    begin: (request) => grants.begin(request),
    finish: async (request) => {
      const finished = await grants.finish(request);
      if (finished.ok) await changed({ person: request.person, upstream: finished.value.upstream });
      return finished;
    },
    consent: async (person, clientId, upstream) => {
      const consented = await grants.consent(person, clientId, upstream);
      if (consented.ok) await changed({ person, upstream });
      return consented;
    },
    revoke: async (person, upstream) => {
      const revoked = await grants.revoke(person, upstream);
      if (revoked.ok) await changed({ person, upstream });
      return revoked;
    },
  };
}

/** Whose people can sign in on the pages: those of the built-in server, and of the issuer that browsers are sent to. */
function pageIssuers({ auth, publicUrl }: Config, signIn: Pick<SignIn, "issuerOf">): ReadonlySet<string> {
  if (auth.kind === "none") return new Set();
  const { builtIn, browser } = auth;
  const own = builtIn !== undefined && (builtIn.provider !== undefined || builtIn.users.length > 0) ? [publicUrl] : [];
  return new Set([...own, ...(browser === undefined ? [] : [signIn.issuerOf(browser.issuer)])]);
}
