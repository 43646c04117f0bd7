import type { AuditSink } from "./port.ts";

export interface SinkQueueOptions {
  readonly sink: AuditSink;
  readonly required: boolean;
  readonly queueMax: number;
  readonly batchMax: number;
  readonly writeTimeoutMs: number;
  readonly retryMs: number;
  /** Called at most once per `retryMs` with what was lost meanwhile: a log line for each would be a flood. */
  readonly onLoss: (sink: string, count: number) => void;
  /** The sink writes again and has missed `count` events since it last said so. */
  readonly onGap: (sink: string, count: number) => void;
}

/** One sink's bounded queue and the single writer that empties it. */
export interface SinkQueue {
  readonly required: boolean;
  /** Events that wait or are being written. */
  depth(): number;
  /** False while the last write failed or has taken too long. */
  healthy(): boolean;
  /** Takes events as lines; those for which the queue has no room count as lost. */
  offer(lines: readonly string[]): void;
  /** Counts an event as lost that was never offered. */
  miss(): void;
  /** Resolves true once `total` events since the start are written, false as soon as the sink fails. */
  written(total: number): Promise<boolean>;
  /** The same for all that waits now. */
  emptied(): Promise<boolean>;
  /** Waits for the queue at most `waitMs`, then closes the sink. What is left counts as lost. */
  close(waitMs: number): Promise<void>;
}

interface Waiter {
  readonly total: number;
  readonly settle: (written: boolean) => void;
}

export function createSinkQueue(options: SinkQueueOptions): SinkQueue {
  return new WritingQueue(options);
}

class WritingQueue implements SinkQueue {
  readonly required: boolean;
  readonly #options: SinkQueueOptions;
  readonly #lines: string[] = [];
  #waiters: Waiter[] = [];
  #writing = false;
  #retry: NodeJS.Timeout | undefined;
  #failing = false;
  #closed = false;
  #written = 0;
  /** Missed since the chain last told. */
  #missed = 0;
  /** Missed since `onLoss` was last called. */
  #uncounted = 0;
  #lossReport: NodeJS.Timeout | undefined;

  constructor(options: SinkQueueOptions) {
    this.#options = options;
    this.required = options.required;
  }

  depth(): number {
    return this.#lines.length;
  }

  healthy(): boolean {
    return !this.#failing;
  }

  offer(lines: readonly string[]): void {
    const room = this.#options.queueMax - this.#lines.length;
    this.#lines.push(...lines.slice(0, room));
    for (let lost = room; lost < lines.length; lost += 1) this.miss();
    this.#pump();
  }

  miss(): void {
    this.#missed += 1;
    this.#uncounted += 1;
    this.#lossReport ??= setTimeout(() => {
      this.#reportLoss();
    }, this.#options.retryMs).unref();
  }

  written(total: number): Promise<boolean> {
    if (this.#written >= total) return Promise.resolve(true);
    if (this.#failing || this.#closed) return Promise.resolve(false);
    return new Promise((settle) => this.#waiters.push({ total, settle }));
  }

  emptied(): Promise<boolean> {
    return this.written(this.#written + this.#lines.length);
  }

  async close(waitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const waited = new Promise<false>((settle) => {
      timer = setTimeout(settle, waitMs, false);
    });
    await Promise.race([this.emptied(), waited]);
    clearTimeout(timer);
    this.#closed = true;
    clearTimeout(this.#retry);
    this.#settleWaiters(false);
    this.#uncounted += this.#lines.length;
    this.#reportLoss();
    await this.#options.sink.close().catch(ignore);
  }

  #reportLoss(): void {
    clearTimeout(this.#lossReport);
    this.#lossReport = undefined;
    if (this.#uncounted > 0) this.#options.onLoss(this.#options.sink.name, this.#uncounted);
    this.#uncounted = 0;
  }

  #pump(): void {
    if (this.#writing || this.#closed || this.#retry !== undefined || this.#lines.length === 0) return;
    this.#writing = true;
    void this.#writeBatch(this.#lines.slice(0, this.#options.batchMax));
  }

  /**
   * Writes one batch; two writes never run at once, or they could change places. A write that is
   * overdue is therefore not repeated: the sink counts as failing until it settles.
   */
  async #writeBatch(batch: readonly string[]): Promise<void> {
    const { sink, writeTimeoutMs, retryMs } = this.#options;
    const overdue = setTimeout(() => {
      this.#fail();
    }, writeTimeoutMs);
    overdue.unref();
    try {
      await sink.write(batch);
      this.#succeed(batch.length);
    } catch {
      this.#fail();
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#pump();
      }, retryMs);
      this.#retry.unref();
    } finally {
      clearTimeout(overdue);
      this.#writing = false;
      this.#pump();
    }
  }

  #succeed(count: number): void {
    this.#lines.splice(0, count);
    this.#written += count;
    this.#failing = false;
    this.#settleWaiters(true);
    // Reported once there is room again, so that the report itself is not what overflows.
    if (this.#missed === 0 || this.#lines.length > this.#options.queueMax / 2) return;
    const missed = this.#missed;
    this.#missed = 0;
    this.#options.onGap(this.#options.sink.name, missed);
  }

  #fail(): void {
    this.#failing = true;
    this.#settleWaiters(false);
  }

  /** Settles everyone with false, or with true those whose events are written. */
  #settleWaiters(written: boolean): void {
    const waiters = this.#waiters;
    this.#waiters = written ? waiters.filter(({ total }) => total > this.#written) : [];
    for (const { total, settle } of waiters) {
      if (!written || total <= this.#written) settle(written);
    }
  }
}

function ignore(): void {
  // A sink that cannot close has nothing left to say; its events are counted already.
}
