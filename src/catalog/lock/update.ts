import type { JsonObject } from "../../model/json.ts";
import { approves } from "./approves.ts";
import { compareDefinitions } from "./compare-definitions.ts";
import { difference, type Difference } from "./difference.ts";
import {
  byKind,
  emptyUpstream,
  lockedKinds,
  type Approval,
  type ByKind,
  type InstructionsApproval,
  type LockedItem,
  type LockedKind,
  type LockedUpstream,
  type LockIdentity,
  type Signature,
  type Tombstone,
} from "./document.ts";
import { lockDigest } from "./lock-digest.ts";

/** What an upstream offers now, as far as the lock pins it. */
export interface LiveUpstream {
  readonly identity: LockIdentity;
  /** Cut to `instructionsCharsMax`; undefined: it sends none. */
  readonly instructions: string | undefined;
  readonly definitions: ByKind<JsonObject>;
}

/** What is not as the lock has it. */
export interface LockChange {
  readonly kind: LockedKind | "instructions" | "identity";
  readonly name: string;
  /** `restored`: it was removed, and is back as it was; `returned`: it is back and not as it was. */
  readonly did: "added" | "changed" | "removed" | "restored" | "returned";
  readonly digest: string | undefined;
  readonly differences: readonly Difference[];
}

/** An upstream of the lock, and what had to change for it. */
export interface Updated {
  readonly upstream: LockedUpstream;
  readonly changes: readonly LockChange[];
}

/**
 * The upstream's part of the lock as it would approve what is offered now. What is approved already keeps its
 * approvals, all of them; a definition that is not is approved in the place of the others; an item that is not offered
 * any more leaves a tombstone. Without changes the lock approves exactly what is offered.
 */
export function updateUpstream(known: LockedUpstream | undefined, live: LiveUpstream, signature: Signature): Updated {
  const before = known ?? emptyUpstream(live.identity);
  const changes: LockChange[] = [...identityChange(before.identity, live.identity)];
  const perKind = byKindOf((kind) => updateKind(kind, before, { live: live.definitions[kind], signature }));
  for (const kind of lockedKinds) changes.push(...perKind[kind].changes);
  const instructions = updateInstructions(before.instructions, live.instructions, signature);
  changes.push(...instructions.changes);
  const upstream = {
    identity: live.identity,
    perUser: before.perUser,
    instructions: instructions.approved,
    items: byKind((kind) => perKind[kind].items),
    removed: byKind((kind) => perKind[kind].removed),
  };
  return { upstream, changes };
}

function byKindOf<T>(of: (kind: LockedKind) => T): Readonly<Record<LockedKind, T>> {
  return { tool: of("tool"), prompt: of("prompt"), template: of("template") };
}

function identityChange(before: LockIdentity, after: LockIdentity): readonly LockChange[] {
  const told = (["url", "authorization"] as const)
    .filter((key) => before[key] !== after[key])
    .map((key) => difference(`/${key}`, `${key} changed`, { before: before[key], after: after[key] }));
  if (told.length === 0) return [];
  return [{ kind: "identity", name: "", did: "changed", digest: undefined, differences: told }];
}

interface UpdatedKind {
  readonly items: ReadonlyMap<string, LockedItem>;
  readonly removed: ReadonlyMap<string, Tombstone>;
  readonly changes: readonly LockChange[];
}

function updateKind(
  kind: LockedKind,
  known: LockedUpstream,
  { live, signature }: { live: ReadonlyMap<string, JsonObject>; signature: Signature },
): UpdatedKind {
  const items = new Map<string, LockedItem>();
  const removed = new Map(known.removed[kind]);
  const changes: LockChange[] = [];
  for (const [name, definition] of live) {
    const item = known.items[kind].get(name);
    const digest = lockDigest(definition);
    if (item !== undefined && approves(kind, item, known.perUser, { definition, digest })) {
      items.set(name, item);
      continue;
    }
    const approval = { ...signature, digest, definition };
    items.set(name, { perUser: item?.perUser, approved: [approval] });
    changes.push(changeOf({ kind, name, item, approval, stone: removed.get(name) }));
    removed.delete(name);
  }
  for (const [name, item] of known.items[kind]) {
    if (live.has(name)) continue;
    removed.set(name, { at: signature.at, digests: item.approved.map(({ digest }) => digest) });
    changes.push({ kind, name, did: "removed", digest: item.approved.at(-1)?.digest, differences: [] });
  }
  return { items, removed, changes };
}

function changeOf(of: {
  readonly kind: LockedKind;
  readonly name: string;
  readonly item: LockedItem | undefined;
  readonly approval: Approval;
  readonly stone: Tombstone | undefined;
}): LockChange {
  const { kind, name, item, approval, stone } = of;
  const { digest, definition } = approval;
  const last = item?.approved.at(-1)?.definition;
  if (last !== undefined)
    return { kind, name, digest, did: "changed", differences: compareDefinitions(kind, last, definition) };
  const back = stone?.digests.includes(digest) === true ? "restored" : "returned";
  const whole = difference("", "definition", { before: undefined, after: definition });
  return { kind, name, digest, did: stone === undefined ? "added" : back, differences: [whole] };
}

function updateInstructions(
  approved: readonly InstructionsApproval[],
  text: string | undefined,
  signature: Signature,
): { readonly approved: readonly InstructionsApproval[]; readonly changes: readonly LockChange[] } {
  const last = approved.at(-1);
  if (text === undefined) {
    const gone = { kind: "instructions", name: "", did: "removed", digest: last?.digest, differences: [] } as const;
    return { approved: [], changes: last === undefined ? [] : [gone] };
  }
  const digest = lockDigest(text);
  if (approved.some((one) => one.digest === digest)) return { approved, changes: [] };
  const what = last === undefined ? "text" : "text changed";
  const differences = [difference("", what, { before: last?.text, after: text })];
  const did = last === undefined ? "added" : "changed";
  const change = { kind: "instructions", name: "", did, digest, differences } as const;
  return { approved: [{ ...signature, digest, text }], changes: [change] };
}
