import type { Shown } from "../auth/possession.ts";
import type { CallerToken } from "../model/caller-token.ts";
import { neverCancelled, type Cancellation } from "../model/cancellation.ts";
import type { Decision } from "../model/decision.ts";
import type { Finding } from "../model/finding.ts";
import type { Item } from "../model/item.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { LogLevel } from "../model/log-level.ts";
import { limits } from "../model/limits.ts";
import type { Obligations } from "../model/obligations.ts";
import type { Outcome } from "../model/outcome.ts";
import type { Principal } from "../model/principal.ts";
import type { Result } from "../model/result.ts";
import type { RpcError, RpcId } from "../model/rpc.ts";
import type { Classified, McpHeaders } from "../protocol/classify.ts";
import type { Session } from "../session/session-record.ts";
import type { Hop, OnAccountOf } from "../upstream/port.ts";
import type { Entry } from "../catalog/table.ts";
import type { View, WrittenText } from "../catalog/views.ts";
import type { VirtualServer } from "./gateway.ts";
import type { InForce } from "./policy-in-force.ts";
import type { Shadowed } from "./shadow.ts";
import type { CallUnderWay } from "./under-way.ts";
import type { TaskMatter } from "./tasks/task-matter.ts";

/** One HTTP request as the edge hands it over. The body is not read yet. */
export interface Arrival {
  readonly server: VirtualServer;
  readonly httpMethod: string;
  /** Lower-case names; repeated headers joined by `, ` (RFC 9110 §5.2). */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly mcp: McpHeaders;
  /** Every Authorization header received, so that a second one is seen. */
  readonly authorization: readonly string[];
  /** What shows, for tokens that are bound to it, that whoever sends the token holds it. */
  readonly shown: Shown;
  readonly address: string;
  /** Cancelled when the client's connection is gone. */
  readonly gone: Cancellation;
  readonly readBody: () => Promise<Result<Uint8Array>>;
  /** The answer's event stream, for messages before the answer; undefined for a client that takes none. */
  readonly stream: () => ClientStream | undefined;
  /**
   * The answer may take long: where the client takes a stream, one is opened after a while of silence, so that
   * comments keep the connection alive. Until then the answer can still be a plain one.
   */
  readonly expectWait: () => void;
  /** Opens the answer at once as a stream that stays open until one side ends it; undefined for a client that takes none. */
  readonly listen: () => ListeningStream | undefined;
}

/** A stream that is the whole answer. */
export interface ListeningStream {
  /** One JSON-RPC message. False when the client is gone or reads too slowly to take another. */
  send(message: string): boolean;
  /** A sign of life, so that no hop takes a silent stream for a dead one. */
  comment(): void;
}

/** Messages to the client while its request is under way. The first one settles that the answer is a stream. */
export interface ClientStream {
  /** One JSON-RPC message. False when it is dropped, as the client is gone or reads too slowly. */
  send(message: string): boolean;
}

/** What the caller asked for, and the entry that this principal's view has under that name. */
export interface Target {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  readonly asked: string;
  readonly entry: Entry | undefined;
  /** The item's name where uses are counted, if another: one file has as many URLs as its upstream ignores queries. */
  readonly countedAs?: string;
}

/**
 * One exchange on its way through the journey. Every field exists from the start; each step fills in
 * its own, named in the step's file.
 */
export interface Exchange {
  readonly arrival: Arrival;
  /** Leads from what the caller was told to the audit event. */
  ref: string;
  readonly startedAt: number;
  principal: Principal | undefined;
  /** What the principal was read from, for an upstream whose credential is exchanged for it. */
  callerToken: CallerToken | undefined;
  body: Json | undefined;
  batch: readonly Json[] | undefined;
  classified: Classified | undefined;
  session: Session | undefined;
  view: View | undefined;
  target: Target | undefined;
  /** The one item that the name would have meant, had the principal seen it: for evidence alone. */
  hidden: Item | undefined;
  args: JsonObject | undefined;
  /** The arguments as evidence knows them: keyed digest, its key's id, and their size. Set by whoever records first. */
  argumentsNoted: { readonly digest: string; readonly key: string; readonly bytes: number } | undefined;
  /** What the exchange is judged by; set by `inForceOf` alone. */
  inForce: InForce | undefined;
  decision: Decision | undefined;
  /** What policy lays upon the use of an item that it allows. */
  obligations: Obligations | undefined;
  shadowed: Shadowed | undefined;
  /** The arguments that the decision read, and those that obligations name, as evidence keeps them. Set by whoever records first. */
  fieldsRead: JsonObject | undefined;
  /** What a modern client resumes a call with: its answers, and the state of the upstream as the upstream gave it. */
  input: { readonly responses: JsonObject | undefined; readonly state: string | undefined } | undefined;
  /** The client comes back as the person agreed to connect the upstream. */
  connecting: boolean;
  release: (() => void) | undefined;
  /** Least severity of log messages that the client wants to be told of during this call; undefined: it did not say. */
  logLevel: LogLevel | undefined;
  /** Aborted when nobody waits for the call any more: it was cancelled, or the client left where leaving cancels. */
  cancellation: Cancellation;
  /** A legacy session's call, so that its client can cancel it. */
  underWay: CallUnderWay | undefined;
  account: OnAccountOf | undefined;
  hop: Hop | undefined;
  upstreamMs: number | undefined;
  /** What will be delivered: a result, an upstream's own error, or a text written beforehand. */
  result: JsonObject | undefined;
  error: RpcError | undefined;
  resultText: (Pick<WrittenText, "text"> & Partial<WrittenText>) | undefined;
  resultBytes: number | undefined;
  /** The result is no result of the method: it asks the client to come back with input (2026-07-28, MRTR). */
  asksInput: boolean;
  /** What the exchange has to do with a task. */
  task: TaskMatter | undefined;
  listed: { readonly shown: number; readonly known: number; readonly staleMs?: number } | undefined;
  outcome: Outcome;
  findings: Finding[];
  readonly headers: Record<string, string>;
}

export function beginExchange(arrival: Arrival, ref: string, startedAt: number): Exchange {
  return {
    arrival,
    ref,
    startedAt,
    principal: undefined,
    callerToken: undefined,
    body: undefined,
    batch: undefined,
    classified: undefined,
    session: undefined,
    view: undefined,
    target: undefined,
    hidden: undefined,
    args: undefined,
    argumentsNoted: undefined,
    inForce: undefined,
    decision: undefined,
    obligations: undefined,
    shadowed: undefined,
    fieldsRead: undefined,
    input: undefined,
    connecting: false,
    release: undefined,
    logLevel: undefined,
    cancellation: neverCancelled,
    underWay: undefined,
    account: undefined,
    hop: undefined,
    upstreamMs: undefined,
    result: undefined,
    error: undefined,
    resultText: undefined,
    resultBytes: undefined,
    asksInput: false,
    task: undefined,
    listed: undefined,
    outcome: "returned",
    findings: [],
    headers: {},
  };
}

/** Notes what was found in what an upstream sent, as far as evidence keeps it. */
export function noteFindings(x: Exchange, found: readonly Finding[]): void {
  const room = limits.findingsPerExchangeMax - x.findings.length;
  if (room > 0) x.findings.push(...found.slice(0, room));
}

/** A journey step's field that must be there by now; its absence is our bug, not the caller's. */
export function given<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`the journey reached a step without ${what}`);
  return value;
}

/** The parameters of the exchange's message; an absent object reads as an empty one. */
export function paramsOf(x: Exchange): JsonObject {
  const message = x.classified?.message;
  return message !== undefined && "params" in message ? (message.params ?? {}) : {};
}

export function methodOf(x: Exchange): string {
  const message = x.classified?.message;
  return message !== undefined && "method" in message ? message.method : "response";
}

export function requestIdOf(x: Exchange): RpcId | undefined {
  const message = x.classified?.message;
  return message?.kind === "request" ? message.id : undefined;
}

/** Era and kind, as the journey names its columns. */
export function columnOf(x: Exchange): string {
  return x.classified === undefined ? "unclassified" : `${x.classified.era} ${x.classified.column}`;
}
