import type { JsonObject } from "../../model/json.ts";
import { limits } from "../../model/limits.ts";
import type { LockedKind, LockedUpstream, Signature } from "./document.ts";
import { emptyUpstream } from "./document.ts";
import { lockDigest } from "./lock-digest.ts";
import type { LiveUpstream } from "./update.ts";

/** What is to be approved. */
export interface ApprovalOrder {
  readonly kind: LockedKind | "instructions";
  /** Empty for instructions. */
  readonly name: string;
  /** What the approver saw: something else that is offered meanwhile is not approved. Undefined: whatever is offered. */
  readonly digest: string | undefined;
  /** Whether the earlier approvals end with it. */
  readonly replaces: boolean;
}

export type Approved =
  | { readonly ok: true; readonly upstream: LockedUpstream; readonly digest: string }
  | { readonly ok: false; readonly because: string };

/**
 * Approves what is offered now beside what was approved before, as a roll-out needs it, or in its place. Everything
 * else of the upstream stays as it is in the lock.
 */
export function approveOne(
  known: LockedUpstream | undefined,
  live: LiveUpstream,
  order: ApprovalOrder,
  signature: Signature,
): Approved {
  const upstream = known ?? emptyUpstream(live.identity);
  const { identity } = upstream;
  if (identity.url !== live.identity.url || identity.authorization !== live.identity.authorization)
    return refused("the lock has this upstream under another URL or authorization; update it as a whole");
  const { kind } = order;
  if (kind === "instructions") return approveInstructions(upstream, live.instructions, order, signature);
  const definition = live.definitions[kind].get(order.name);
  if (definition === undefined) return refused("the upstream does not offer it now");
  return approveItem(upstream, { kind, definition }, order, signature);
}

function refused(because: string): Approved {
  return { ok: false, because };
}

function approveItem(
  upstream: LockedUpstream,
  { kind, definition }: { readonly kind: LockedKind; readonly definition: JsonObject },
  order: ApprovalOrder,
  signature: Signature,
): Approved {
  const item = upstream.items[kind].get(order.name);
  const approval = { ...signature, digest: lockDigest(definition), definition };
  const approved = withApproval(item?.approved ?? [], approval, order);
  if (typeof approved === "string") return refused(approved);
  const items = new Map(upstream.items[kind]).set(order.name, { perUser: item?.perUser, approved });
  const removed = new Map(upstream.removed[kind]);
  removed.delete(order.name);
  return {
    ok: true,
    digest: approval.digest,
    upstream: {
      ...upstream,
      items: { ...upstream.items, [kind]: items },
      removed: { ...upstream.removed, [kind]: removed },
    },
  };
}

function approveInstructions(
  upstream: LockedUpstream,
  text: string | undefined,
  order: ApprovalOrder,
  signature: Signature,
): Approved {
  if (text === undefined) return refused("the upstream sends no instructions now");
  const digest = lockDigest(text);
  const instructions = withApproval(upstream.instructions, { ...signature, digest, text }, order);
  if (typeof instructions === "string") return refused(instructions);
  return { ok: true, digest, upstream: { ...upstream, instructions } };
}

/** The approvals with this one as the last of them, or why not. */
function withApproval<T extends { readonly digest: string }>(
  before: readonly T[],
  approval: T,
  { digest, replaces }: ApprovalOrder,
): readonly T[] | string {
  if (digest !== undefined && digest !== approval.digest) return `what the upstream offers now has ${approval.digest}`;
  if (replaces) return [approval];
  if (before.some((other) => other.digest === approval.digest)) return "it is approved already";
  if (before.length >= limits.catalogLockApprovalsMax)
    return `it has ${before.length} approvals already, which is the most; replace them`;
  return [...before, approval];
}
