import type { AuditEvent } from "../../src/audit/event.ts";
import type { AuditDraft, AuditSink } from "../../src/audit/port.ts";
import { createEvidence } from "../../src/audit/recorder.ts";
import type { EvidenceOptions, Recorder } from "../../src/audit/recorder.ts";

/** A sink that does as it is told. */
export interface ScriptedSink extends AuditSink {
  readonly written: AuditEvent[];
  readonly lines: string[];
  /** Sizes of the batches, failed ones included. */
  readonly batches: number[];
  closed: boolean;
  /** What a write does from now on: succeed, reject, or wait for `release`. */
  behave(how: "write" | "reject" | "hang"): void;
  /** Lets the writes that hang succeed. */
  release(): void;
}

export function scriptedSink(name = "scripted"): ScriptedSink {
  let how: "write" | "reject" | "hang" = "write";
  const hanging: (() => void)[] = [];
  const sink: ScriptedSink = {
    name,
    written: [],
    lines: [],
    batches: [],
    closed: false,
    behave: (next) => {
      how = next;
    },
    release: () => {
      for (const resume of hanging.splice(0)) resume();
    },
    write: async (lines) => {
      sink.batches.push(lines.length);
      if (how === "reject") throw new Error("the disk is gone");
      if (how === "hang") await new Promise<void>((resume) => hanging.push(resume));
      sink.lines.push(...lines);
      sink.written.push(...lines.map((line) => JSON.parse(line) as AuditEvent));
    },
    close: () => {
      sink.closed = true;
      return Promise.resolve();
    },
  };
  return sink;
}

export const digests: AuditEvent["digests"] = { configuration: "c0", policy: "p0", lock: "l0" };

export function draft(n: number, more: Partial<AuditDraft> = {}): AuditDraft {
  return { type: "attempted", ref: `REF${String(n).padStart(7, "0")}`, tenant: "acme", method: "tools/call", ...more };
}

export function recorderOn(
  sinks: EvidenceOptions["sinks"],
  more: Partial<EvidenceOptions> = {},
): { recorder: Recorder; lost: Map<string, number> } {
  const lost = new Map<string, number>();
  const recorder = createEvidence({
    sinks,
    replica: "replica-1",
    now: () => Date.UTC(2026, 10, 29, 12),
    digests: () => digests,
    onLoss: (sink, count) => lost.set(sink, (lost.get(sink) ?? 0) + count),
    flushMs: 1,
    retryMs: 1,
    ...more,
  });
  return { recorder, lost };
}

/** Lines of a chain with `count` events, as a sink would write them. */
export async function chainOf(count: number, more: Partial<EvidenceOptions> = {}): Promise<string[]> {
  const sink = scriptedSink();
  const { recorder } = recorderOn([{ sink, required: true }], more);
  for (let n = 1; n <= count; n += 1) recorder.record(draft(n));
  await recorder.close();
  return sink.lines;
}

/** Waits until a condition holds; the test's own time limit is the bound. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resume) => setTimeout(resume, 2));
}
