import type { JsonObject } from "../../model/json.ts";
import type { LockedItem, LockedKind, PerUser } from "./document.ts";
import { lockDigest } from "./lock-digest.ts";
import { shapeOf } from "./shape-of.ts";

/** Whether a definition is among those of the item that were approved; `digest` as the lock has it. */
export function approves(
  kind: LockedKind,
  item: LockedItem,
  ofUpstream: PerUser,
  offered: { readonly definition: JsonObject; readonly digest: string },
): boolean {
  if (item.approved.some(({ digest }) => digest === offered.digest)) return true;
  if ((item.perUser ?? ofUpstream) === "exact") return false;
  return shapesOf(kind, item).has(lockDigest(shapeOf(kind, offered.definition)));
}

/** A locked item never changes, so its shapes are made once. */
const shapes = new WeakMap<LockedItem, ReadonlySet<string>>();

function shapesOf(kind: LockedKind, item: LockedItem): ReadonlySet<string> {
  let known = shapes.get(item);
  if (known === undefined)
    shapes.set(item, (known = new Set(item.approved.map(({ definition }) => lockDigest(shapeOf(kind, definition))))));
  return known;
}
