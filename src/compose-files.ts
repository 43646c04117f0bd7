import type { FastifyInstance } from "fastify";
import type { Evidence } from "./audit/port.ts";
import { upstreamOptions, type OpenCredentials } from "./compose-credentials.ts";
import type { Config } from "./config/types.ts";
import { serveFiles } from "./edge/files/serve-files.ts";
import { createFileRoutes, type FileRoutes, type UpstreamFiles } from "./gateway/files/file-routes.ts";
import type { Gateway, VirtualServer } from "./gateway/gateway.ts";
import { createFileSource } from "./upstream/files.ts";

/** What files are counted as, beside the journey's columns. */
export const fileColumn = "file";

export function openFileRoutes(config: Config): FileRoutes {
  return createFileRoutes({
    origin: originOf(config),
    servers: new Map(
      Object.entries(config.servers).map(([name, { upstreams }]) => [name, new Set(Object.keys(upstreams))]),
    ),
    upstreams: withFiles(config),
  });
}

/** Adds the files of the configured upstreams to the public listener; without any, nothing. */
export function addFiles(
  app: FastifyInstance,
  of: {
    config: Config;
    gateway: Gateway;
    servers: ReadonlyMap<string, VirtualServer>;
    credentials: OpenCredentials;
  },
): void {
  const { config, gateway, servers } = of;
  const names = withFiles(config).map(({ upstream }) => upstream);
  if (names.length === 0) return;
  const upstreams = Object.entries(upstreamOptions(config, of.credentials)).filter(([name]) => names.includes(name));
  const source = createFileSource({ upstreams: Object.fromEntries(upstreams), limits: config.limits, now: Date.now });
  serveFiles(app, { gateway: asFiles(config, gateway), origin: originOf(config), servers, source });
}

function originOf({ filesUrl, publicUrl }: Config): string {
  return filesUrl ?? publicUrl;
}

function withFiles(config: Config): UpstreamFiles[] {
  return Object.entries(config.upstreams).flatMap(([upstream, { url, files }]) =>
    files === undefined ? [] : [{ upstream, url, ...files }],
  );
}

/** The gateway as files see it: under a host of their own where there is one, and under a name of their own in the records. */
function asFiles({ filesUrl }: Config, gateway: Gateway): Gateway {
  const { evidence } = gateway;
  return {
    ...gateway,
    allowedHosts: filesUrl === undefined ? gateway.allowedHosts : new Set([new URL(filesUrl).host]),
    evidence: named(evidence),
    observe: (sample) => {
      gateway.observe({ ...sample, column: fileColumn });
    },
  };
}

function named(evidence: Evidence): Evidence {
  return {
    record: (draft, digests) => evidence.record({ ...draft, method: "file/fetch" }, digests),
    settled: () => evidence.settled(),
    settledEverywhere: () => evidence.settledEverywhere(),
    close: () => evidence.close(),
  };
}
