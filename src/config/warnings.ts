import { printable, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { Config } from "./types.ts";

export function authNoneIsOpen({ auth }: Config): PlacedFault[] {
  if (auth.kind !== "none") return [];
  const expected = "issuers, wherever more than one person can reach this machine";
  return [{ place: ["auth", "none"], found: "no authentication", expected, rule: "authNoneIsOpen" }];
}

export function nothingIsAllowed({ policies }: Config): PlacedFault[] {
  if (policies !== undefined) return [];
  const expected = "a folder of policies: without one, every call is denied and nothing is listed";
  return [{ place: ["policies"], found: "nothing", expected, rule: "nothingIsAllowed" }];
}

export function auditHasNoSink({ audit }: Config): PlacedFault[] {
  if (audit.mode === "required" || audit.sinks.length > 0) return [];
  return [
    { place: ["audit", "sinks"], found: "none", expected: "a sink: nothing is recorded", rule: "auditHasNoSink" },
  ];
}

export function operationsAreExposed({ operations }: Config): PlacedFault[] {
  if (isLoopbackHost(operations.host)) return [];
  const expected = "a network that only monitoring reaches: health and metrics ask for no credential";
  return [{ place: ["operations", "host"], found: printable(operations.host), expected, rule: "operationsAreExposed" }];
}

/** Private networks are allowed in clear, but whoever listens there sees the credential. */
export function credentialsTravelInClear({ upstreams }: Config): PlacedFault[] {
  return Object.entries(upstreams)
    .filter(([, { url, credential }]) => credential.type !== "none" && isClearAndRemote(url))
    .map(([name, { url }]) => ({
      place: ["upstreams", name, "url"],
      found: printable(url),
      expected: "https, because a credential goes there",
      rule: "credentialsTravelInClear",
    }));
}

function isClearAndRemote(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === "http:" && !isLoopbackHost(url.hostname);
}

export function upstreamsAreUnused({ upstreams, servers }: Config): PlacedFault[] {
  const used = new Set(Object.values(servers).flatMap((server) => Object.keys(server.upstreams)));
  return Object.keys(upstreams)
    .filter((name) => !used.has(name))
    .map((name) => ({
      place: ["upstreams", name],
      found: printable(name),
      expected: "a server that uses it",
      rule: "upstreamsAreUnused",
    }));
}

/** Where two upstreams choose the same name, a start is refused; once serving, neither item is served. */
export function prefixesAreShared({ servers }: Config): PlacedFault[] {
  return Object.entries(servers).flatMap(([server, { upstreams }]) => {
    const seen = new Set<string>();
    return Object.entries(upstreams)
      .filter(([, { prefix }]) => seen.size === seen.add(prefix).size)
      .map(([upstream, { prefix }]) => ({
        place: ["servers", server, "upstreams", upstream, "prefix"],
        found: printable(prefix),
        expected: "a prefix of its own: `serve` refuses to start when two of their items have one name",
        rule: "prefixesAreShared",
      }));
  });
}
