import { randomBytes, randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { createDigester } from "./audit/digest.ts";
import { createRef } from "./audit/ref.ts";
import { createStrangers, type Strangers } from "./audit/strangers.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { createViews } from "./catalog/views.ts";
import type { LoadedConfig } from "./config/load.ts";
import type { Config } from "./config/types.ts";
import { createOperationsServer } from "./edge/operations-server.ts";
import { createPublicServer, type OwnPages } from "./edge/public-server.ts";
import { createCancelElsewhere } from "./gateway/cancel-elsewhere.ts";
import { createAtWork, type AtWork } from "./gateway/at-work.ts";
import { createCallSlots } from "./gateway/call-slots.ts";
import type { Gateway, UpstreamTreatment, VirtualServer } from "./gateway/gateway.ts";
import { columns } from "./gateway/journey.ts";
import { createUseLimits } from "./gateway/limits/use-limits.ts";
import { StartRefused } from "./model/start-refused.ts";
import { createCheckers } from "./schema/checker.ts";
import type { Store } from "./store/store.ts";
import type { Recorder } from "./audit/recorder.ts";
import type { Sessions } from "./session/sessions.ts";
import type { RedisStore } from "./store/redis.ts";
import { keyFrom, openEvidence, openSessions, openStore, replicaName } from "./compose-keeping.ts";
import { itemDeadlines } from "./compose-deadlines.ts";
import { createLog, type Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import type { Upstreams } from "./upstream/port.ts";
import { listenerTls } from "./compose-listener.ts";
import { createSignIn, type SignIn } from "./compose-sign-in.ts";
import { openCatalog } from "./compose-catalog.ts";
import { definitionSource } from "./compose-catalog-source.ts";
import { collisionsIn } from "./compose-collisions.ts";
import { openCredentials, type OpenCredentials } from "./compose-credentials.ts";
import { hearGrantChanges, witnessIn } from "./compose-grant-evidence.ts";
import { clientDocumentPages, openGrants } from "./compose-grants.ts";
import type { Grants } from "./upstream/grants/user-grants.ts";
import { addFiles, fileColumn, openFileRoutes } from "./compose-files.ts";
import { openAsking } from "./compose-asking.ts";
import { openConnect } from "./compose-connect.ts";
import { openForce, reportReadings, type Force } from "./compose-in-force.ts";
import { hearOffboarding } from "./compose-denied.ts";
import { announcing, openConnections } from "./compose-connections.ts";
import { openClientStreams } from "./compose-streams.ts";
import { openLinks } from "./compose-links.ts";
import { openLock, type OpenLock } from "./compose-lock.ts";
import { metadataOf, virtualServers } from "./compose-servers.ts";
import { openTasks } from "./compose-tasks.ts";
import { hearTokenChanges } from "./compose-tokens-told.ts";
import { info, openUpstreams } from "./compose-upstreams.ts";
import { openCourier, openSealing, openUnderWay, sessionsOfDenied, type OpenUnderWay } from "./compose-crossing.ts";
import type { ClosableCourier } from "./store/courier-local.ts";

/** A gateway that serves. */
export interface RunningGateway {
  readonly addresses: { readonly public: string; readonly operations: string };
  /** Takes no new requests, waits for those under way up to `drainMs`, keeps the evidence, and closes everything. */
  drain(): Promise<void>;
  /** Reads policies and lock anew. Never rejects. */
  reload(): Promise<void>;
}

interface Rooms {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly store: Store;
  readonly streams: RedisStore["streams"] | undefined;
  readonly force: Force;
  readonly replica: string;
  readonly upstreams: Upstreams;
  readonly credentials: OpenCredentials;
  readonly grants: Grants | undefined;
  readonly lock: OpenLock;
  readonly catalog: Catalog;
  readonly evidence: Recorder;
  readonly strangers: Strangers;
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly courier: ClosableCourier;
  readonly atWork: AtWork;
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
  const servers = virtualServers(config, rooms.signIn);
  const gateway = joinGateway(rooms, () => state.draining);
  const end = sessionsOfDenied({ ...gateway, log });
  rooms.signIn.whenSubjectDenied(end);
  hearOffboarding({ ...gateway, end, log });
  hearTokenChanges(gateway);
  hearGrantChanges(gateway);
  const publicServer = createPublicServer({
    gateway,
    servers,
    metadata: (server) => metadataOf(rooms, server),
    pages: pagesOf(rooms, gateway),
    limits: config.limits,
    tls: listenerTls(config),
  });
  addFiles(publicServer, { config, gateway, servers, credentials: rooms.credentials });
  const operations = operationsOf(rooms, () => state.draining);
  await refuseCollisions(rooms, servers);
  const addresses = {
    public: await publicServer.listen({ host: config.listen.host, port: config.listen.port }),
    operations: await operations.listen({ host: config.operations.host, port: config.operations.port }),
  };
  log.info("gateway.started", {
    ...addresses,
    servers: [...servers.keys()],
    policy: rooms.force.current().policy.digest,
  });
  const heard = reportReadings({ ...rooms, ref: gateway.ref });
  heard(rooms.force.first);
  rooms.force.watch(heard);
  const drain = async (): Promise<void> => {
    state.draining = true;
    rooms.force.close();
    gateway.clientStreams.close();
    await shutDown(rooms, publicServer, operations);
  };
  const reload = async (): Promise<void> => {
    heard(await rooms.force.reload("signal"));
  };
  return { addresses, drain, reload };
}

async function furnish(loaded: LoadedConfig, log: Log): Promise<Rooms> {
  const { config } = loaded;
  const metrics = createMetrics({
    servers: Object.keys(config.servers),
    upstreams: Object.keys(config.upstreams),
    columns: [...columns, fileColumn],
    processMetrics: true,
  });
  const { store, streams, connection } = openStore(config, log, metrics);
  // The store may hold what was last in force.
  await connection?.ready(config.limits.storeConnectTimeoutMs);
  const force = await openForce({ loaded, store, log });
  const replica = replicaName();
  const evidence = await openEvidence({
    config,
    log,
    metrics,
    streams,
    digests: () => force.current().digests,
    replica,
  });
  const signIn = await createSignIn({ config, store, log, policyScopes: () => force.current().policy.scopes });
  const grants = openGrants({ config, store, log, witness: witnessIn(evidence) });
  const credentials = openCredentials({ config, store, log, grants, signIn });
  const upstreams = openUpstreams({ config, log, metrics, store, credentials });
  const lock = openLock({ config, lock: () => force.current().lock, evidence, log, metrics });
  const sessions = openSessions(config, store);
  const courier = openCourier({ config, log, metrics, connection });
  return {
    config,
    log,
    metrics,
    store,
    streams,
    force,
    replica,
    upstreams,
    credentials,
    grants,
    lock,
    catalog: openCatalog({ config, upstreams, evidence, log, lock }),
    evidence,
    strangers: createStrangers({ evidence, now: Date.now }),
    signIn,
    sessions,
    courier,
    atWork: createAtWork(),
    calls: openUnderWay({ config, courier, sessions }),
  };
}

function pagesOf(rooms: Rooms, gateway: Gateway): OwnPages[] {
  const grants = rooms.grants === undefined ? undefined : announcing(rooms.grants.pages, gateway.connections);
  const connect = openConnect({ ...rooms, gateway, grants });
  const document = clientDocumentPages(rooms.config, rooms.grants);
  return [rooms.signIn.pages, rooms.credentials.pages, document, connect].filter((pages) => pages !== undefined);
}

function joinGateway(rooms: Rooms, draining: () => boolean): Gateway {
  const { config, log, metrics } = rooms;
  const { proofs } = rooms.signIn;
  const digester = createDigester(keyFrom("audit digest", config.audit.digestKey));
  return {
    info,
    allowedHosts: new Set(config.allowedHosts),
    allowedOrigins: new Set(config.allowedOrigins),
    limits: config.limits,
    authenticate: rooms.signIn.authenticate,
    proofNonce: proofs === undefined ? undefined : () => proofs.nonces.current(Date.now()),
    sessions: rooms.sessions,
    courier: rooms.courier,
    sealing: openSealing(config),
    underWay: rooms.calls.underWay,
    cancelElsewhere: createCancelElsewhere({ courier: rooms.courier, now: Date.now, limits: config.limits }),
    asking: openAsking(rooms),
    connections: openConnections(rooms),
    catalog: rooms.catalog,
    tasks: openTasks(rooms),
    links: openLinks(rooms),
    views: createViews({ ...config.limits, now: Date.now }),
    definitionsFor: (account) => definitionSource(rooms.upstreams, config.limits.upstreamListTimeoutMs, account),
    inForce: rooms.force.current,
    verdictOn: rooms.lock.keeper.verdictOn,
    checkers: createCheckers({ validatorsMax: config.limits.schemaValidatorsMax }),
    cleanResults: config.content.results === "clean",
    upstreams: rooms.upstreams,
    treatments: treatmentsOf(config),
    atWork: rooms.atWork,
    slots: createCallSlots(config.limits.callsInFlightPerPrincipalMax),
    uses: createUseLimits({ records: rooms.store, leaseId: randomUUID }),
    recoverySlots: createCallSlots(config.limits.recoveryInFlightPerPrincipalMax),
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
    observeLimited: (sample) => {
      metrics.limited(sample);
    },
    observeShadow: (change) => {
      metrics.shadowed(change);
    },
    logRefusal: (facts, cause) => {
      log.info("gateway.refused", facts, cause);
    },
  };
}

function treatmentsOf(config: Config): ReadonlyMap<string, UpstreamTreatment> {
  return new Map(
    Object.entries(config.upstreams).map(
      ([name, { timeouts, deadlines, schema, disconnect, requestState, forwardHeaders }]) => [
        name,
        {
          callTimeoutMs: timeouts.callMs,
          deadlines: itemDeadlines(deadlines),
          argumentSchemas: schema.arguments,
          resultSchemas: schema.results,
          disconnect,
          stateSingleUse: requestState.singleUse,
          forwardHeaders,
        },
      ],
    ),
  );
}

function operationsOf(rooms: Rooms, draining: () => boolean): FastifyInstance {
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
    bundle: rooms.force.status,
    replica: rooms.replica,
  });
}

async function refuseCollisions(rooms: Rooms, servers: ReadonlyMap<string, VirtualServer>): Promise<void> {
  const collided = await collisionsIn(rooms.catalog, servers.keys());
  if (collided.length === 0) return;
  await shutDown(rooms);
  throw new StartRefused([...collided]);
}

/** Stops taking connections and waits for what is under way; after `drainMs` the rest is cut off. */
async function shutDown(rooms: Rooms, ...servers: readonly FastifyInstance[]): Promise<void> {
  const cut = setTimeout(() => {
    for (const { server } of servers) server.closeAllConnections();
  }, rooms.config.limits.drainMs);
  // In order: the operations listener answers, and says that it drains, until the public one is closed.
  for (const server of servers) await server.close();
  clearTimeout(cut);
  await rooms.lock.close();
  await rooms.upstreams.close();
  await rooms.atWork.done(rooms.config.limits.drainMs);
  rooms.strangers.close();
  await rooms.evidence.close();
  rooms.calls.close();
  await rooms.courier.close();
  await rooms.store.close();
  rooms.log.flush();
}
