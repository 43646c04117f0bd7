import type { Item, ItemKind } from "../../model/item.ts";
import type { JsonObject } from "../../model/json.ts";
import type { Refusal } from "../../model/refusal.ts";
import { refuse } from "../../model/refusal.ts";
import { definitionsOf, type CatalogItem } from "../fetch-upstream.ts";
import { formerKey } from "../former.ts";
import type { Snapshot } from "../snapshots.ts";
import { isLockedKind, type LockIdentity } from "./document.ts";
import type { Lock, Verdict } from "./lock.ts";
import { asLockDigest, lockDigest } from "./lock-digest.ts";

/** How an upstream's definitions are held to the lock. */
export type LockMode = "off" | "observe" | "enforce";

/** Something that is offered and that nobody approved. */
export interface Drift {
  readonly upstream: string;
  readonly kind: ItemKind | "instructions";
  /** Empty for instructions. */
  readonly name: string;
  readonly mode: Exclude<LockMode, "off">;
  readonly reason: Exclude<Verdict, undefined>;
  /** `sha256:` and hex, as in the lock. */
  readonly found: string;
  readonly approved: readonly string[];
}

export interface KeeperOptions {
  /** The lock in force; undefined where none is kept. */
  readonly lock: () => Lock | undefined;
  readonly modeOf: (upstream: string) => LockMode;
  /** Of the upstream as it is configured. */
  readonly identityOf: (upstream: string) => LockIdentity;
  readonly now: () => number;
  readonly bounds: { readonly catalogDriftCalmMs: number };
  /** Told of every drift that a snapshot holds, whenever it is judged anew. */
  readonly onDrift: (drift: Drift) => void;
  /** Told how many items of a snapshot are withheld for it. */
  readonly onJudged: (upstream: string, quarantined: number) => void;
}

/** Holds what upstreams offer to what was approved. */
export interface LockKeeper {
  /**
   * The snapshot with whatever nobody approved withheld: the items, each by itself, and the instructions. The same
   * object as long as nothing of it changes, and for an upstream that is not held to the lock the one that was given.
   */
  readonly judged: (snapshot: Snapshot) => Snapshot;
  /** Whether the item, as it is about to be used, is approved now, or would be under another lock. */
  readonly verdictOn: (item: Item, under?: Lock) => { readonly mode: LockMode; readonly reason: Verdict };
}

interface Judged {
  readonly lock: Lock;
  readonly snapshot: Snapshot;
  /** Milliseconds since the epoch, from when on another judgement may come out. */
  readonly until: number;
}

/**
 * One item's drift costs the others nothing. An item whose list showed an unapproved definition is withheld for
 * `catalogDriftCalmMs` more, although the approved one is back: of an upstream whose replicas differ nobody knows
 * which of them a call meets, and it would come and go with every reading. Approving the other definition ends that at
 * once. One that was approved while it was shown, and is not any more, holds nothing up.
 */
export function createLockKeeper(options: KeeperOptions): LockKeeper {
  const known = new WeakMap<Snapshot, Judged>();
  const refused = new WeakSet<JsonObject>();
  return {
    judged: (snapshot) => {
      const lock = options.lock();
      const mode = options.modeOf(snapshot.upstream);
      if (lock === undefined || mode === "off") return snapshot;
      const found = known.get(snapshot);
      if (found?.lock === lock && options.now() < found.until) return found.snapshot;
      const fresh = judge(snapshot, { ...options, lock, mode, refused });
      known.set(snapshot, fresh);
      return fresh.snapshot;
    },
    verdictOn: (item, lock = options.lock()) => {
      const mode = options.modeOf(item.upstream);
      const reason = lock === undefined || mode === "off" ? undefined : verdict(item, lock, options);
      return { mode, reason };
    },
  };
}

interface Judging extends Omit<KeeperOptions, "lock"> {
  readonly lock: Lock;
  readonly mode: Exclude<LockMode, "off">;
  /** Definitions that were not approved when a list showed them. */
  readonly refused: WeakSet<JsonObject>;
}

function verdict(item: Item, lock: Lock, { identityOf }: Pick<KeeperOptions, "identityOf">): Verdict {
  if (!isLockedKind(item.kind)) return undefined;
  return isItself(item.upstream, lock, identityOf) ? lock.judge(item) : "identity";
}

/** An upstream that the lock does not have is no other than the one that was approved: all of it is new. */
function isItself(upstream: string, lock: Lock, identityOf: KeeperOptions["identityOf"]): boolean {
  const locked = lock.document.upstreams.get(upstream)?.identity;
  if (locked === undefined) return true;
  const { url, authorization } = identityOf(upstream);
  return locked.url === url && locked.authorization === authorization;
}

function judge(snapshot: Snapshot, judging: Judging): Judged {
  const { lock, mode, now } = judging;
  let until = Infinity;
  let quarantined = 0;
  const items = snapshot.items.map((item): CatalogItem => {
    const drift = driftsOf(item, judging).at(-1);
    const reason = drift?.reason;
    const holds = reason === undefined ? heldUntil(item, snapshot, judging) : Infinity;
    const isHeld = reason !== undefined || now() < holds;
    if (!isHeld || mode === "observe") return item;
    quarantined += 1;
    until = Math.min(until, holds);
    return { ...item, withheld: drifted(item, reason ?? "changed", drift?.found ?? asLockDigest(item.digest)) };
  });
  judging.onJudged(snapshot.upstream, quarantined);
  const self = { ...snapshot.self, instructions: judgedInstructions(snapshot, judging) };
  const isTouched = quarantined > 0 || self.instructions !== snapshot.self.instructions;
  return { lock, until, snapshot: isTouched ? { ...snapshot, self, items } : snapshot };
}

/** Until when an item whose definition is approved is withheld for another that its list showed lately. */
function heldUntil(item: CatalogItem, { former }: Snapshot, judging: Judging): number {
  const unapproved = (former?.get(formerKey(item)) ?? []).filter(
    ({ definition, digest }) =>
      judging.refused.has(definition) && verdict({ ...item, definition, digest }, judging.lock, judging) !== undefined,
  );
  return Math.max(-Infinity, ...unapproved.map(({ seenAt }) => seenAt + judging.bounds.catalogDriftCalmMs));
}

/** Tells of each definition of the item that is not approved, and remembers it. */
function driftsOf(item: CatalogItem, judging: Judging): readonly Drift[] {
  return definitionsOf(item).flatMap(({ definition, digest }) => {
    const offered = { ...item, definition, digest };
    const reason = verdict(offered, judging.lock, judging);
    if (reason === undefined) return [];
    judging.refused.add(definition);
    const drift = driftOf(offered, reason, judging);
    judging.onDrift(drift);
    return [drift];
  });
}

function driftOf(item: Item, reason: Exclude<Verdict, undefined>, { lock, mode }: Judging): Drift {
  const { upstream, kind, name, digest } = item;
  return {
    upstream,
    kind,
    name,
    mode,
    reason,
    found: asLockDigest(digest),
    approved: lock.approvedOf(upstream, kind, name),
  };
}

function drifted({ upstream, kind }: Item, reason: string, found: string): Refusal {
  return refuse("CATALOG_ITEM_DRIFTED", { upstream, kind, reason, found }).refusal;
}

/** Instructions that nobody approved are left out, not replaced: an upstream that sends others may work in another way. */
function judgedInstructions({ upstream, self }: Snapshot, judging: Judging): string | undefined {
  const { lock, mode } = judging;
  const text = self.ownInstructions;
  if (text === undefined) return self.instructions;
  const isApproved = isItself(upstream, lock, judging.identityOf) && lock.approvesInstructions(upstream, text);
  if (isApproved) return self.instructions;
  const approved = (lock.document.upstreams.get(upstream)?.instructions ?? []).map(({ digest }) => digest);
  const reason = approved.length === 0 ? "new" : "changed";
  judging.onDrift({ upstream, kind: "instructions", name: "", mode, reason, found: lockDigest(text), approved });
  return mode === "enforce" ? undefined : self.instructions;
}
