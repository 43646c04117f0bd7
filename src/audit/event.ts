import type { ClientFeature } from "../model/client-feature.ts";
import type { Decision } from "../model/decision.ts";
import type { Finding } from "../model/finding.ts";
import type { ItemKind } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import type { Outcome } from "../model/outcome.ts";
import type { RefusalCode, Fact } from "../model/refusal.ts";

/**
 * What became of a request to the client. Never put before it: `denied` by policy, `unsupported` by the client,
 * `malformed`, `undeliverable` for want of a stream, a place to wait or the store. Put before it: `answered` (of
 * elicitation: `accepted`, `declined`, `cancelled`), `failed` with the client's own error, `unfit` where the answer was
 * none, `timed-out`, `withdrawn` when nobody waited any more. `offered`: the client may come back with the answer.
 * `unasked`: the client came with an answer to what it was not asked, which went no further.
 */
export type AskedOutcome =
  | "denied"
  | "unsupported"
  | "malformed"
  | "undeliverable"
  | "answered"
  | "accepted"
  | "declined"
  | "cancelled"
  | "failed"
  | "unfit"
  | "timed-out"
  | "withdrawn"
  | "offered"
  | "unasked";

/** One fact. Structure, never content: no tokens, no bodies, no upstream text. */
export interface AuditEvent {
  readonly v: 1;
  readonly seq: number;
  /** ISO 8601, milliseconds, UTC. */
  readonly at: string;
  readonly replica: string;
  /** Hash of the event before this one in the replica's chain, and of this one (SHA-256, hex). */
  readonly prev: string;
  readonly hash: string;
  readonly digests: { readonly configuration: string; readonly policy: string; readonly lock: string };
  readonly type:
    | "listed"
    | "denied"
    | "attempted"
    | "returned"
    | "failed"
    | "refused"
    | "unknown"
    | "session"
    | "asked"
    | "noticed"
    | "drifted"
    | "strangers"
    | "administration"
    | "credential";
  /** Short reference a caller may quote; `sallyport why REF` finds every event that carries it. */
  readonly ref: string;
  /** Empty for what concerns the gateway as a whole: strangers, lost evidence. */
  readonly tenant: string;
  readonly principal?: {
    readonly issuer: string;
    readonly kind: "human" | "service";
    readonly subject: string;
    readonly clientId: string;
    readonly groups: readonly string[];
    readonly scopes: readonly string[];
  };
  readonly server?: string;
  /** The presentation under which the principal sees the server; absent: none applies. */
  readonly presentation?: string;
  readonly method?: string;
  readonly exposedName?: string;
  readonly item?: {
    readonly upstream: string;
    readonly kind: ItemKind;
    readonly name: string;
    readonly digest: string;
  };
  readonly client?: { readonly era: "legacy" | "modern"; readonly revision: string };
  readonly upstreamHop?: { readonly era: "legacy" | "modern"; readonly revision: string };
  readonly decision?: Decision;
  /** Ids of the `constrain` rules that applied, to the use or to the item's shape. */
  readonly constrained?: readonly string[];
  /** How policies that are tried out would have decided, where that differs. Of a list: how many items would come and go. */
  readonly shadow?: {
    readonly policy: string;
    readonly change: "gain" | "lose" | "changed";
    readonly effect?: Decision["effect"];
    readonly rule?: string;
    readonly gained?: number;
    readonly lost?: number;
  };
  readonly outcome?: Outcome;
  readonly refusal?: { readonly code: RefusalCode; readonly facts: Readonly<Record<string, Fact>> };
  /** Keyed digests (HMAC-SHA-256, hex) with the key's id, and sizes in bytes. */
  readonly argumentsDigest?: string;
  readonly resultDigest?: string;
  readonly digestKey?: string;
  readonly argumentsBytes?: number;
  readonly resultBytes?: number;
  readonly durationMs?: number;
  readonly upstreamMs?: number;
  readonly findings?: readonly Finding[];
  /** The argument fields that policy read, by JSON pointer. */
  readonly read?: JsonObject;
  /**
   * Which of the principal's claims the rules in force read, and those of them that it holds; one that is too long as
   * `{ digest }`. Absent where rules read none.
   */
  readonly claims?: { readonly named: readonly string[]; readonly held: JsonObject };
  /**
   * For `listed`: how many items were shown, of how many; `staleMs`: the age of the oldest list behind them, where that
   * is older than lists are used without asking again.
   */
  readonly listed?: { readonly shown: number; readonly known: number; readonly staleMs?: number };
  /** For `asked`: what an upstream, or the gateway for it, asked of the client behind the event's exchange, and what became of that. */
  readonly asked?: {
    readonly feature: ClientFeature | "unknown";
    readonly outcome: AskedOutcome;
    readonly upstream: string;
    /** Present where the gateway itself asked: that its person connects the upstream. */
    readonly by?: "gateway";
  };
  /**
   * For `drifted`: an upstream offers something under a definition that the catalog lock does not approve. `item` names
   * it; of instructions there is no item. Digests are `sha256:` and hex, as in the lock.
   */
  readonly drift?: {
    readonly upstream: string;
    readonly kind: ItemKind | "instructions";
    readonly mode: "observe" | "enforce";
    readonly reason: "changed" | "new" | "removed" | "identity";
    readonly found: string;
    readonly approved: readonly string[];
  };
  /** For `strangers`: refusals before authentication, per code, address prefix and minute. */
  readonly strangers?: { readonly addressPrefix: string; readonly count: number };
  /** For `administration`: whom a command let in no more, or again. */
  readonly access?: { readonly did: "denied" | "admitted"; readonly issuer: string; readonly subject: string };
  /** For `administration`: a command made or revoked the headless token of this id. */
  readonly token?: { readonly did: "created" | "revoked"; readonly id: string; readonly service: string };
  /**
   * For `credential`: what became of somebody's grant at an upstream. `server` is the authorization server that gave it,
   * `clientId` the client of the gateway that was admitted to it.
   */
  readonly grant?: {
    readonly did: "connected" | "opened" | "revoked" | "lost" | "assigned";
    readonly issuer: string;
    readonly subject: string;
    readonly upstream: string;
    readonly server: string;
    readonly scopes: readonly string[];
    readonly clientId?: string;
    readonly reason?: string;
  };
  /** For `administration`: an upstream names other authorization servers than the one that its grants are from. */
  readonly quarantine?: { readonly upstream: string; readonly known: string; readonly found: readonly string[] };
  /**
   * For `administration`: policies and lock were read, and what came of it. `restored`: they were broken at a start, and
   * what was in force before serves. The event's `digests` are of what is in force after it.
   */
  readonly bundle?: {
    readonly because: "start" | "change" | "signal";
    readonly did: "replaced" | "refused" | "restored";
    readonly before?: AuditEvent["digests"];
    readonly faults: number;
  };
  /** For `administration`: a sink has missed this many events since it last reported. */
  readonly loss?: { readonly sink: string; readonly count: number };
  /** Members left out because the event would have exceeded `auditEventBytesMax`. */
  readonly shortened?: readonly string[];
}
