import type { DpopMode } from "../model/dpop-mode.ts";
import type { IssuerProfileName } from "../model/issuer-profile.ts";
import { limits } from "../model/limits.ts";
import type { NameRules } from "../model/shown-name.ts";
import type { Addresses, BreakerConfig, Disconnect, LogLevel, Strictness, UpstreamTimeouts } from "./types.ts";

interface Defaults {
  readonly listen: { readonly host: string; readonly port: number };
  readonly operations: { readonly host: string; readonly port: number };
  readonly tenant: string;
  readonly algorithms: readonly string[];
  readonly headlessAlias: string;
  readonly issuerProfile: IssuerProfileName;
  readonly dpop: DpopMode;
  readonly addresses: Addresses;
  readonly builtInAlias: string;
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
  readonly providerScopes: readonly string[];
  readonly subjectFrom: "sub";
  readonly regrantSeconds: number;
  readonly browserScopes: readonly string[];
  readonly era: "auto";
  readonly assertionSubject: "plain";
  readonly assertionSeconds: number;
  readonly subjectTokenType: "accessToken";
  readonly actor: "none";
  readonly boundTokens: "refuse";
  readonly sendResource: boolean;
  readonly assumePkce: boolean;
  readonly grantProfile: "standard";
  readonly clientAuthentication: "client_secret_basic";
  readonly timeouts: UpstreamTimeouts;
  readonly connectionsMax: number;
  readonly queueMax: number;
  readonly breaker: BreakerConfig;
  readonly strictness: Strictness;
  readonly disconnect: Disconnect;
  readonly catalogFrom: "service";
  readonly stateSingleUse: boolean;
  readonly presentationRank: number;
  readonly names: NameRules;
  readonly simplifySchemas: boolean;
  readonly contentResults: "clean";
  readonly auditMode: "required";
  readonly auditFile: string;
  readonly auditStream: string;
  readonly logLevel: LogLevel;
}

/** Defaults that the schema publishes and `fill.ts` applies; the schema gives the reason of each. */
export const defaults: Defaults = {
  listen: { host: "127.0.0.1", port: 8080 },
  operations: { host: "127.0.0.1", port: 9464 },
  tenant: "default",
  algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
  headlessAlias: "headless",
  issuerProfile: "generic",
  dpop: "accept",
  addresses: "public",
  builtInAlias: "local",
  accessTokenSeconds: 600,
  refreshTokenSeconds: 2_592_000,
  providerScopes: ["profile", "email", "offline_access"],
  subjectFrom: "sub",
  regrantSeconds: 43_200,
  browserScopes: ["profile", "email"],
  era: "auto",
  assertionSubject: "plain",
  assertionSeconds: 120,
  subjectTokenType: "accessToken",
  actor: "none",
  boundTokens: "refuse",
  sendResource: true,
  assumePkce: false,
  grantProfile: "standard",
  clientAuthentication: "client_secret_basic",
  timeouts: {
    connectMs: limits.upstreamConnectTimeoutMs,
    firstByteMs: limits.upstreamFirstByteTimeoutMs,
    idleMs: limits.upstreamIdleTimeoutMs,
    callMs: limits.upstreamCallTimeoutMs,
    probeMs: limits.upstreamProbeTimeoutMs,
  },
  connectionsMax: limits.upstreamConnectionsMax,
  queueMax: limits.upstreamQueueMax,
  breaker: {
    failures: limits.upstreamFailuresMax,
    windowMs: limits.upstreamFailureWindowMs,
    pauseMs: limits.upstreamSuspensionMs,
  },
  strictness: "enforce",
  catalogFrom: "service",
  disconnect: "continue",
  stateSingleUse: false,
  presentationRank: 100,
  names: { maxChars: 64, characters: "providers" },
  simplifySchemas: false,
  contentResults: "clean",
  auditMode: "required",
  auditFile: "sallyport-audit.jsonl",
  auditStream: "audit",
  logLevel: "info",
};
