import { limits } from "../model/limits.ts";
import type { Addresses, BreakerConfig, Disconnect, LogLevel, Strictness, UpstreamTimeouts } from "./types.ts";

interface Defaults {
  readonly listen: { readonly host: string; readonly port: number };
  readonly operations: { readonly host: string; readonly port: number };
  readonly tenant: string;
  readonly algorithms: readonly string[];
  readonly addresses: Addresses;
  readonly builtInAlias: string;
  readonly accessTokenSeconds: number;
  readonly refreshTokenSeconds: number;
  readonly era: "auto";
  readonly timeouts: UpstreamTimeouts;
  readonly connectionsMax: number;
  readonly queueMax: number;
  readonly breaker: BreakerConfig;
  readonly strictness: Strictness;
  readonly disconnect: Disconnect;
  readonly stateSingleUse: boolean;
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
  addresses: "public",
  builtInAlias: "local",
  accessTokenSeconds: 600,
  refreshTokenSeconds: 2_592_000,
  era: "auto",
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
  disconnect: "continue",
  stateSingleUse: false,
  contentResults: "clean",
  auditMode: "required",
  auditFile: "sallyport-audit.jsonl",
  auditStream: "audit",
  logLevel: "info",
};
