import { fetchUpstream, type UpstreamCatalog } from "./catalog/fetch-upstream.ts";
import { liveOf } from "./catalog/lock/live.ts";
import type { LiveAnswer, LiveCatalogs } from "./cli/catalog.ts";
import { definitionSource, gatewayAccount } from "./compose-catalog-source.ts";
import { openCredentials } from "./compose-credentials.ts";
import { openGrants } from "./compose-grants.ts";
import { openStore } from "./compose-keeping.ts";
import { openUpstreams } from "./compose-upstreams.ts";
import { lockIdentityOf } from "./config/lock-identity.ts";
import type { Config } from "./config/types.ts";
import type { Result } from "./model/result.ts";
import { cleanDefinition } from "./sanitize/clean-definition.ts";
import { createLog } from "./telemetry/log.ts";
import { createMetrics } from "./telemetry/metrics.ts";

/** Upstreams that a command reads. */
export interface UpstreamReader {
  read(upstream: string): Promise<Result<UpstreamCatalog>>;
  close(): Promise<void>;
}

/**
 * Reads what upstreams offer now, for commands: on the gateway's own account, with the credentials and through the
 * egress guard of a gateway that serves. A shared store is used where the credentials keep their keys in it.
 */
export async function openUpstreamReader(config: Config): Promise<UpstreamReader> {
  // The command says itself what became of each upstream.
  const log = createLog({ level: "fatal", destination: { write: () => undefined } });
  const metrics = createMetrics({ servers: [], upstreams: [], columns: [], processMetrics: false });
  const { store, connection } = openStore(config, log, metrics);
  await connection?.ready(config.limits.storeConnectTimeoutMs);
  const grants = openGrants({ config, store, log });
  const credentials = openCredentials({ config, store, log, grants, signIn: { pages: undefined } });
  const upstreams = openUpstreams({ config, log, metrics, store, credentials });
  const source = definitionSource(upstreams, config.limits.upstreamListTimeoutMs, gatewayAccount);
  return {
    read: (name) => {
      const signal = AbortSignal.timeout(config.limits.upstreamListTimeoutMs);
      return fetchUpstream(name, { source, clean: cleanDefinition, bounds: config.limits }, signal);
    },
    close: async () => {
      await upstreams.close();
      await store.close();
    },
  };
}

/** The same as what the catalog lock is written from. */
export async function openLiveCatalogs(config: Config): Promise<LiveCatalogs> {
  const reader = await openUpstreamReader(config);
  const read = async (name: string): Promise<LiveAnswer> => {
    const upstream = config.upstreams[name];
    if (upstream === undefined) return { fault: "not configured" };
    const answer = await reader.read(name);
    return answer.ok ? liveOf(answer.value, lockIdentityOf(upstream)) : { refusal: answer.refusal };
  };
  return { read, close: () => reader.close() };
}
