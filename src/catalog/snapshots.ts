import type { Result } from "../model/result.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import { canonicalJson } from "../protocol/json/canonical.ts";
import { definitionsOf, type CatalogItem, type UpstreamCatalog } from "./fetch-upstream.ts";
import { formerOf, type FormerBounds, type FormerDefinitions } from "./former.ts";
import { newlyNoticed } from "./noticed.ts";

/** What an upstream offers. The object is replaced only when its content changed, so identity tells change. */
export interface Snapshot extends UpstreamCatalog {
  readonly upstream: string;
  /** What the readings before it found instead. */
  readonly former?: FormerDefinitions | undefined;
}

export interface SnapshotBounds extends FormerBounds {
  /** Age in milliseconds up to which a snapshot is served without asking again. */
  readonly catalogAgeMsMax: number;
  /** Age up to which it is served while a new reading is under way or fails. */
  readonly catalogStaleMsMax: number;
  /** Longest reading. */
  readonly upstreamListTimeoutMs: number;
  /** Longest time one upstream without a snapshot delays a list that others can fill. */
  readonly catalogWaitMsMax: number;
  /** Time after a failed reading in which nobody asks again. */
  readonly catalogRetryMs: number;
}

export type ReadUpstream = (upstream: string, signal: AbortSignal) => Promise<Result<UpstreamCatalog>>;

/** What came of reading an upstream's lists. */
export interface Reading {
  readonly upstream: string;
  /** Why the lists were not had. */
  readonly refusal: Refusal | undefined;
  /** Items with findings that the reading before did not have. */
  readonly noticed: readonly CatalogItem[];
  /** What the upstream offers is not what the reading before found. */
  readonly changed: boolean;
  /** What was read; undefined for lists that were not had. */
  readonly snapshot: Snapshot | undefined;
}

export interface Snapshots {
  /** The snapshot that may be served now, or undefined; starts a reading when it is old or absent. */
  current(upstream: string): Snapshot | undefined;
  /** Waits for the reading under way until it is `catalogWaitMsMax` old: a hanging upstream delays nobody twice. */
  wait(upstream: string): Promise<Snapshot | Refusal>;
  /**
   * Reads the lists anew, however young they are, as the upstream says that they changed. Whoever asks for them
   * meanwhile waits for this reading, within `catalogWaitMsMax`. Resolves after a reading that began after the
   * call; at once in the pause after a failed one.
   */
  refresh(upstream: string): Promise<void>;
  /** Milliseconds since the lists were last read as they are; undefined for those that never were. */
  ageMs(upstream: string): number | undefined;
}

interface Slot {
  snapshot: Snapshot | undefined;
  fetchedAt: number;
  failure: { refusal: Refusal; at: number } | undefined;
  reading: Promise<void> | undefined;
  readingSince: number;
  /** The snapshot is known to be out of date, and its successor on its way. */
  doubted: boolean;
}

/**
 * One slot per upstream: single-flight reading, stale-while-revalidate within a stated age, and a
 * pause after a failure. The lists are read with the credential the gateway is configured with for
 * the upstream, so one slot serves every principal.
 */
export function createSnapshots(options: {
  read: ReadUpstream;
  now: () => number;
  bounds: SnapshotBounds;
  onReading?: (reading: Reading) => void;
}): Snapshots {
  const slots = new Map<string, Slot>();
  const slotOf = (upstream: string): Slot => {
    let slot = slots.get(upstream);
    if (slot === undefined) slots.set(upstream, (slot = emptySlot()));
    return slot;
  };
  const current = (upstream: string): Snapshot | undefined => {
    const slot = slotOf(upstream);
    if (options.now() - slot.fetchedAt > options.bounds.catalogAgeMsMax) startReading(upstream, slot);
    return slot.doubted ? undefined : usable(slot);
  };
  const usable = ({ fetchedAt, snapshot }: Slot): Snapshot | undefined =>
    options.now() - fetchedAt <= options.bounds.catalogStaleMsMax ? snapshot : undefined;
  const startReading = (upstream: string, slot: Slot): void => {
    if (slot.reading !== undefined) return;
    if (slot.failure !== undefined && options.now() - slot.failure.at < options.bounds.catalogRetryMs) return;
    slot.readingSince = options.now();
    slot.reading = readInto(upstream, slot, options).finally(() => {
      slot.reading = undefined;
      slot.doubted = false;
    });
  };
  const refresh = async (upstream: string): Promise<void> => {
    const slot = slotOf(upstream);
    // What is being read may have been written before the change.
    await slot.reading;
    startReading(upstream, slot);
    slot.doubted = slot.reading !== undefined;
    await slot.reading;
  };
  const wait = async (upstream: string): Promise<Snapshot | Refusal> => {
    const slot = slotOf(upstream);
    const left = slot.readingSince + options.bounds.catalogWaitMsMax - options.now();
    if (slot.reading !== undefined && left > 0) await withinMs(slot.reading, left);
    // A reading that takes long leaves what was known before, known to be old or not.
    return (
      current(upstream) ??
      usable(slot) ??
      slot.failure?.refusal ??
      refuse("UPSTREAM_TIMED_OUT", { upstream, during: "list" }).refusal
    );
  };
  const ageMs = (upstream: string): number | undefined => {
    const { snapshot, fetchedAt } = slotOf(upstream);
    return snapshot === undefined ? undefined : options.now() - fetchedAt;
  };
  return { current, wait, refresh, ageMs };
}

function emptySlot(): Slot {
  return {
    snapshot: undefined,
    fetchedAt: -Infinity,
    failure: undefined,
    reading: undefined,
    readingSince: 0,
    doubted: false,
  };
}

async function readInto(upstream: string, slot: Slot, options: Parameters<typeof createSnapshots>[0]): Promise<void> {
  const signal = AbortSignal.timeout(options.bounds.upstreamListTimeoutMs);
  const answer = await options
    .read(upstream, signal)
    .catch((cause: unknown) => refuse("INTERNAL_FAULT", { upstream }, { cause }));
  let noticed: readonly CatalogItem[] = [];
  let changed = false;
  if (answer.ok) {
    const read = { ...answer.value, upstream };
    noticed = newlyNoticed(slot.snapshot?.items ?? [], read.items);
    changed = slot.snapshot === undefined || !sameContent(slot.snapshot, read);
    if (changed) slot.snapshot = { ...read, former: formerBefore(slot, read, options) };
    slot.fetchedAt = options.now();
    slot.failure = undefined;
  } else {
    // What was read on an account that is not connected any more is not shown on.
    if (answer.refusal.code === "UPSTREAM_CONNECTION_REQUIRED") slot.snapshot = undefined;
    slot.failure = { refusal: answer.refusal, at: options.now() };
  }
  options.onReading?.({
    upstream,
    refusal: answer.ok ? undefined : answer.refusal,
    noticed,
    changed,
    snapshot: answer.ok ? slot.snapshot : undefined,
  });
}

function formerBefore(
  { snapshot, fetchedAt }: Slot,
  read: Snapshot,
  { now, bounds }: Parameters<typeof createSnapshots>[0],
): FormerDefinitions | undefined {
  if (snapshot === undefined) return undefined;
  return formerOf(snapshot, read.items, { seenAt: fetchedAt, now: now(), bounds });
}

function sameContent(one: Snapshot, other: Snapshot): boolean {
  return (
    one.items.length === other.items.length &&
    one.items.every((item, at) => sameItem(item, other.items[at])) &&
    one.self.era === other.self.era &&
    one.self.instructions === other.self.instructions &&
    one.self.ownInstructions === other.self.ownInstructions &&
    canonicalJson(one.self.capabilities) === canonicalJson(other.self.capabilities)
  );
}

/** An item that is listed twice is another one than under either of its definitions alone. */
function sameItem(one: CatalogItem, other: CatalogItem | undefined): boolean {
  if (one.kind !== other?.kind || one.withheld?.code !== other.withheld?.code) return false;
  const [mine, theirs] = [definitionsOf(one), definitionsOf(other)];
  return mine.length === theirs.length && mine.every(({ digest }, at) => digest === theirs[at]?.digest);
}

async function withinMs(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
