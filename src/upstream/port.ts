import type { CallerToken } from "../model/caller-token.ts";
import type { Cancellation } from "../model/cancellation.ts";
import type { RecordReads, RecordWrites } from "../model/records.ts";
import type { ItemKind } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import type { Refusal } from "../model/refusal.ts";
import type { LogLevel } from "../model/log-level.ts";
import type { Principal } from "../model/principal.ts";
import type { Era, Revision } from "../model/revision.ts";
import type { RpcError } from "../model/rpc.ts";

/** What upstream sessions need of a store. */
export type UpstreamSessionRecords = RecordReads & Pick<RecordWrites, "set" | "replace" | "touch" | "delete">;

/** The `principalKey` of the gateway itself. No principal has it: theirs are JSON arrays. */
export const gatewayKey = "gateway";

/** On whose account an exchange runs: part of every pool, session and cache key. */
export interface OnAccountOf {
  readonly tenant: string;
  /** `Principal.key`, or `gatewayKey` for what the gateway reads and hears for its own catalog. */
  readonly principalKey: string;
  /** The legacy client session's id, when the client has one: its upstream session is kept per that id. */
  readonly clientSession: string | undefined;
  /** Who calls, for credentials that differ by caller; undefined for the gateway itself. */
  readonly caller: Caller | undefined;
}

export interface Caller {
  readonly principal: Principal;
  /** What the principal was read from; undefined where nobody came with one, or it is not to be kept for so long. */
  readonly token: CallerToken | undefined;
}

export interface UpstreamRequest {
  readonly upstream: string;
  readonly method: string;
  /** Parameters as judged, without `_meta` of the hop: the sender adds what the upstream's era needs. */
  readonly params: JsonObject;
  readonly account: OnAccountOf;
  /** Headers of the client's request that are to go on, names and values in turn, judged by the caller. */
  readonly forwarded?: readonly string[] | undefined;
  /** What `Mcp-Name` says on a modern hop (specification 2026-07-28, transport, "Standard headers"). */
  readonly name: string | undefined;
  /** The tool's own `inputSchema`, from which `Mcp-Param-*` headers are produced anew on a modern hop. */
  readonly inputSchema: JsonObject | undefined;
  readonly kind: ItemKind | undefined;
  /** Aborting ends the exchange; on a modern hop by closing, on a legacy hop with `notifications/cancelled`. */
  readonly signal: Cancellation;
  readonly timeoutMs: number;
  /**
   * Deadlines of this request in place of the upstream's own. Without `callMs` here, `timeoutMs` is cut to the
   * upstream's.
   */
  readonly deadlines?: Deadlines | undefined;
  /**
   * Called with the parameters of every progress report on this exchange, its token taken out. Its presence
   * asks the upstream for reports, under a token of the exchange's own.
   */
  readonly onProgress?: ((report: JsonObject) => void) | undefined;
  /**
   * What the client behind this exchange can do, as the gateway declares it for its own: with the request on a
   * modern hop, when the session of `account.clientSession` is opened on a legacy one. An account without a
   * client session declares nothing on a legacy hop, so the upstream asks nothing.
   */
  readonly clientCapabilities?: JsonObject | undefined;
  /** Log messages of this level and above are wanted (2025-11-25, logging; 2026-07-28, `_meta` `logLevel`). */
  readonly logLevel?: LogLevel | undefined;
  /** Called with the parameters of every log message on this exchange that `logLevel` asks for. */
  readonly onLog?: ((params: JsonObject) => void) | undefined;
  /** A request that a legacy upstream sends to the client while it works. Absent: answered as unsupported. */
  readonly onAsked?: AnswerAsked | undefined;
}

/** Milliseconds each. Progress and comments extend `idleMs`, and nothing extends `callMs`. */
export interface Deadlines {
  readonly callMs?: number | undefined;
  /** From the start of the exchange to the head of its answer. */
  readonly firstByteMs?: number | undefined;
  /** Longest silence inside an answer that has begun. */
  readonly idleMs?: number | undefined;
}

/** A request from an upstream to the client behind an exchange or a stream. Its id stays in this room. */
export interface Asked {
  readonly method: string;
  /** Without `_meta` of the hop. */
  readonly params: JsonObject;
  /** Aborted when the upstream cancels its request, or nobody waits for the answer any more. */
  readonly signal: Cancellation;
}

export type AskedAnswer = { readonly result: JsonObject } | { readonly error: RpcError };

/** Never rejects: whoever cannot ask says so in an error. */
export type AnswerAsked = (asked: Asked) => Promise<AskedAnswer>;

/** What a stream from an upstream is to bring. */
export interface Wanted {
  /** `list_changed` of tools, prompts and resources, as far as the upstream declares them. */
  readonly lists: boolean;
  /** URIs whose updates are wanted, as the upstream knows them. */
  readonly resources: readonly string[];
}

/** How far a stream that is kept open has come. */
export type WatchState =
  /** Nothing is known yet of the stream that brings what is wanted now. */
  | "opening"
  /** It brings all that is wanted. */
  | "standing"
  /** The upstream offers no stream, or none that could bring what is wanted: it is not asked again for long. */
  | "not-offered"
  /** There is no connection for it: those of the upstream are taken, or the principal's share of them is. It waits. */
  | "full"
  /** It failed, and is opened again after a pause. */
  | "lost";

export interface UpstreamWatch {
  readonly upstream: string;
  readonly account: OnAccountOf;
  readonly wanted: Wanted;
  readonly clientCapabilities?: JsonObject | undefined;
  readonly logLevel?: LogLevel | undefined;
  /** A notification of the stream, its subscription id taken out. */
  readonly onNotification: (method: string, params: JsonObject) => void;
  readonly onAsked?: AnswerAsked | undefined;
  /** Called whenever it is another than before. It begins as `opening`. */
  readonly onState?: ((state: WatchState) => void) | undefined;
  /** The stream stands again after it was lost; what changed in between was not seen. */
  readonly onReopened: () => void;
}

/** A stream from an upstream that is kept open, whatever happens to its connection, until `end`. */
export interface Watching {
  /** Changes what is wanted. */
  want(wanted: Wanted): void;
  end(): void;
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
  /**
   * Keeps a stream of notifications open: the session's GET stream on a legacy hop, `subscriptions/listen` on a
   * modern one. Reconnects with growing, jittered pauses; an upstream that offers no stream is asked once.
   */
  watch(watch: UpstreamWatch): Watching;
  /** Streams of `watch` that hold a connection now, by upstream. */
  openStreams(): ReadonlyMap<string, number>;
  /**
   * Ends every upstream session kept for the client session of an account (DELETE, expiry); does nothing for an
   * account without one. Never rejects.
   */
  endSessions(account: OnAccountOf): Promise<void>;
  close(): Promise<void>;
}
