import { randomBytes } from "node:crypto";
import { noWitness } from "./compose-grant-evidence.ts";
import { answerJson } from "./compose-json-page.ts";
import { openSealer } from "./compose-sealer.ts";
import type { UserGrantConfig } from "./config/types-credentials.ts";
import type { Config, UpstreamConfig } from "./config/types.ts";
import { paths } from "./connect/paths.ts";
import type { OwnPages } from "./edge/public-server.ts";
import type { Store } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import type { GrantWitness } from "./upstream/grants/port.ts";
import { clientDocument } from "./upstream/grants/client-document.ts";
import type { GrantsOptions, GrantUpstreamOptions } from "./upstream/grants/options.ts";
import { createGrants, type Grants } from "./upstream/grants/user-grants.ts";

const clientName = "Sallyport";
const documentPath = "/oauth/client.json";

interface GrantParts {
  readonly config: Config;
  readonly store: Store;
  readonly log: Pick<Log, "info">;
  /** Absent: whoever opens them tells of what they do by themselves. */
  readonly witness?: GrantWitness | undefined;
}

/** Users' own grants at upstreams; undefined where no upstream is reached by them. */
export function openGrants(of: GrantParts): Grants | undefined {
  const options = grantsOptions(of);
  return Object.keys(options.upstreams).length === 0 ? undefined : createGrants(options);
}

/** For the gateway, and for commands that work with the same grants beside it. */
export function grantsOptions({ config, store, log, witness = noWitness }: GrantParts): GrantsOptions {
  const upstreams = Object.entries(config.upstreams).flatMap(([name, upstream]): [string, GrantUpstreamOptions][] =>
    upstream.credential.type === "user" ? [[name, grantOptions(upstream, upstream.credential)]] : [],
  );
  return {
    upstreams: Object.fromEntries(upstreams),
    issuersElsewhere: issuersElsewhere(config),
    records: store,
    sealer: openSealer("grants", config),
    clientName,
    clientDocumentUrl: documentUrl(config),
    now: Date.now,
    random: randomBytes,
    jitter: Math.random,
    limits: config.limits,
    log: (event, facts) => {
      log.info("upstream.noted", { what: event, ...facts });
    },
    witness,
  };
}

function issuersElsewhere({ upstreams }: Config): Readonly<Record<string, string>> {
  const named = Object.entries(upstreams).flatMap(([name, { credential }]) =>
    credential.type !== "user" && "issuer" in credential ? [[name, credential.issuer] as const] : [],
  );
  return Object.fromEntries(named);
}

function grantOptions({ url, addresses, tls }: UpstreamConfig, credential: UserGrantConfig): GrantUpstreamOptions {
  const { title, issuer, clientId, clientSecret, scopes, sendResource, assumePkce, profile } = credential;
  const client = clientId === undefined ? undefined : { id: clientId, secret: clientSecret?.reveal() };
  const ca = tls.ca?.reveal();
  return { url, title, addresses, ca, issuer, client, scopes, sendResource, assumePkce, profile };
}

/** Servers fetch the document over https alone; elsewhere the gateway registers itself. */
function documentUrl({ publicUrl }: Config): string | undefined {
  return publicUrl.startsWith("https:") ? `${publicUrl}${documentPath}` : undefined;
}

/** The document under which authorization servers of upstreams know this gateway; undefined where none is used. */
export function clientDocumentPages(config: Config, grants: Grants | undefined): OwnPages | undefined {
  const url = documentUrl(config);
  if (grants === undefined || url === undefined) return undefined;
  const { publicUrl: home } = config;
  const document = clientDocument({ url, name: clientName, home, redirectUris: [`${home}${paths.granted}`] });
  return {
    handles: (path) => path === documentPath,
    handle: (req, res) => answerJson({ req, res, type: "application/json" }, () => Promise.resolve(document)),
  };
}
