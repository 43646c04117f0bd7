import { reservedServerNames } from "../model/identifiers.ts";
import { printable, type Place, type PlacedFault } from "./fault.ts";
import { signInAliasesOf } from "./issuer-aliases.ts";
import { nearestName } from "../model/nearest-name.ts";
import { repeated } from "./rules-auth.ts";
import type { Config, ServerConfig } from "./types.ts";

/** Those names are the gateway's own routes. */
export function serverNamesAreNotReserved(config: Config): PlacedFault[] {
  return eachServer(config, (_server, place, name) => {
    if (!reservedServerNames.includes(name)) return [];
    const expected = `another name than ${reservedServerNames.join(", ")}`;
    return [{ place, found: printable(name), expected, rule: "serverNamesAreNotReserved" }];
  });
}

export function serversNameKnownUpstreams(config: Config): PlacedFault[] {
  const known = Object.keys(config.upstreams);
  return eachServer(config, (server, place) =>
    Object.keys(server.upstreams)
      .filter((upstream) => config.upstreams[upstream] === undefined)
      .map((upstream) => ({
        place: [...place, "upstreams", upstream],
        found: printable(upstream),
        expected: oneOf(upstream, known, "upstreams"),
        rule: "serversNameKnownUpstreams",
      })),
  );
}

/** Metadata must send clients to an issuer whose tokens are then accepted. */
export function serversAdvertiseKnownIssuers(config: Config): PlacedFault[] {
  const aliases = signInAliasesOf(config.auth);
  return eachServer(config, ({ issuer }, place) => {
    if (issuer === undefined || aliases.includes(issuer)) return [];
    const expected = aliases.length === 0 ? "nothing, since auth names no issuer" : oneOf(issuer, aliases, "issuers");
    return [{ place: [...place, "issuer"], found: printable(issuer), expected, rule: "serversAdvertiseKnownIssuers" }];
  });
}

/** A client asks for what metadata announces; a scope that is needed but not announced is never asked for. */
export function minimalScopesAreSupported(config: Config): PlacedFault[] {
  return eachServer(config, ({ scopes }, place) =>
    scopes.minimal
      .filter((scope) => !scopes.supported.includes(scope))
      .map((scope) => ({
        place: [...place, "scopes", "minimal"],
        found: printable(scope),
        expected: "a scope that scopes.supported lists",
        rule: "minimalScopesAreSupported",
      })),
  );
}

/** Two items given one name would both be withheld. Collisions of names upstreams choose show only when listed. */
export function renamesDoNotCollide(config: Config): PlacedFault[] {
  return eachServer(config, (server, place) =>
    (["tools", "prompts"] as const).flatMap((kind) =>
      repeated(renamesOf(server, place, kind)).map(({ text, place: at }) => ({
        place: at,
        found: printable(text),
        expected: `a name that no other of this server's ${kind} is given`,
        rule: "renamesDoNotCollide",
      })),
    ),
  );
}

function renamesOf(server: ServerConfig, place: Place, kind: "tools" | "prompts"): { text: string; place: Place }[] {
  return Object.entries(server.upstreams).flatMap(([upstream, { rename }]) =>
    Object.entries(rename[kind]).map(([original, text]) => ({
      text,
      place: [...place, "upstreams", upstream, "rename", kind, original],
    })),
  );
}

function oneOf(typed: string, known: readonly string[], what: string): string {
  const nearest = nearestName(typed, known);
  return nearest === undefined ? `one of the ${what} ${known.join(", ")}` : `did you mean ${nearest}?`;
}

function eachServer(
  { servers }: Config,
  check: (server: ServerConfig, place: Place, name: string) => readonly PlacedFault[],
): PlacedFault[] {
  return Object.entries(servers).flatMap(([name, server]) => check(server, ["servers", name], name));
}
