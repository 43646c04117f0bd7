import type { ServerTable } from "./catalog/table.ts";
import type { Config } from "./config/types.ts";
import type { Reach, SignedIn } from "./connect/port.ts";
import type { Gateway } from "./gateway/gateway.ts";
import { principalKey, type Principal } from "./model/principal.ts";
import { listing, reaches } from "./policy/decide.ts";

export interface ReachParts {
  readonly config: Config;
  readonly gateway: Pick<Gateway, "catalog" | "inForce">;
}

/**
 * What somebody may use, as far as policy can tell without knowing the client that will act for them: servers on
 * which it lists one item at least. An upstream whose lists cannot be had counts, since it may list something once
 * its user has connected.
 */
export function openReach({ config, gateway }: ReachParts): (who: SignedIn) => Promise<Reach> {
  return async (who) => {
    const open = Object.entries(config.servers).filter(([name]) => takesPeopleOf(config, name, who.person.issuer));
    const reached = await Promise.all(
      open.map(async ([name, { title = name }]) => {
        const seen = upstreamsSeen(await gateway.catalog.table(name), principalFor(config, who), gateway);
        return { server: { name, title, url: `${config.publicUrl}/${name}/mcp` }, seen };
      }),
    );
    const some = reached.filter(({ seen }) => seen.length > 0);
    return { servers: some.map(({ server }) => server), upstreams: new Set(some.flatMap(({ seen }) => seen)) };
  };
}

function upstreamsSeen(
  table: ServerTable,
  principal: Principal,
  { inForce }: ReachParts["gateway"],
): readonly string[] {
  const { policy } = inForce();
  const request = { now: Date.now(), transport: "http", era: "modern", revision: "" } as const;
  const listed = table.entries
    .map(({ item: { upstream, kind, name, digest } }) => ({ upstream, kind, name, digest }))
    .filter((item) => listing(policy, { principal, server: table.server, item, request }) === "listed");
  const connectable = table.unconnected
    .filter((upstream) => reaches(policy, { principal, server: table.server, upstream }))
    .map((upstream) => ({ upstream }));
  return [...new Set([...listed, ...table.missing, ...connectable].map(({ upstream }) => upstream))];
}

/** The built-in server makes tokens for the servers that name it; those of other issuers are taken everywhere. */
function takesPeopleOf({ auth, publicUrl, servers }: Config, server: string, issuer: string): boolean {
  if (issuer !== publicUrl || auth.kind === "none") return true;
  return servers[server]?.issuer === auth.builtIn?.alias;
}

function principalFor({ auth, publicUrl }: Config, { person, groups }: SignedIn): Principal {
  const issuers = auth.kind === "none" ? [] : auth.issuers;
  const own = auth.kind === "none" || person.issuer !== publicUrl ? undefined : auth.builtIn?.alias;
  const issuerAlias = own ?? issuers.find(({ issuer }) => issuer === person.issuer)?.alias ?? "";
  const who = { ...person, kind: "human", clientId: "" } as const;
  return { ...who, issuerAlias, groups, scopes: [], claims: {}, expiresAt: 0, key: principalKey(who) };
}
