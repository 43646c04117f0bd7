import { limits } from "../model/limits.ts";
import { readOwn } from "../model/json.ts";
import type { ChainHead } from "./chain.ts";
import { genesisHash } from "./chain.ts";
import { readEvent } from "./read-event.ts";
import type { ReadEvent } from "./read-event.ts";

/** Recent events a repeated one is compared with: a batch that was written twice is at most this far back. */
const recentMax = 2 * limits.auditBatchEventsMax;
/** Replicas that one verification follows; each costs it the hashes of its recent events. */
const replicasMax = 1_000;

export interface ChainFault {
  /** Counted from 1, over the lines that were read. */
  readonly line: number;
  /**
   * - `torn`: no event (a crash within a line, or foreign text); `replica` is empty then.
   * - `changed`: the event is not what was hashed.
   * - `gap`: events are missing before this one.
   * - `relinked`: the number follows, but the event before is not the one this was chained to.
   * - `reordered`: the number was passed already, and this is no repetition.
   * - `unfollowed`: the line's replica is one more than a verification follows.
   */
  readonly kind: "torn" | "changed" | "gap" | "relinked" | "reordered" | "unfollowed";
  readonly replica: string;
  readonly seq: number;
  readonly expectedSeq: number;
}

export interface ReplicaReport {
  readonly replica: string;
  readonly events: number;
  /** Identical repetitions: batches whose first write was believed lost. No fault. */
  readonly repeated: number;
  /** Lines at which a chain starts anew at 1. One per start of the process, unless it resumed its chain. */
  readonly starts: readonly number[];
  /** Set when the first event read is not the first of a chain: older ones were trimmed or cut off. */
  readonly beginsLateAt: number | undefined;
  /** Events that the evidence itself reports as lost, by sink. */
  readonly lost: number;
  readonly head: ChainHead;
}

export interface ChainReport {
  readonly ok: boolean;
  readonly lines: number;
  readonly replicas: readonly ReplicaReport[];
  /** At most `limits.auditFaultsMax`; `faultCount` counts all. */
  readonly faults: readonly ChainFault[];
  readonly faultCount: number;
}

interface Trail {
  readonly report: { -readonly [Name in keyof ReplicaReport]: ReplicaReport[Name] } & { starts: number[] };
  /** Hashes of the newest events by number. */
  readonly recent: Map<number, string>;
}

/**
 * Checks the chains in a source of lines, one per replica, which may be interleaved. `ok` means: no
 * event between the first and the last of each replica was changed, removed, added or moved.
 *
 * It does not show that the newest events were cut off, that a whole replica is missing, or that all was
 * rewritten by somebody who recomputed every hash: compare `head` with a copy kept elsewhere.
 */
export async function verifyChain(source: AsyncIterable<string> | Iterable<string>): Promise<ChainReport> {
  const trails = new Map<string, Trail>();
  const faults: ChainFault[] = [];
  let lines = 0;
  let faultCount = 0;
  for await (const text of source) {
    lines += 1;
    for (const fault of judge(trails, readEvent(text), lines)) {
      faultCount += 1;
      if (faults.length < limits.auditFaultsMax) faults.push(fault);
    }
  }
  const replicas = [...trails.values()].map(({ report }) => report);
  return { ok: faultCount === 0, lines, replicas, faults, faultCount };
}

/** The last whole event of one replica: where its next run continues the chain. */
export async function chainHead(
  source: AsyncIterable<string> | Iterable<string>,
  replica: string,
): Promise<ChainHead | undefined> {
  let head: ChainHead | undefined;
  for await (const text of source) {
    const read = readEvent(text);
    if (read?.intact === true && read.replica === replica) head = { seq: read.seq, hash: read.hash };
  }
  return head;
}

function judge(trails: Map<string, Trail>, read: ReadEvent | undefined, line: number): ChainFault[] {
  if (read === undefined) return [{ line, kind: "torn", replica: "", seq: 0, expectedSeq: 0 }];
  const { replica, seq } = read;
  const trail = trails.get(replica) ?? beginTrail(read);
  const expectedSeq = trail.report.head.seq + 1;
  if (!trails.has(replica) && trails.size >= replicasMax)
    return [{ line, kind: "unfollowed", replica, seq, expectedSeq }];
  trails.set(replica, trail);
  if (read.intact && trail.recent.get(seq) === read.hash) {
    trail.report.repeated += 1;
    return [];
  }
  const kinds = [...(read.intact ? [] : (["changed"] as const)), ...linkFault(trail, read, line)];
  advance(trail, read, kinds.includes("reordered"));
  return kinds.map((kind) => ({ line, kind, replica, seq, expectedSeq }));
}

function beginTrail(read: ReadEvent): Trail {
  const late = read.prev !== genesisHash;
  const report = {
    replica: read.replica,
    events: 0,
    repeated: 0,
    starts: [],
    beginsLateAt: late ? read.seq : undefined,
    lost: 0,
    // A chain that begins late is taken at its word: nothing that was read contradicts it.
    head: late ? { seq: read.seq - 1, hash: read.prev } : { seq: 0, hash: genesisHash },
  };
  return { report, recent: new Map() };
}

function linkFault({ report, recent }: Trail, read: ReadEvent, line: number): ("gap" | "relinked" | "reordered")[] {
  if (read.seq === 1 && read.prev === genesisHash) {
    report.starts.push(line);
    recent.clear();
    return [];
  }
  const expected = report.head.seq + 1;
  if (read.seq > expected) return ["gap"];
  if (read.seq < expected) return ["reordered"];
  return read.prev === report.head.hash ? [] : ["relinked"];
}

function advance({ report, recent }: Trail, read: ReadEvent, reordered: boolean): void {
  report.events += 1;
  const lost = readOwn(readOwn(read.event, "loss"), "count");
  if (typeof lost === "number") report.lost += lost;
  recent.set(read.seq, read.hash);
  // The chain goes on from where it was: an event that moved back is one fault, not a fault in each that follows.
  if (!reordered) report.head = { seq: read.seq, hash: read.hash };
  if (recent.size > recentMax) {
    const [oldest] = recent.keys();
    if (oldest !== undefined) recent.delete(oldest);
  }
}
