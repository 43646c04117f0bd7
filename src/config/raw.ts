import type { DpopMode } from "../model/dpop-mode.ts";
import type { IssuerProfileName } from "../model/issuer-profile.ts";
import type { RawBuiltIn } from "./raw-built-in.ts";
import type { RawCredential } from "./raw-credentials.ts";
import type { ConfigurableLimit } from "./schema-limits.ts";
import type {
  Addresses,
  CatalogFrom,
  BreakerConfig,
  Disconnect,
  ItemDeadlinesConfig,
  LogLevel,
  Strictness,
  UpstreamTimeouts,
} from "./types.ts";

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
  policies?: string;
  content?: { results?: "clean" | "observe" };
  audit?: RawAudit;
  store?: RawStore;
  keys?: RawKeys;
  limits?: Partial<Record<ConfigurableLimit, number>>;
  log?: { level?: LogLevel };
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
}

export interface RawServer {
  title?: string;
  instructions?: string;
  scopes?: { minimal?: string[]; supported?: string[] };
  upstreams: Record<string, RawServerUpstream>;
  issuer?: string;
  extensions?: string[];
}

export interface RawServerUpstream {
  prefix?: string;
  include?: RawPatterns;
  hide?: RawPatterns;
  rename?: { tools?: Record<string, string>; prompts?: Record<string, string> };
  describe?: {
    tools?: Record<string, string>;
    prompts?: Record<string, string>;
    resources?: Record<string, string>;
    templates?: Record<string, string>;
  };
  uriPrefix?: string;
}

export interface RawPatterns {
  tools?: string[];
  prompts?: string[];
  resources?: string[];
  templates?: string[];
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
