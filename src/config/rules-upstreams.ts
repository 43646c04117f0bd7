import { printable, type Place, type PlacedFault } from "./fault.ts";
import { hostKind } from "./loopback.ts";
import type { Config, UpstreamConfig } from "./types.ts";

/** Plain http only where the operator said that the way is private; a fragment is never sent, credentials are secrets. */
export function upstreamUrlsAreUsable(config: Config): PlacedFault[] {
  return eachUpstream(config, (upstream, place) => {
    if (isUpstreamUrl(upstream)) return [];
    const expected = "an https URL without fragment or credentials (http only with addresses: private or loopback)";
    return [{ place: [...place, "url"], found: printable(upstream.url), expected, rule: "upstreamUrlsAreUsable" }];
  });
}

function isUpstreamUrl({ url: text, addresses }: UpstreamConfig): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (text.includes("#") || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && addresses !== "public");
}

/** An address written out that would never be dialled is said at once instead of at the first call. */
export function upstreamAddressesNeedConsent(config: Config): PlacedFault[] {
  return eachUpstream(config, ({ url, addresses }, place) => {
    if (!URL.canParse(url)) return [];
    const kind = hostKind(new URL(url).hostname);
    const consent = { loopback: "loopback", private: "private", other: "public or private", name: undefined };
    if (kind === "link-local") {
      const expected = "an address that is not link-local: metadata services live there";
      return [{ place: [...place, "url"], found: printable(url), expected, rule: "upstreamAddressesNeedConsent" }];
    }
    const needed = consent[kind];
    if (needed === undefined || needed.split(" or ").includes(addresses)) return [];
    const expected = `addresses: ${needed}, because ${printable(new URL(url).hostname)} is such an address`;
    return [{ place: [...place, "addresses"], found: addresses, expected, rule: "upstreamAddressesNeedConsent" }];
  });
}

/** An entry that names no kind, or two, would hold for what nobody reads out of it; one without a time does nothing. */
export function deadlinesNameOneKind(config: Config): PlacedFault[] {
  return eachUpstream(config, ({ deadlines }, place) =>
    deadlines.flatMap((entry, index) => {
      const kinds = [entry.tool, entry.prompt, entry.resource].filter((pattern) => pattern !== undefined);
      const times = [entry.callMs, entry.firstByteMs, entry.idleMs].filter((ms) => ms !== undefined);
      if (kinds.length === 1 && times.length > 0) return [];
      const expected = "exactly one of tool, prompt and resource, and at least one of callMs, firstByteMs and idleMs";
      const found = printable(Object.keys(entry).join(", "));
      return [{ place: [...place, "deadlines", index], found, expected, rule: "deadlinesNameOneKind" }];
    }),
  );
}

function eachUpstream(
  { upstreams }: Config,
  check: (upstream: UpstreamConfig, place: Place) => readonly PlacedFault[],
): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, upstream]) => check(upstream, ["upstreams", name]));
}
