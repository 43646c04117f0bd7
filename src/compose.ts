import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { createDigester } from "./audit/digest.ts";
import { createRef } from "./audit/ref.ts";
import { createStrangers, type Strangers } from "./audit/strangers.ts";
import { protectedResourceMetadata, protectedResourceMetadataUrl } from "./auth/protected-resource.ts";
import { colliding } from "./catalog/table.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { createViews } from "./catalog/views.ts";
import { loadPolicies } from "./cli/load-policies.ts";
import type { LoadedConfig } from "./config/load.ts";
import type { Config } from "./config/types.ts";
import { createOperationsServer } from "./edge/operations-server.ts";
import { createPublicServer } from "./edge/public-server.ts";
import { createCallSlots } from "./gateway/call-slots.ts";
import type { Gateway, UpstreamTreatment, VirtualServer } from "./gateway/gateway.ts";
import { columns } from "./gateway/journey.ts";
import { StartRefused } from "./model/start-refused.ts";
import { version } from "./model/version.ts";
import type { Policy } from "./policy/compile.ts";
import { createCheckers } from "./schema/checker.ts";
import type { Store } from "./store/store.ts";
import type { Recorder } from "./audit/recorder.ts";
import type { Sessions } from "./session/sessions.ts";
import type { RedisStore } from "./store/redis.ts";
import { keyFrom, openEvidence, openSessions, openStore } from "./compose-keeping.ts";
import type { ItemKind } from "./model/item.ts";
import { itemDeadlines } from "./compose-deadlines.ts";
import { createLog, type Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { createUpstreams } from "./upstream/create.ts";
import type { Upstreams } from "./upstream/port.ts";
import { createSignIn, type SignIn } from "./compose-sign-in.ts";
import { openCatalog, upstreamOptions } from "./compose-catalog.ts";
import { addFiles, fileColumn, openFileRoutes } from "./compose-files.ts";
import { openAsking } from "./compose-asking.ts";
import { openClientStreams } from "./compose-streams.ts";
import { openLinks } from "./compose-links.ts";
import { openTasks } from "./compose-tasks.ts";
import { openCourier, openSealing, openUnderWay, sessionsOfDenied, type OpenUnderWay } from "./compose-crossing.ts";
import type { ClosableCourier } from "./store/courier-local.ts";

const info = { name: "sallyport", version } as const;

/** A gateway that serves. */
export interface RunningGateway {
  readonly addresses: { readonly public: string; readonly operations: string };
  /** Takes no new requests, waits for those under way up to `drainMs`, keeps the evidence, and closes everything. */
  drain(): Promise<void>;
}

interface Rooms {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: Store;
  readonly streams: RedisStore["streams"] | undefined;
  readonly policy: Policy;
  readonly upstreams: Upstreams;
  readonly catalog: Catalog;
  readonly evidence: Recorder;
  readonly strangers: Strangers;
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly courier: ClosableCourier;
  readonly calls: OpenUnderWay;
}

/**
 * Joins every room to the ports it asks for, opens both listeners and serves. Rejects with
 * `StartRefused` when policies do not compile or two upstreams offer an item under one name.
 */
export async function startGateway(
  loaded: LoadedConfig,
  options: { readonly logTo?: { write(line: string): void } } = {},
): Promise<RunningGateway> {
  const { config } = loaded;
  const log = createLog({
    level: config.log.level,
    ...(options.logTo === undefined ? {} : { destination: options.logTo }),
  });
  const rooms = await furnish(loaded, log);
  const state = { draining: false };
  const servers = virtualServers(config);
  const gateway = joinGateway(rooms, () => state.draining);
  rooms.signIn.whenSubjectDenied(sessionsOfDenied({ ...gateway, log }));
  const publicServer = createPublicServer({
    gateway,
    servers,
    metadata: (server) => metadataOf(rooms, server),
    signIn: rooms.signIn.pages,
    limits: config.limits,
  });
  addFiles(publicServer, { config, gateway, servers });
  const operations = operationsOf(rooms, loaded.digest, () => state.draining);
  await refuseCollisions(rooms, servers);
  const addresses = {
    public: await publicServer.listen({ host: config.listen.host, port: config.listen.port }),
    operations: await operations.listen({ host: config.operations.host, port: config.operations.port }),
  };
  log.info("gateway.started", { ...addresses, servers: [...servers.keys()], policy: rooms.policy.digest });
  const drain = async (): Promise<void> => {
    state.draining = true;
    gateway.clientStreams.close();
    await shutDown(rooms, publicServer, operations);
  };
  return { addresses, drain };
}

async function furnish(loaded: LoadedConfig, log: Log): Promise<Rooms> {
  const { config } = loaded;
  const policy = compilePolicy(config);
  const metrics = createMetrics({
    servers: Object.keys(config.servers),
    upstreams: Object.keys(config.upstreams),
    columns: [...columns, fileColumn],
    processMetrics: true,
  });
  const { store, streams, connection } = openStore(config, log, metrics);
  const evidence = await openEvidence({
    config,
    log,
    metrics,
    streams,
    digests: { configuration: loaded.digest, lock: "", policy: policy.digest },
  });
  const upstreams = openUpstreams({ config, log, metrics, store });
  const signIn = await createSignIn({ config, store, log });
  const sessions = openSessions(config, store);
  const courier = openCourier({ config, log, metrics, connection });
  return {
    config,
    log,
    metrics,
    store,
    streams,
    policy,
    upstreams,
    catalog: openCatalog({ config, upstreams, evidence, log }),
    evidence,
    strangers: createStrangers({ evidence, now: Date.now }),
    signIn,
    sessions,
    courier,
    calls: openUnderWay({ config, courier, sessions }),
  };
}

function compilePolicy(config: Config): Policy {
  const policies = loadPolicies(config);
  if (policies.ok) return policies.policy;
  throw new StartRefused(
    policies.faults.map(({ path, found, expected }) => `${path}: found ${found}, expected ${expected}`),
  );
}

function openUpstreams(of: { config: Config; log: Log; metrics: Metrics; store: Store }): Upstreams {
  return createUpstreams({
    upstreams: upstreamOptions(of.config),
    records: of.store,
    now: Date.now,
    randomId: () => randomBytes(16).toString("hex"),
    gatewayInfo: info,
    limits: of.config.limits,
    log: (_event, facts) => {
      of.log.info("upstream.noted", { what: _event, ...flat(facts) });
    },
    onSuspended: (upstream, suspended) => {
      of.metrics.upstreamSuspended(upstream, suspended);
    },
    observe: ({ upstream, outcome, durationMs }) => {
      const came = outcome === "result" ? "returned" : outcome === "error" ? "failed" : outcome;
      of.metrics.upstream({ upstream, outcome: came, durationMs });
    },
  });
}

/** Log facts are flat; anything else an upstream room reports is left out rather than printed. */
function flat(facts: Readonly<Record<string, unknown>>): Record<string, string | number | boolean> {
  const kept: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(facts))
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") kept[name] = value;
  return kept;
}

function virtualServers(config: Config): ReadonlyMap<string, VirtualServer> {
  return new Map(
    Object.entries(config.servers).map(([name, server]) => {
      const resource = `${config.publicUrl}/${name}/mcp`;
      const metadataUrl = protectedResourceMetadataUrl(resource);
      const { instructions } = server;
      return [
        name,
        {
          name,
          title: server.title ?? name,
          instructions,
          resource,
          metadataUrl,
          minimalScopes: server.scopes.minimal,
          extensions: server.extensions,
        },
      ];
    }),
  );
}

function metadataOf(rooms: Rooms, server: VirtualServer): ReturnType<typeof protectedResourceMetadata> {
  const { resource, title: name } = server;
  const advertised = rooms.config.servers[server.name];
  const issuer = rooms.signIn.issuerOf(advertised?.issuer);
  return protectedResourceMetadata({ resource, issuer, scopes: advertised?.scopes.minimal ?? [], name });
}

function joinGateway(rooms: Rooms, draining: () => boolean): Gateway {
  const { config, log, metrics } = rooms;
  const digester = createDigester(keyFrom("audit digest", config.audit.digestKey));
  return {
    info,
    allowedHosts: new Set(config.allowedHosts),
    allowedOrigins: new Set(config.allowedOrigins),
    limits: config.limits,
    authenticate: rooms.signIn.authenticate,
    sessions: rooms.sessions,
    courier: rooms.courier,
    sealing: openSealing(config),
    underWay: rooms.calls.underWay,
    asking: openAsking(rooms),
    catalog: rooms.catalog,
    tasks: openTasks(rooms),
    links: openLinks(rooms),
    views: createViews({ ...config.limits, now: Date.now }),
    policy: () => rooms.policy,
    checkers: createCheckers({ validatorsMax: config.limits.schemaValidatorsMax }),
    cleanResults: config.content.results === "clean",
    upstreams: rooms.upstreams,
    treatments: treatmentsOf(config),
    slots: createCallSlots(config.limits.callsInFlightPerPrincipalMax),
    files: openFileRoutes(config),
    clientStreams: openClientStreams(rooms),
    evidence: rooms.evidence,
    auditRequired: config.audit.mode === "required",
    digest: digester,
    strangers: rooms.strangers,
    ref: createRef(randomBytes),
    now: Date.now,
    draining,
    observe: (sample) => {
      metrics.request({ ...sample, code: sample.code === "none" ? undefined : sample.code });
    },
    logRefusal: (facts, cause) => {
      log.info("gateway.refused", facts, cause);
    },
  };
}

function treatmentsOf(config: Config): ReadonlyMap<string, UpstreamTreatment> {
  return new Map(
    Object.entries(config.upstreams).map(([name, { timeouts, deadlines, schema, disconnect, requestState }]) => [
      name,
      {
        callTimeoutMs: timeouts.callMs,
        deadlines: itemDeadlines(deadlines),
        argumentSchemas: schema.arguments,
        resultSchemas: schema.results,
        disconnect,
        stateSingleUse: requestState.singleUse,
      },
    ]),
  );
}

function operationsOf(rooms: Rooms, configuration: string, draining: () => boolean): FastifyInstance {
  return createOperationsServer({
    readiness: async () => {
      const store = await rooms.store.ping().then(
        () => [],
        () => ["store"],
      );
      const reasons = draining() ? ["draining", ...store] : store;
      return { ready: reasons.length === 0, reasons };
    },
    metrics: () => rooms.metrics.render(),
    digests: () => ({ configuration, policy: rooms.policy.digest }),
  });
}

/**
 * Reads every upstream once before serving. One that cannot be read now is met again while serving; an
 * item that one upstream lists twice is that upstream's fault alone, and withheld without stopping a start.
 */
async function refuseCollisions(rooms: Rooms, servers: ReadonlyMap<string, VirtualServer>): Promise<void> {
  const tables = await Promise.all([...servers.keys()].map(async (server) => rooms.catalog.table(server)));
  const collided = tables.flatMap((table) =>
    colliding(table.entries).map(
      ({ item, exposed }) =>
        `servers.${table.server}: ${item.kind} ${exposed} of upstream ${item.upstream} collides; ${wayOut(item.kind)}`,
    ),
  );
  if (collided.length === 0) return;
  await shutDown(rooms);
  throw new StartRefused(collided);
}

/** A URI has a prefix of its own, and no other name. */
function wayOut(kind: ItemKind): string {
  const named = kind === "tool" || kind === "prompt";
  return named ? "give it a prefix, rename or hide it" : "give it a uriPrefix or hide it";
}

/** Stops taking connections and waits for what is under way; after `drainMs` the rest is cut off. */
async function shutDown(rooms: Rooms, ...servers: readonly FastifyInstance[]): Promise<void> {
  const cut = setTimeout(() => {
    for (const { server } of servers) server.closeAllConnections();
  }, rooms.config.limits.drainMs);
  // In order: the operations listener answers, and says that it drains, until the public one is closed.
  for (const server of servers) await server.close();
  clearTimeout(cut);
  await rooms.upstreams.close();
  rooms.strangers.close();
  await rooms.evidence.close();
  rooms.calls.close();
  await rooms.courier.close();
  await rooms.store.close();
  rooms.log.flush();
}
