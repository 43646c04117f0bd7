import type { Limits } from "../model/limits.ts";
import type { NameRules } from "../model/shown-name.ts";
import type { AuthConfig } from "./types-auth.ts";
import type { CredentialConfig } from "./types-credentials.ts";
import type { Secret } from "./secret.ts";
import type { BudgetConfig, ItemNotesConfig, ItemTexts } from "./types-presenting.ts";
import type { PresentationConfig, RenamedItems } from "./types-presenting.ts";

/**
 * The configuration in force: every default filled in, every secret resolved, every path absolute,
 * frozen to its leaves. Objects keyed by names from the file have no prototype, so that a server
 * called `constructor` is absent until somebody configures it. What each field means, its range and
 * the reason for its default stand in `schema.ts`, from which `docs/configuration.md` is made.
 */
export interface Config {
  /** An origin: no path, no trailing slash. All published URLs begin with it (design, decision 10). */
  readonly publicUrl: string;
  /** An origin too; undefined: files are served under `publicUrl`. */
  readonly filesUrl: string | undefined;
  readonly listen: PublicListen;
  readonly operations: Listen;
  /** Lower-case `host` or `host:port`, as a `Host` header carries them. */
  readonly allowedHosts: readonly string[];
  /** Serialised origins, as an `Origin` header carries them (RFC 6454 §6.2). */
  readonly allowedOrigins: readonly string[];
  readonly auth: AuthConfig;
  readonly upstreams: ByName<UpstreamConfig>;
  readonly servers: ByName<ServerConfig>;
  /** Absolute path of the folder that holds policies; undefined means that nothing is allowed. */
  readonly policies: string | undefined;
  /** Absolute path of the file that keeps what was last put in force; undefined: the store keeps it where it is shared. */
  readonly lastGoodBundle: string | undefined;
  /** What is evaluated beside what is in force, and decides nothing. */
  readonly shadow: ShadowConfig | undefined;
  /** Undefined: nobody says what is approved. */
  readonly catalogLock: CatalogLockConfig | undefined;
  readonly content: { readonly results: "clean" | "observe" };
  readonly audit: AuditConfig;
  readonly store: StoreConfig;
  readonly keys: KeysConfig;
  readonly limits: Limits;
  readonly log: { readonly level: LogLevel };
}

export interface ShadowConfig {
  /** Absolute path of a folder, as `policies`. */
  readonly policies: string;
  /** Absolute path of another lock; undefined: the one in force. */
  readonly catalogLock: string | undefined;
}

export type ByName<T> = Readonly<Record<string, T>>;

export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace";

export interface Listen {
  readonly host: string;
  /** 0 lets the system choose a free port. */
  readonly port: number;
}

/** Where clients connect. */
export interface PublicListen extends Listen {
  /** Undefined: TLS, if any, ends in front. */
  readonly tls: ListenTlsConfig | undefined;
}

/** PEM each. */
export interface ListenTlsConfig {
  readonly cert: Secret;
  readonly key: Secret;
  /** Authorities of client certificates; undefined: clients are asked for none. */
  readonly clientCa: Secret | undefined;
}

/** Which addresses may be dialled: public ones, private ones too, or those of this machine. */
export type Addresses = "public" | "private" | "loopback";

export interface UpstreamConfig {
  readonly url: string;
  readonly era: "auto" | "legacy" | "modern";
  readonly addresses: Addresses;
  readonly credential: CredentialConfig;
  readonly catalogFrom: CatalogFrom;
  readonly lock: LockMode;
  readonly tls: UpstreamTlsConfig;
  /** Lower-case names. */
  readonly forwardHeaders: readonly string[];
  readonly timeouts: UpstreamTimeouts;
  readonly connectionsMax: number;
  readonly queueMax: number;
  readonly deadlines: readonly ItemDeadlinesConfig[];
  readonly breaker: BreakerConfig;
  readonly schema: { readonly arguments: Strictness; readonly results: Strictness };
  readonly disconnect: Disconnect;
  /** Of a modern upstream: whether a state that it gives a client resumes one call only. */
  readonly requestState: { readonly singleUse: boolean };
  readonly files: FilesConfig | undefined;
  readonly items: readonly ItemNotesConfig[];
}

/** PEM each; `cert` and `key` are both there or neither. */
export interface UpstreamTlsConfig {
  readonly ca: Secret | undefined;
  readonly cert: Secret | undefined;
  readonly key: Secret | undefined;
}

/** What of an upstream's origin may be fetched as a file. */
export interface FilesConfig {
  /** Globs over paths, from the root. */
  readonly routes: readonly string[];
  /** Lower-case media types without parameters. */
  readonly types: readonly string[];
  readonly bytesMax: number;
}

/**
 * On whose account an upstream's lists are read: the gateway's own, or that of each person. `lock`: they are not read,
 * and the definitions are those that the catalog lock approves.
 */
export type CatalogFrom = "service" | "user" | "lock";

/** How an upstream's definitions are held to the catalog lock. */
export type LockMode = "off" | "observe" | "enforce";

export interface CatalogLockConfig {
  /** Absolute path. */
  readonly file: string;
  /** Who is told of drift. */
  readonly webhook:
    { readonly url: string; readonly secret: Secret | undefined; readonly addresses: Addresses } | undefined;
}

/** What becomes of the calls of a legacy client that loses its connection. */
export type Disconnect = "cancel" | "continue";

/** Deadlines of some items, in place of the upstream's own. Exactly one of `tool`, `prompt` and `resource` is there. */
export interface ItemDeadlinesConfig {
  /** Globs over original names or URIs. */
  readonly tool?: string;
  readonly prompt?: string;
  readonly resource?: string;
  readonly callMs?: number;
  readonly firstByteMs?: number;
  readonly idleMs?: number;
}

/** When an upstream that fails is left alone, and for how long. */
export interface BreakerConfig {
  /** Consecutive failures; 0: never. */
  readonly failures: number;
  readonly windowMs: number;
  readonly pauseMs: number;
}

export type Strictness = "enforce" | "warn" | "off";

/** Milliseconds each. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  readonly firstByteMs: number;
  readonly idleMs: number;
  readonly callMs: number;
  readonly probeMs: number;
}

export interface ServerConfig {
  readonly title: string | undefined;
  readonly instructions: string | undefined;
  readonly scopes: { readonly minimal: readonly string[]; readonly supported: readonly string[] };
  readonly upstreams: ByName<ServerUpstreamConfig>;
  /** Alias of the issuer that this server's metadata names; undefined only without authentication. */
  readonly issuer: string | undefined;
  /** Extensions that clients and upstreams may tell each other of. */
  readonly extensions: readonly string[];
  readonly presentations: readonly PresentationConfig[];
  readonly names: NameRules;
  readonly schemas: { readonly simplify: boolean };
  /** Undefined: nobody said what it may cost of a model's context. */
  readonly budget: BudgetConfig | undefined;
}

/** How one upstream shows at one server. Keys and patterns are the upstream's own names. */
export interface ServerUpstreamConfig {
  /** Put before the names of tools and prompts that `rename` does not mention. */
  readonly prefix: string;
  /** What shows at all; a kind left undefined shows whole. */
  readonly include: ItemPatterns;
  /** What does not, even where `include` names it. */
  readonly hide: ItemPatterns;
  readonly rename: RenamedItems;
  readonly title: ItemTexts;
  readonly describe: ItemTexts;
  /** Put before resource URIs and templates, `ui://` ones excepted. */
  readonly uriPrefix: string;
}

/** Names, or globs in which `*` stands for any characters but `/`. */
export interface ItemPatterns {
  readonly tools: readonly string[] | undefined;
  readonly prompts: readonly string[] | undefined;
  readonly resources: readonly string[] | undefined;
  readonly templates: readonly string[] | undefined;
}

export interface AuditConfig {
  readonly mode: "required" | "best-effort";
  readonly sinks: readonly AuditSinkConfig[];
  /** Undefined: a key of this process, so digests compare within one run only. */
  readonly digestKey: Secret | undefined;
}

export type AuditSinkConfig =
  { readonly kind: "file"; readonly path: string } | { readonly kind: "redis"; readonly stream: string };

export type StoreConfig = { readonly kind: "memory" } | { readonly kind: "redis"; readonly url: Secret };

export interface KeysConfig {
  /** The MAC key of session records; undefined: a key of this process. */
  readonly session: Secret | undefined;
  /** Keys that records written before a rotation still carry. */
  readonly sessionPrevious: readonly Secret[];
  /** Private keys of the gateway's assertions, the signing one first; none: made, and kept in the store. */
  readonly assertion: readonly Secret[];
}
