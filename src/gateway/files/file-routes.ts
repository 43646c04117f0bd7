import { compileGlob } from "../../policy/glob.ts";
import { readFilePath } from "./file-path.ts";

/** What may be fetched as a file from one upstream. */
export interface FileRoute {
  readonly upstream: string;
  /** The origin that its files' URLs begin with. */
  readonly origin: string;
  /** Lower-case media types that are delivered. */
  readonly types: ReadonlySet<string>;
  readonly bytesMax: number;
  /** The first glob that a path, as `readFilePath` lets it through, is one of the files of; undefined for no file. */
  globOf(path: string): string | undefined;
}

/** The files of a gateway: an allow-list, empty unless configured. */
export interface FileRoutes {
  /** The route to an upstream of a server; undefined for an upstream that the server does not have. */
  find(server: string, upstream: string): FileRoute | undefined;
  /** The address under which clients of a server fetch what `url` names at an upstream; undefined for what is no file. */
  publicAddress(server: string, upstream: string, url: string): string | undefined;
  /** Whether an address is one under which clients of a server fetch files of an upstream. */
  isPublicAddress(server: string, upstream: string, address: string): boolean;
}

export interface FileRoutesOptions {
  /** The public origin of files. */
  readonly origin: string;
  /** By server, the upstreams it has. */
  readonly servers: ReadonlyMap<string, ReadonlySet<string>>;
  readonly upstreams: readonly UpstreamFiles[];
}

export interface UpstreamFiles {
  readonly upstream: string;
  /** The MCP endpoint: its path is no file, whatever a route says. */
  readonly url: string;
  /** Globs over paths. */
  readonly routes: readonly string[];
  readonly types: readonly string[];
  readonly bytesMax: number;
}

export function createFileRoutes({ origin, servers, upstreams }: FileRoutesOptions): FileRoutes {
  const routes: ReadonlyMap<string, FileRoute> = new Map(upstreams.map((files) => [files.upstream, routeOf(files)]));
  const find = (server: string, upstream: string): FileRoute | undefined =>
    servers.get(server)?.has(upstream) === true ? routes.get(upstream) : undefined;
  return {
    find,
    publicAddress: (server, upstream, url) => {
      const route = find(server, upstream);
      if (route === undefined || !url.startsWith(`${route.origin}/`)) return undefined;
      // A fragment is not sent (RFC 9110 §4.2.5): whoever opens the link keeps it.
      const [, target = "", fragment = ""] = /^([^#]*)(#[\x21-\x7e]*)?$/.exec(url.slice(route.origin.length)) ?? [];
      const file = readFilePath(`/files/${server}/${upstream}${target}`);
      if (!file.ok || route.globOf(file.value.path) === undefined) return undefined;
      return `${origin}/files/${server}/${upstream}${target}${fragment}`;
    },
    isPublicAddress: (server, upstream, address) =>
      find(server, upstream) !== undefined && address.startsWith(`${origin}/files/${server}/${upstream}/`),
  };
}

function routeOf({ upstream, url, routes, types, bytesMax }: UpstreamFiles): FileRoute {
  const { origin, pathname } = new URL(url);
  const globs = routes.map((glob) => ({ glob, compiled: compileGlob(glob) }));
  const endpoint = plain(pathname);
  return {
    upstream,
    origin,
    types: new Set(types),
    bytesMax,
    globOf: (path) => {
      if (plain(path) === endpoint) return undefined;
      // Both forms, as policy does with URIs: what is written, and what most upstreams read.
      const decoded = decodeURIComponent(path);
      return globs.find(({ compiled }) => compiled.matches(path) && compiled.matches(decoded))?.glob;
    },
  };
}

/** A path as the most lenient of servers compares it; one that cannot be decoded is no file's either. */
function plain(path: string): string {
  try {
    return decodeURIComponent(path).replace(/\/+$/, "").toLowerCase();
  } catch {
    return path;
  }
}
