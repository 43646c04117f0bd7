import type { Evidence } from "../audit/port.ts";
import type { Authenticator } from "../auth/authenticate.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { LockKeeper } from "../catalog/lock/keeper.ts";
import type { DefinitionSource } from "../catalog/port.ts";
import type { Views } from "../catalog/views.ts";
import type { ItemIdentity } from "../model/item.ts";
import type { Courier } from "../model/courier.ts";
import type { LimitObligation } from "../model/obligations.ts";
import type { Outcome } from "../model/outcome.ts";
import type { Fact, RefusalCode } from "../model/refusal.ts";
import type { Limits } from "../model/limits.ts";
import type { Change } from "../policy/change.ts";
import type { Checkers } from "../schema/checker.ts";
import type { Sessions } from "../session/sessions.ts";
import type { OnAccountOf, Upstreams } from "../upstream/port.ts";
import type { ClientStreams } from "./streams/client-streams.ts";
import type { Asking } from "./asking/asking.ts";
import type { Connections } from "./connections/connections.ts";
import type { ItemDeadlines } from "./deadlines.ts";
import type { FileRoutes } from "./files/file-routes.ts";
import type { UseLimits } from "./limits/use-limits.ts";
import type { LinkBook } from "./link-book.ts";
import type { Sealing } from "./sealing.ts";
import type { CancelElsewhere } from "./cancel-elsewhere.ts";
import type { InForce } from "./policy-in-force.ts";
import type { UnderWay } from "./under-way.ts";
import type { TaskBook } from "./tasks/task-book.ts";
import type { AtWork } from "./at-work.ts";

/** A virtual server as the journey needs it. */
export interface VirtualServer {
  readonly name: string;
  readonly title: string;
  readonly instructions: string | undefined;
  /** The protected resource's identifier: `publicUrl` + `/{name}/mcp` (RFC 8707, RFC 9728). */
  readonly resource: string;
  readonly metadataUrl: string;
  readonly minimalScopes: readonly string[];
  /** Algorithms of DPoP proofs; absent: no issuer's tokens are taken with any. */
  readonly proofAlgorithms?: readonly string[] | undefined;
  /** What the advertised issuer wants before each scope. Default: nothing. */
  readonly scopePrefix?: string | undefined;
  /** Extensions that are declared across the gateway. */
  readonly extensions: readonly string[];
}

export type SchemaMode = "enforce" | "warn" | "off";

/** How one upstream's calls are treated. */
export interface UpstreamTreatment {
  readonly callTimeoutMs: number;
  /** Of single items; undefined for one that has none of its own. */
  readonly deadlines: (item: Pick<ItemIdentity, "kind" | "name">) => ItemDeadlines | undefined;
  readonly argumentSchemas: SchemaMode;
  readonly resultSchemas: SchemaMode;
  /** Whether a legacy client that loses its connection cancels its calls. */
  readonly disconnect: "cancel" | "continue";
  /** A request state of this upstream resumes one call, once. */
  readonly stateSingleUse: boolean;
  /** Lower-case names of headers that go on from clients to it. */
  readonly forwardHeaders: readonly string[];
}

/** What an exchange came to, for metrics. Labels come from configuration and closed lists alone. */
export interface ExchangeSample {
  readonly server: string;
  readonly column: string;
  readonly era: string;
  readonly outcome: Outcome;
  readonly code: RefusalCode | "none";
  readonly durationMs: number;
}

/** Everything a journey step may use. Made once by `compose.ts`. */
export interface Gateway {
  readonly info: { readonly name: string; readonly version: string };
  readonly allowedHosts: ReadonlySet<string>;
  readonly allowedOrigins: ReadonlySet<string>;
  readonly limits: Limits;
  readonly authenticate: Authenticator["authenticate"];
  /** The nonce that DPoP proofs carry from now on; absent: none are taken. */
  readonly proofNonce?: (() => string) | undefined;
  readonly sessions: Sessions;
  readonly courier: Courier;
  readonly sealing: Sealing;
  readonly underWay: UnderWay;
  readonly cancelElsewhere: CancelElsewhere;
  readonly catalog: Catalog;
  readonly views: Views;
  /** Where lists are read from on somebody's account. */
  readonly definitionsFor: (account: OnAccountOf) => DefinitionSource;
  readonly inForce: () => InForce;
  /** Whether the catalog lock in force approves an item as it is about to be used. */
  readonly verdictOn: LockKeeper["verdictOn"];
  readonly checkers: Checkers;
  /** False: hostile text in results is reported and delivered as it came. */
  readonly cleanResults: boolean;
  readonly upstreams: Upstreams;
  readonly treatments: ReadonlyMap<string, UpstreamTreatment>;
  /** Whoever stops waits for it. */
  readonly atWork: AtWork;
  readonly slots: CallSlots;
  /** Counts the uses that policy limits. */
  readonly uses: UseLimits;
  /** For what serves recovery. */
  readonly recoverySlots: CallSlots;
  /** Paths of upstreams that are fetched as files; links to them in results get their public address. */
  readonly files: FileRoutes;
  /** Resources that results named. */
  readonly links: LinkBook;
  readonly clientStreams: ClientStreams;
  readonly asking: Asking;
  readonly connections: Connections;
  readonly tasks: TaskBook;
  readonly evidence: Evidence;
  readonly auditRequired: boolean;
  readonly digest: (text: string) => { readonly digest: string; readonly key: string };
  readonly strangers: { note(code: RefusalCode, address: string): string };
  readonly ref: () => string;
  readonly now: () => number;
  readonly draining: () => boolean;
  readonly observe: (sample: ExchangeSample) => void;
  /** A use that policy limited. */
  readonly observeLimited: (sample: { readonly server: string; readonly kind: LimitObligation["kind"] }) => void;
  /** What became of a decision under the policies that are tried out. */
  readonly observeShadow: (change: Change) => void;
  /** One line of log about a refusal; the cause is scrubbed by the log. */
  readonly logRefusal: (facts: Readonly<Record<string, Fact>>, cause: unknown) => void;
}

/** Bounds what one principal has under way on this replica. */
export interface CallSlots {
  /** A function that frees the slot, or undefined when none is free. */
  take(principalKey: string): (() => void) | undefined;
}
