import { dirname, resolve } from "node:path";
import { limits } from "../model/limits.ts";
import { defaults } from "./defaults.ts";
import type { Place } from "./fault.ts";
import { fillAuth } from "./fill-auth.ts";
import { fillCredential } from "./fill-credential.ts";
import { fillCatalogLock, lockModeOf } from "./fill-lock.ts";
import { fillServer } from "./fill-server.ts";
import { mapByName } from "./map-by-name.ts";
import { fillItemNotes } from "./fill-presenting.ts";
import { isLoopbackHost } from "./loopback.ts";
import type { RawAudit, RawConfig, RawKeys, RawListen, RawSink, RawStore, RawUpstream } from "./raw.ts";
import type { SecretReader } from "./secret-reader.ts";
import type {
  AuditConfig,
  AuditSinkConfig,
  CatalogFrom,
  Config,
  KeysConfig,
  Listen,
  ListenTlsConfig,
  ShadowConfig,
  StoreConfig,
  UpstreamConfig,
  UpstreamTlsConfig,
} from "./types.ts";

/** The configuration in force: defaults filled in, secrets read, paths made absolute from the file's folder. */
export function fill(raw: RawConfig, path: string, secrets: SecretReader): Config {
  const absolute = (target: string): string => resolve(dirname(path), target);
  const absoluteOrNone = (target: string | undefined): string | undefined =>
    target === undefined ? undefined : absolute(target);
  const publicUrl = originOf(raw.publicUrl);
  const listen = { ...fillListen(raw.listen, defaults.listen), tls: fillListenTls(raw.listen?.tls, secrets) };
  const auth = fillAuth(raw.auth, secrets);
  const names = { ...defaults.names, ...raw.names };
  return {
    publicUrl,
    filesUrl: raw.filesUrl === undefined ? undefined : originOf(raw.filesUrl),
    listen,
    operations: fillListen(raw.operations, defaults.operations),
    allowedHosts: (raw.allowedHosts ?? hostsOf(publicUrl, listen)).map((host) => host.toLowerCase()),
    allowedOrigins: raw.allowedOrigins ?? [publicUrl],
    auth,
    upstreams: mapByName(raw.upstreams, (upstream, name) => ({
      ...fillUpstream(upstream, ["upstreams", name], secrets),
      lock: lockModeOf(upstream.lock, raw),
    })),
    servers: mapByName(raw.servers, (server) => fillServer(server, auth, names)),
    policies: absoluteOrNone(raw.policies),
    lastGoodBundle: absoluteOrNone(raw.lastGoodBundle),
    shadow: fillShadow(raw.shadow, absolute),
    catalogLock: fillCatalogLock(raw.catalogLock, absolute, secrets),
    content: { results: raw.content?.results ?? defaults.contentResults },
    audit: fillAudit(raw.audit ?? {}, absolute, secrets),
    store: fillStore(raw.store, secrets),
    keys: fillKeys(raw.keys ?? {}, secrets),
    limits: { ...limits, ...raw.limits },
    log: { level: raw.log?.level ?? defaults.logLevel },
  };
}

function fillShadow(raw: RawConfig["shadow"], absolute: (target: string) => string): ShadowConfig | undefined {
  if (raw === undefined) return undefined;
  const { policies, catalogLock } = raw;
  return {
    policies: absolute(policies),
    catalogLock: catalogLock === undefined ? undefined : absolute(catalogLock),
  };
}

function fillStore(raw: RawStore | undefined, secrets: SecretReader): StoreConfig {
  if (raw?.redis === undefined) return { kind: "memory" };
  return { kind: "redis", url: secrets.read(["store", "redis", "url"], raw.redis.url) };
}

function fillKeys(raw: RawKeys, secrets: SecretReader): KeysConfig {
  return {
    session: secrets.readOptional(["keys", "session"], raw.session),
    sessionPrevious: (raw.sessionPrevious ?? []).map((reference, index) =>
      secrets.read(["keys", "sessionPrevious", index], reference),
    ),
    assertion: (raw.assertion ?? []).map((reference, index) => secrets.read(["keys", "assertion", index], reference)),
  };
}

/** What is no origin stays as it is: a rule refuses it with what was written. */
function originOf(url: string): string {
  return url.endsWith("/") && URL.canParse(url) && new URL(url).origin + "/" === url ? url.slice(0, -1) : url;
}

function fillListen(raw: RawListen | undefined, standard: Listen): Listen {
  return { host: raw?.host ?? standard.host, port: raw?.port ?? standard.port };
}

function fillListenTls(
  raw: NonNullable<RawConfig["listen"]>["tls"],
  secrets: SecretReader,
): ListenTlsConfig | undefined {
  if (raw === undefined) return undefined;
  return {
    cert: secrets.read(["listen", "tls", "cert"], raw.cert),
    key: secrets.read(["listen", "tls", "key"], raw.key),
    clientCa: secrets.readOptional(["listen", "tls", "clientCa"], raw.clientCa),
  };
}

/**
 * The public host and, when only this machine can connect, the names by which it does. An attacker's page that
 * rebinds its own name to 127.0.0.1 still sends its own name as `Host`.
 */
function hostsOf(publicUrl: string, listen: Listen): string[] {
  const hosts = new Set(URL.canParse(publicUrl) ? [new URL(publicUrl).host] : []);
  if (isLoopbackHost(listen.host) && listen.port !== 0) {
    for (const host of ["127.0.0.1", "localhost", "[::1]"]) hosts.add(`${host}:${listen.port}`);
  }
  return [...hosts];
}

function fillUpstream(raw: RawUpstream, place: Place, secrets: SecretReader): Omit<UpstreamConfig, "lock"> {
  const addresses = raw.addresses ?? defaults.addresses;
  return {
    url: raw.url,
    era: raw.era ?? defaults.era,
    addresses,
    credential: fillCredential(
      raw.credential ?? { type: "none" },
      { name: String(place.at(-1)), url: raw.url, addresses },
      { place: [...place, "credential"], secrets },
    ),
    catalogFrom: catalogFromOf(raw),
    tls: fillTls(raw.tls, [...place, "tls"], secrets),
    forwardHeaders: (raw.forwardHeaders ?? []).map((name) => name.toLowerCase()),
    timeouts: { ...defaults.timeouts, ...raw.timeouts },
    connectionsMax: raw.connectionsMax ?? defaults.connectionsMax,
    queueMax: raw.queueMax ?? defaults.queueMax,
    deadlines: raw.deadlines ?? [],
    breaker: { ...defaults.breaker, ...raw.breaker },
    schema: { arguments: defaults.strictness, results: defaults.strictness, ...raw.schema },
    disconnect: raw.disconnect ?? defaults.disconnect,
    requestState: { singleUse: raw.requestState?.singleUse ?? defaults.stateSingleUse },
    files: raw.files === undefined ? undefined : { bytesMax: limits.fileBytesMax, ...raw.files },
    items: fillItemNotes(raw.items),
  };
}

/** The gateway has no grant of its own where users have theirs. */
function catalogFromOf({ catalogFrom, credential }: RawUpstream): CatalogFrom {
  if (catalogFrom !== undefined) return catalogFrom;
  return credential?.type === "user" ? "user" : defaults.catalogFrom;
}

function fillTls(
  { ca, cert, key }: NonNullable<RawUpstream["tls"]> = {},
  place: Place,
  secrets: SecretReader,
): UpstreamTlsConfig {
  return {
    ca: secrets.readOptional([...place, "ca"], ca),
    cert: secrets.readOptional([...place, "cert"], cert),
    key: secrets.readOptional([...place, "key"], key),
  };
}

function fillAudit(raw: RawAudit, absolute: (path: string) => string, secrets: SecretReader): AuditConfig {
  const sinks = raw.sinks ?? [{ file: { path: defaults.auditFile } }];
  return {
    mode: raw.mode ?? defaults.auditMode,
    sinks: sinks.map((sink) => fillSink(sink, absolute)),
    digestKey: secrets.readOptional(["audit", "digestKey"], raw.digestKey),
  };
}

/** The schema holds a sink to exactly one kind. */
function fillSink(raw: RawSink, absolute: (path: string) => string): AuditSinkConfig {
  if (raw.file !== undefined) return { kind: "file", path: absolute(raw.file.path) };
  return { kind: "redis", stream: raw.redis?.stream ?? defaults.auditStream };
}
