import type { ConfigurableLimit } from "./schema-limits.ts";
import type {
  Addresses,
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
  listen?: RawListen;
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
}

export interface RawIssuer {
  alias: string;
  issuer: string;
  issuerAliases?: string[];
  groupsClaim?: string;
  scopeClaim?: string;
  tenant?: string;
  tenantClaim?: string;
  claims?: Record<string, string>;
  algorithms?: string[];
  audience?: Record<string, string>;
  jwksUri?: string;
  addresses?: Addresses;
  serviceWhen?: { claim: string; equals: string };
}

export interface RawBuiltIn {
  alias?: string;
  users?: { username: string; password: string; subject?: string; name?: string; groups?: string[] }[];
  clients?: { clientId: string; clientSecret: string; scopes?: string[] }[];
  redirectSchemes?: string[];
  accessTokenSeconds?: number;
  refreshTokenSeconds?: number;
  cookieSecret?: string;
  signingKeys?: string;
}

export type RawCredential =
  | { type: "none" }
  | { type: "static"; headers: Record<string, string> }
  | {
      type: "clientCredentials";
      issuer: string;
      clientId: string;
      clientSecret: string;
      scopes?: string[];
      resource?: string;
    };

export interface RawUpstream {
  url: string;
  era?: "auto" | "legacy" | "modern";
  addresses?: Addresses;
  credential?: RawCredential;
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
}

export interface RawStore {
  memory?: true;
  redis?: { url: string };
}
