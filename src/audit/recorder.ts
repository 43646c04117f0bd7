import { randomBytes } from "node:crypto";
import { limits } from "../model/limits.ts";
import { createChain } from "./chain.ts";
import type { ChainHead, StampedDraft } from "./chain.ts";
import type { AuditEvent } from "./event.ts";
import type { AuditDraft, AuditSink, Evidence } from "./port.ts";
import { createRef } from "./ref.ts";
import { createSinkQueue } from "./sink-queue.ts";
import type { SinkQueue } from "./sink-queue.ts";

export interface EvidenceOptions {
  readonly sinks: readonly { readonly sink: AuditSink; readonly required: boolean }[];
  /** Names the chain. Two processes never use one name at a time. */
  readonly replica: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Digests of what is in force now; asked for every event, so it returns what is computed at load. */
  readonly digests: () => AuditEvent["digests"];
  /** Called with the number of events that a sink has lost, at most once per `retryMs` and sink. */
  readonly onLoss: (sink: string, count: number) => void;
  /** Continues the chain of an earlier run of this replica (`chainHead`). */
  readonly resume?: ChainHead;
  /** Default `limits.auditQueueMax` and so on. */
  readonly queueMax?: number;
  readonly flushMs?: number;
  readonly batchMax?: number;
  readonly writeTimeoutMs?: number;
  readonly retryMs?: number;
  readonly eventBytesMax?: number;
}

export interface Recorder extends Evidence {
  /** Events that the fullest sink has still to write. */
  depth(): number;
}

/**
 * Records evidence. `record` stamps and queues; sequence numbers, hashes and lines are made in batches,
 * at the latest after `flushMs`, and one writer per sink carries them out in order.
 *
 * - A *required* sink that is full or failing makes `record` and `settled` answer false. An event for
 *   which such a sink has no room enters the chain of no sink. One that is recorded while a sink fails
 *   waits in its queue, and is written when the sink recovers although `record` answered false.
 * - A *best-effort* sink that is full loses events, which shows as a gap in its copy of the chain.
 * - Every loss is counted through `onLoss`, and reported in an event of its own once the sink writes
 *   again.
 *
 * This does not look for secrets in what it is given: an event's type has no room for content.
 */
export function createEvidence(options: EvidenceOptions): Recorder {
  return new BatchingRecorder(options);
}

class BatchingRecorder implements Recorder {
  readonly #options: EvidenceOptions;
  readonly #chain: ReturnType<typeof createChain>;
  readonly #queues: readonly SinkQueue[];
  readonly #required: readonly SinkQueue[];
  readonly #queueMax: number;
  readonly #batchMax: number;
  readonly #flushMs: number;
  readonly #newRef = createRef(randomBytes);
  #pending: StampedDraft[] = [];
  /** Events accepted since the start: what a required sink has written when all of them are. */
  #accepted = 0;
  readonly #flushNow = (): void => {
    this.#flush();
  };
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  /** Those who wait for the next flush, all by one promise. */
  #group: Promise<boolean> | undefined;
  #settleGroup: ((written: Promise<boolean>) => void) | undefined;
  #closed = false;

  constructor(options: EvidenceOptions) {
    const { replica, resume, eventBytesMax = limits.auditEventBytesMax } = options;
    this.#options = options;
    this.#queueMax = options.queueMax ?? limits.auditQueueMax;
    this.#batchMax = options.batchMax ?? limits.auditBatchEventsMax;
    this.#flushMs = options.flushMs ?? limits.auditFlushMs;
    this.#chain = createChain({ replica, resume, eventBytesMax });
    this.#queues = options.sinks.map((target) => this.#queueFor(target));
    this.#required = this.#queues.filter((queue) => queue.required);
  }

  record(draft: AuditDraft, digests = this.#options.digests()): boolean {
    if (this.#closed) return false;
    const full = this.#required.filter((queue) => queue.depth() + this.#pending.length >= this.#queueMax);
    if (full.length > 0) {
      for (const queue of full) queue.miss();
      return false;
    }
    this.#pending.push({ draft, at: this.#options.now(), digests });
    this.#accepted += 1;
    if (this.#pending.length >= this.#batchMax) this.#flush();
    else this.#timer ??= setTimeout(this.#flushNow, this.#flushMs);
    return this.#required.every((queue) => queue.healthy());
  }

  settled(): Promise<boolean> {
    if (this.#required.length === 0) return Promise.resolve(true);
    if (this.#pending.length === 0) return this.#written();
    this.#group ??= new Promise((settle) => {
      this.#settleGroup = settle;
      // Calls that wait in the same turn of the loop share one write, and one promise.
      this.#soon = setImmediate(this.#flushNow);
    });
    return this.#group;
  }

  async settledEverywhere(): Promise<boolean> {
    this.#flush();
    // One that is full may have had no room for what was just flushed.
    if (this.#queues.length === 0 || this.#queues.some((queue) => queue.depth() >= this.#queueMax)) return false;
    const written = await Promise.all(this.#queues.map((queue) => queue.emptied()));
    return written.every(Boolean);
  }

  /** True once everything accepted so far is written to every required sink. */
  #written(): Promise<boolean> {
    const [queue, ...others] = this.#required;
    if (queue !== undefined && others.length === 0) return queue.written(this.#accepted);
    const written = this.#required.map((required) => required.written(this.#accepted));
    return Promise.all(written).then((all) => all.every(Boolean));
  }

  depth(): number {
    return this.#pending.length + Math.max(0, ...this.#queues.map((queue) => queue.depth()));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#flush();
    const waitMs = this.#options.writeTimeoutMs ?? limits.auditWriteTimeoutMs;
    await Promise.all(this.#queues.map((queue) => queue.close(waitMs)));
  }

  #flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    this.#timer = undefined;
    this.#soon = undefined;
    const pending = this.#pending;
    this.#pending = [];
    const lines = pending.map((stamped) => this.#chain.seal(stamped));
    for (const queue of this.#queues) queue.offer(lines);
    this.#settleGroup?.(this.#written());
    this.#settleGroup = undefined;
    this.#group = undefined;
  }

  #queueFor({ sink, required }: EvidenceOptions["sinks"][number]): SinkQueue {
    const { onLoss, writeTimeoutMs = limits.auditWriteTimeoutMs, retryMs = limits.auditRetryMs } = this.#options;
    return createSinkQueue({
      sink,
      required,
      queueMax: this.#queueMax,
      batchMax: this.#batchMax,
      writeTimeoutMs,
      retryMs,
      onLoss,
      onGap: (name, count) => {
        this.record({ type: "administration", ref: this.#newRef(), tenant: "", loss: { sink: name, count } });
      },
    });
  }
}
