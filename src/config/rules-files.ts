import { printable, type Place, type PlacedFault } from "./fault.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { Config, FilesConfig } from "./types.ts";

/** Public addresses of files are made by appending to it; bearer tokens are sent there (RFC 6750 §5.3). */
export function filesUrlIsAnOrigin({ filesUrl }: Config): PlacedFault[] {
  if (filesUrl === undefined || isSafeOrigin(filesUrl)) return [];
  const expected = "an origin such as https://files.example.net, in lower case; http only on a loopback host";
  return [{ place: ["filesUrl"], found: printable(filesUrl), expected, rule: "filesUrlIsAnOrigin" }];
}

/**
 * Cookies do not tell ports apart (RFC 6265 §8.5), so a file under another port of the same host would receive
 * those of the sign-in pages. A host that `allowedHosts` names would serve everything else beside files.
 */
export function filesUrlHasAHostOfItsOwn({ filesUrl, publicUrl, allowedHosts }: Config): PlacedFault[] {
  if (filesUrl === undefined || !URL.canParse(filesUrl)) return [];
  const host = new URL(filesUrl).hostname;
  const served = [publicUrl, ...allowedHosts.map((allowed) => `http://${allowed}`)];
  if (!served.some((url) => URL.canParse(url) && new URL(url).hostname === host)) return [];
  const expected = "a host that neither publicUrl nor allowedHosts names, whatever its port";
  return [{ place: ["filesUrl"], found: printable(filesUrl), expected, rule: "filesUrlHasAHostOfItsOwn" }];
}

/** A file on the origin of the pages where people type passwords could act as one of them (design, decision 10). */
export function filesStandApartFromSignInPages(config: Config): PlacedFault[] {
  const { auth, filesUrl } = config;
  if (filesUrl !== undefined || auth.kind === "none") return [];
  const pages = auth.builtIn !== undefined ? "auth.builtIn" : auth.browser !== undefined ? "auth.browser" : undefined;
  if (pages === undefined) return [];
  return eachWithFiles(config, (_files, place) => {
    const expected = `filesUrl, another origin, because ${pages} has sign-in pages under publicUrl`;
    return [{ place, found: "files under publicUrl", expected, rule: "filesStandApartFromSignInPages" }];
  });
}

/** What no request can match would look like a permission that is there. */
export function fileRoutesAreReachable(config: Config): PlacedFault[] {
  return eachWithFiles(config, ({ routes }, place) =>
    routes.flatMap((route, index) => {
      if (isReachable(route)) return [];
      const expected = "a path without segments that begin or end with dots, and with `**` as its last segment only";
      const at = [...place, "routes", index];
      return [{ place: at, found: printable(route), expected, rule: "fileRoutesAreReachable" }];
    }),
  );
}

function isReachable(route: string): boolean {
  const segments = route.split("/").slice(1);
  return segments.every((segment, index) => {
    if (segment.includes("**") && !(segment === "**" && index === segments.length - 1)) return false;
    return !segment.startsWith("..") && !segment.endsWith(".");
  });
}

function eachWithFiles(
  { upstreams }: Config,
  check: (files: FilesConfig, place: Place) => readonly PlacedFault[],
): PlacedFault[] {
  return Object.entries(upstreams).flatMap(([name, { files }]) =>
    files === undefined ? [] : check(files, ["upstreams", name, "files"]),
  );
}

function isSafeOrigin(text: string): boolean {
  if (!URL.canParse(text) || new URL(text).origin !== text) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}
