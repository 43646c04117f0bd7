/** Schemes whose URIs always have an authority, however many slashes stand before it (WHATWG URL, "special"), by their port. */
const portsOf: ReadonlyMap<string, string> = new Map([
  ["http", "80"],
  ["https", "443"],
  ["ws", "80"],
  ["wss", "443"],
  ["ftp", "21"],
]);

/** Hosts under which files are those of the reader itself (RFC 8089 §2). */
const ownHosts: ReadonlySet<string> = new Set(["", "localhost", "127.0.0.1", "[::1]"]);

/**
 * One spelling for URIs that differ in how scheme and authority are written: `file:/x` and `file://127.0.0.1/x` are
 * `file:///x` (RFC 8089 appendix B), `https:host/x`, `https:///host/x`, `https://u@host/x`, `https://host:443/x` and
 * `https://host./x` are `https://host/x` (RFC 3986 §6.2.3, WHATWG URL). `normal` is a URI in normal form, or a pattern.
 * For denies alone, which may match too much: the user of `ssh://u@host/x` is left out as well.
 */
export function canonicalUri(normal: string): string {
  const [, scheme, rest] = /^([a-z][a-z0-9+.-]*):(.*)$/su.exec(normal) ?? [];
  if (scheme === undefined || rest === undefined) return normal;
  if (scheme === "file") return canonicalFile(rest);
  const port = portsOf.get(scheme);
  const [, authority, path] = (port === undefined ? /^\/\/([^/?#]*)(.*)$/su : /^\/*([^/?#]*)(.*)$/su).exec(rest) ?? [];
  if (authority === undefined || path === undefined) return normal;
  return `${scheme}://${canonicalAuthority(authority, port)}${path}`;
}

function canonicalFile(rest: string): string {
  const [, authority = "", path = ""] = /^(?:\/\/([^/?#]*))?\/*(.*)$/su.exec(rest) ?? [];
  const host = canonicalAuthority(authority, undefined);
  return ownHosts.has(host) ? `file:///${path}` : `file://${host}/${path}`;
}

/** The host and a port that says something. */
function canonicalAuthority(authority: string, portDefault: string | undefined): string {
  const place = authority.slice(authority.lastIndexOf("@") + 1).toLowerCase();
  const colon = place.lastIndexOf(":");
  const hasPort = colon >= 0 && /^\d*$/.test(place.slice(colon + 1));
  const [name, digits] = hasPort ? [place.slice(0, colon), place.slice(colon + 1)] : [place, ""];
  const host = name.endsWith(".") ? name.slice(0, -1) : name;
  const port = digits.replace(/^0+/, "");
  return port === "" || port === portDefault ? host : `${host}:${port}`;
}
