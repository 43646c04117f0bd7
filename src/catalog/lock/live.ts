import type { JsonObject } from "../../model/json.ts";
import type { UpstreamCatalog } from "../fetch-upstream.ts";
import { byKind, isLockedKind, type LockedKind, type LockIdentity } from "./document.ts";
import type { LiveUpstream } from "./update.ts";

export interface ReadLive {
  readonly live: LiveUpstream;
  /** What cannot stand in a lock, and stays unapproved: items without a name, or listed twice. */
  readonly leftOut: readonly { readonly kind: LockedKind; readonly name: string }[];
}

/** The part of a catalog that the lock pins. */
export function liveOf({ self, items }: UpstreamCatalog, identity: LockIdentity): ReadLive {
  const leftOut: { kind: LockedKind; name: string }[] = [];
  const found = {
    tool: new Map<string, JsonObject>(),
    prompt: new Map<string, JsonObject>(),
    template: new Map<string, JsonObject>(),
  };
  for (const { kind, name, definition, withheld } of items) {
    if (!isLockedKind(kind)) continue;
    if (isLockable(name) && withheld?.code !== "CATALOG_ITEM_COLLIDED") found[kind].set(name, definition);
    else leftOut.push({ kind, name });
  }
  const live = { identity, instructions: self.ownInstructions, definitions: byKind((kind) => found[kind]) };
  return { live, leftOut };
}

/** Names are keys of the file, and its parser takes every key but this one. */
function isLockable(name: string): boolean {
  return name !== "" && name !== "__proto__";
}
