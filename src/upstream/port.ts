import type { Cancellation } from "../model/cancellation.ts";
import type { RecordReads, RecordWrites } from "../model/records.ts";
import type { ItemKind } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import type { Refusal } from "../model/refusal.ts";
import type { Era, Revision } from "../model/revision.ts";
import type { RpcError } from "../model/rpc.ts";

/** What upstream sessions need of a store. */
export type UpstreamSessionRecords = RecordReads & Pick<RecordWrites, "set" | "replace" | "touch" | "delete">;

/** On whose account an exchange runs: part of every pool, session and cache key. */
export interface OnAccountOf {
  readonly tenant: string;
  /** `Principal.key`, or `"gateway"` for the gateway's own catalog reads. */
  readonly principalKey: string;
  /** The legacy client session's id, when the client has one: its upstream session is kept per that id. */
  readonly clientSession: string | undefined;
}

export interface UpstreamRequest {
  readonly upstream: string;
  readonly method: string;
  /** Parameters as judged, without `_meta` of the hop: the sender adds what the upstream's era needs. */
  readonly params: JsonObject;
  readonly account: OnAccountOf;
  /** What `Mcp-Name` says on a modern hop (specification 2026-07-28, transport, "Standard headers"). */
  readonly name: string | undefined;
  /** The tool's own `inputSchema`, from which `Mcp-Param-*` headers are produced anew on a modern hop. */
  readonly inputSchema: JsonObject | undefined;
  readonly kind: ItemKind | undefined;
  /** Aborting ends the exchange; on a modern hop by closing, on a legacy hop with `notifications/cancelled`. */
  readonly signal: Cancellation;
  readonly timeoutMs: number;
  /**
   * Called with the parameters of every progress report on this exchange, its token taken out. Its presence
   * asks the upstream for reports, under a token of the exchange's own.
   */
  readonly onProgress?: ((report: JsonObject) => void) | undefined;
}

/** What came of it. Only `result` and `error` are what the upstream sent with the matching id. */
export type UpstreamAnswer =
  | { readonly kind: "result"; readonly result: JsonObject; readonly hop: Hop; readonly bytes: number }
  | { readonly kind: "error"; readonly error: RpcError; readonly hop: Hop }
  | {
      readonly kind: "failed";
      readonly outcome: "failed" | "unknown";
      readonly refusal: Refusal;
      readonly hop: Hop | undefined;
    };

export interface Hop {
  readonly era: Era;
  readonly revision: Revision;
}

/** What an upstream says of itself (`initialize` result or `server/discover` result). */
export interface UpstreamIdentity {
  readonly hop: Hop;
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
}

export interface Upstreams {
  request(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** The upstream's identity under this account: probes the era when no verdict is remembered. */
  identify(
    upstream: string,
    account: OnAccountOf,
    signal: Cancellation,
  ): Promise<
    { readonly ok: true; readonly value: UpstreamIdentity } | { readonly ok: false; readonly refusal: Refusal }
  >;
  /** Ends every upstream session kept for a client session (DELETE, expiry). Never rejects. */
  endSessions(tenant: string, clientSession: string): Promise<void>;
  close(): Promise<void>;
}
