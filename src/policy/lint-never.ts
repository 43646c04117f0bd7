import type { Found, WrittenRule } from "./lint.ts";
import { conditionsOnWho } from "./who-covers.ts";

/** Rules that no request can match, whatever the catalogs: they name servers, upstreams or people that never meet. */
export function neverFindings(
  rules: readonly WrittenRule[],
  servers: ReadonlyMap<string, readonly string[]>,
): readonly Found[] {
  return rules.flatMap((rule) => [...unservedIn(rule, servers), ...strangersIn(rule)]);
}

function unservedIn(
  { rule: { what }, source }: WrittenRule,
  servers: ReadonlyMap<string, readonly string[]>,
): readonly Found[] {
  const { upstreams } = what;
  if (upstreams === undefined) return [];
  const named = what.servers ?? [...servers.keys()];
  const served = named.flatMap((server) => servers.get(server) ?? []);
  const isServed = served.some((upstream) => upstreams.includes(upstream));
  if (isServed) return [];
  const where = what.servers === undefined ? "no server has" : `${named.join(", ")} has not`;
  return [
    {
      id: "never-matches",
      source,
      at: "/what",
      text: `it matches nothing: ${where} the upstream ${upstreams.join(", ")}`,
    },
  ];
}

/** A principal is of one issuer, and holds groups of that one alone. */
function strangersIn({ source }: WrittenRule): readonly Found[] {
  const who = conditionsOnWho(source.who);
  const groups = who.get("groups");
  if (groups === undefined) return [];
  const aliases = [...new Set(groups.values.map((group) => String(group).split(":", 1)[0] ?? ""))];
  const issuers = who.get("issuer")?.values ?? aliases;
  const meets = groups.all
    ? issuers.some((issuer) => aliases.every((alias) => alias === issuer))
    : aliases.some((alias) => issuers.includes(alias));
  if (meets) return [];
  const text = "it matches nobody: a principal is of one issuer, and holds groups of that one alone";
  return [{ id: "never-matches", source, at: "/who/groups", text }];
}
