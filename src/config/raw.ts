import type { DpopMode } from "../model/dpop-mode.ts";
import type { IssuerProfileName } from "../model/issuer-profile.ts";
import type { RawBuiltIn } from "./raw-built-in.ts";
import type { RawCredential } from "./raw-credentials.ts";
import type { RawBudget, RawNames, RawPatterns, RawPresentation, RawRenamed, RawTexts } from "./raw-presenting.ts";
import type { ConfigurableLimit } from "./schema-limits.ts";
import type {
  Addresses,
  CatalogFrom,
  BreakerConfig,
  Disconnect,
  LockMode,
  ItemDeadlinesConfig,
  LogLevel,
  Strictness,
  UpstreamTimeouts,
} from "./types.ts";
import type { ItemNotesConfig } from "./types-presenting.ts";

/** The configuration as its file has it, once `schema.ts` holds: nothing filled in, references unresolved. */
export interface RawConfig {
  publicUrl: string;
  filesUrl?: string;
  listen?: RawListen & { tls?: { cert: string; key: string; clientCa?: string } };
  operations?: RawListen;
  allowedHosts?: string[];
  allowedOrigins?: string[];
  auth: RawAuth;
  upstreams: Record<string, RawUpstream>;
  servers: Record<string, RawServer>;
  names?: RawNames;
  catalogLock?: string | RawCatalogLock;
  policies?: string;
  lastGoodBundle?: string;
  shadow?: { policies: string; catalogLock?: string };
  content?: { results?: "clean" | "observe" };
  audit?: RawAudit;
  store?: RawStore;
  keys?: RawKeys;
  limits?: Partial<Record<ConfigurableLimit, number>>;
  log?: { level?: LogLevel };
}

/** The map that may stand in the place of a path. */
export interface RawCatalogLock {
  file: string;
  webhook?: { url: string; secret?: string; addresses?: Addresses };
}

export interface RawListen {
  host?: string;
  port?: number;
}

export interface RawAuth {
  none?: true;
  issuers?: RawIssuer[];
  builtIn?: RawBuiltIn;
  browser?: RawBrowser;
  headless?: RawHeadless;
  scopeImplications?: Record<string, string[]>;
}

export interface RawBrowser {
  issuer: string;
  clientId: string;
  clientSecret?: string;
  scopes?: string[];
}

export interface RawHeadless {
  alias?: string;
  tenant?: string;
}

export interface RawIssuer {
  alias: string;
  issuer: string;
  issuerAliases?: string[];
  profile?: IssuerProfileName;
  tokenTypes?: string[];
  subjectClaim?: string;
  groupsClaim?: string;
  scopeClaim?: string;
  tenant?: string;
  tenantClaim?: string;
  claims?: Record<string, string>;
  algorithms?: string[];
  audience?: Record<string, string>;
  scopePrefix?: Record<string, string>;
  introspection?: { clientId: string; clientSecret: string; endpoint?: string };
  dpop?: DpopMode;
  jwksUri?: string;
  addresses?: Addresses;
  tls?: { ca: string };
  serviceWhen?: { claim: string; equals: string };
}

export interface RawUpstream {
  url: string;
  era?: "auto" | "legacy" | "modern";
  addresses?: Addresses;
  credential?: RawCredential;
  catalogFrom?: CatalogFrom;
  lock?: LockMode;
  tls?: { ca?: string; cert?: string; key?: string };
  forwardHeaders?: string[];
  timeouts?: Partial<UpstreamTimeouts>;
  connectionsMax?: number;
  queueMax?: number;
  deadlines?: ItemDeadlinesConfig[];
  breaker?: Partial<BreakerConfig>;
  schema?: { arguments?: Strictness; results?: Strictness };
  disconnect?: Disconnect;
  requestState?: { singleUse?: boolean };
  files?: { routes: string[]; types: string[]; bytesMax?: number };
  items?: ItemNotesConfig[];
}

export interface RawServer {
  title?: string;
  instructions?: string;
  scopes?: { minimal?: string[]; supported?: string[] };
  upstreams: Record<string, RawServerUpstream>;
  issuer?: string;
  extensions?: string[];
  presentations?: RawPresentation[];
  names?: RawNames;
  schemas?: { simplify?: boolean };
  budget?: RawBudget;
}

export interface RawServerUpstream {
  prefix?: string;
  include?: RawPatterns;
  hide?: RawPatterns;
  rename?: RawRenamed;
  title?: RawTexts;
  describe?: RawTexts;
  uriPrefix?: string;
}

export interface RawAudit {
  mode?: "required" | "best-effort";
  sinks?: RawSink[];
  digestKey?: string;
}

export interface RawSink {
  file?: { path: string };
  redis?: { stream?: string };
}

export interface RawKeys {
  session?: string;
  sessionPrevious?: string[];
  assertion?: string[];
}

export interface RawStore {
  memory?: true;
  redis?: { url: string };
}
