import type { CatalogItem, UpstreamCatalog } from "../../../src/catalog/fetch-upstream.ts";
import { fetchUpstream } from "../../../src/catalog/fetch-upstream.ts";
import { heldToLock } from "../../../src/catalog/lock/held-snapshots.ts";
import { createLockKeeper } from "../../../src/catalog/lock/keeper.ts";
import type { Drift, LockKeeper, LockMode } from "../../../src/catalog/lock/keeper.ts";
import type { LockedUpstream, LockIdentity, Signature } from "../../../src/catalog/lock/document.ts";
import { compileLock } from "../../../src/catalog/lock/lock.ts";
import type { Lock } from "../../../src/catalog/lock/lock.ts";
import { liveOf } from "../../../src/catalog/lock/live.ts";
import { updateUpstream } from "../../../src/catalog/lock/update.ts";
import { writeDocument } from "../../../src/catalog/lock/write-document.ts";
import type { DefinitionSource } from "../../../src/catalog/port.ts";
import { createSnapshots } from "../../../src/catalog/snapshots.ts";
import type { Snapshot, Snapshots } from "../../../src/catalog/snapshots.ts";
import type { ItemKind } from "../../../src/model/item.ts";
import type { JsonObject } from "../../../src/model/json.ts";
import { limits } from "../../../src/model/limits.ts";
import { ok } from "../../../src/model/result.ts";
import { parseJsonText } from "../../../src/protocol/json/parse.ts";
import { cleanDefinition } from "../../../src/sanitize/clean-definition.ts";

export const identity: LockIdentity = { url: "https://crm.example.net/mcp", authorization: "none" };
export const signature: Signature = { by: "ada", reason: "Reviewed.", at: "2026-11-30T09:00:00Z" };

/** What an upstream lists, by kind. */
export interface Offer {
  readonly tool?: readonly JsonObject[];
  readonly prompt?: readonly JsonObject[];
  readonly resource?: readonly JsonObject[];
  readonly template?: readonly JsonObject[];
  readonly instructions?: string;
}

/** Definitions as they arrive: through the gateway's own parser. */
export function received<T>(value: T): T {
  const parsed = parseJsonText(JSON.stringify(value));
  if (!parsed.ok) throw new Error(parsed.refusal.code);
  return parsed.value as T;
}

function sourceOf(offer: () => Offer): DefinitionSource {
  return {
    identify: () => {
      const { instructions } = offer();
      return Promise.resolve(
        ok({
          era: "modern",
          capabilities: { tools: {}, prompts: {}, resources: {} },
          instructions,
          ownInstructions: instructions,
        }),
      );
    },
    page: ({ kind }: { kind: ItemKind }) =>
      Promise.resolve(ok({ definitions: offer()[kind] ?? [], nextCursor: undefined, bytes: 10 })),
  };
}

export async function readOffer(offer: Offer, upstream = "crm"): Promise<UpstreamCatalog> {
  const options = { source: sourceOf(() => offer), clean: cleanDefinition, bounds: limits };
  const read = await fetchUpstream(upstream, options, AbortSignal.timeout(1_000));
  if (!read.ok) throw new Error(read.refusal.code);
  return read.value;
}

/** The text of a lock that approves what these upstreams offer. */
export async function writtenLock(offers: Readonly<Record<string, Offer>>): Promise<string> {
  const upstreams = new Map<string, LockedUpstream>();
  for (const [name, offer] of Object.entries(offers)) {
    const { live } = liveOf(await readOffer(offer, name), identity);
    upstreams.set(name, updateUpstream(undefined, live, signature).upstream);
  }
  return writeDocument({ upstreams });
}

/** The same, with its JSON changed by hand. */
export async function lockText(
  offers: Readonly<Record<string, Offer>>,
  change: (document: JsonObject) => void = () => undefined,
): Promise<string> {
  const document = JSON.parse(await writtenLock(offers)) as JsonObject;
  change(document);
  return JSON.stringify(document);
}

export function compiled(text: string): Lock {
  const lock = compileLock(text);
  if (!lock.ok) throw new Error(JSON.stringify(lock.faults));
  return lock.lock;
}

export interface Bench {
  readonly clock: { now: number };
  /** What the upstream offers from its next reading on. */
  offer: Offer;
  lock: Lock | undefined;
  readonly keeper: LockKeeper;
  readonly snapshots: Snapshots;
  readonly drifts: Drift[];
  readonly quarantined: number[];
  /** Reads the lists anew, and returns what may be used of them. */
  read(): Promise<Snapshot>;
  /** The same without a reading. */
  current(): Snapshot;
}

export interface BenchOptions {
  readonly mode?: LockMode;
  readonly calmMs?: number;
  readonly identity?: LockIdentity;
}

/** One upstream, held to a lock, with a clock that stands still. */
export function bench(lock: Lock | undefined, offer: Offer, options: BenchOptions = {}): Bench {
  const { mode = "enforce", calmMs = 300_000 } = options;
  const [drifts, quarantined]: [Drift[], number[]] = [[], []];
  const clock = { now: 1_000_000 };
  const bounds = { ...limits, catalogDriftCalmMs: calmMs };
  const keeper = createLockKeeper({
    lock: () => at.lock,
    modeOf: () => mode,
    identityOf: () => options.identity ?? identity,
    now: () => clock.now,
    bounds,
    onDrift: (drift) => void drifts.push(drift),
    onJudged: (_upstream, items) => void quarantined.push(items),
  });
  const source = sourceOf(() => at.offer);
  const read = createSnapshots({
    read: (upstream, signal) => fetchUpstream(upstream, { source, clean: cleanDefinition, bounds }, signal),
    now: () => clock.now,
    bounds,
  });
  const snapshots = heldToLock(read, keeper);
  const current = (): Snapshot => {
    const snapshot = snapshots.current("crm");
    if (snapshot === undefined) throw new Error("nothing was read");
    return snapshot;
  };
  const at: Bench = {
    ...{ clock, offer, lock, keeper, snapshots, drifts, quarantined, current },
    read: async () => {
      clock.now += 1_000;
      await read.refresh("crm");
      return current();
    },
  };
  return at;
}

/** Names of items by whether they are withheld, and why. */
export function fates(snapshot: Snapshot): Record<string, string> {
  return Object.fromEntries(snapshot.items.map((item) => [item.name, fateOf(item)]));
}

function fateOf({ withheld }: CatalogItem): string {
  return withheld === undefined ? "served" : `${withheld.code} ${String(withheld.facts["reason"] ?? "")}`.trim();
}
