import { createHash } from "node:crypto";
import type { ItemKind } from "../../model/item.ts";
import { canonicalJson } from "../../protocol/json/canonical.ts";
import type { Entry } from "../../catalog/table.ts";
import type { View } from "../../catalog/views.ts";

/** What `list_changed` notifications tell apart: resources and their templates are one. */
export type ListKind = "tools" | "prompts" | "resources";

export const listKinds: readonly ListKind[] = ["tools", "prompts", "resources"];

/** What a principal sees, as digests by kind of list and upstream. */
export type ViewSignature = ReadonlyMap<string, string>;

const kindOf: Readonly<Record<ItemKind, ListKind>> = {
  tool: "tools",
  prompt: "prompts",
  resource: "resources",
  template: "resources",
};

/** Views are shared by the streams of a principal, and so are their signatures. */
const known = new WeakMap<View, ViewSignature>();

/**
 * The names and definitions that are shown, as the upstream has them and as configuration and policy show them to this
 * principal. The order of a list counts for nothing: some upstreams have another one each time.
 */
export function signatureOf(view: View): ViewSignature {
  const found = known.get(view);
  if (found !== undefined) return found;
  const parts = new Map<string, string[]>();
  for (const entry of view.visible) {
    const { item, exposed } = entry;
    const key = partKey(kindOf[item.kind], item.upstream);
    const line = JSON.stringify([item.kind, exposed, item.digest, shownDigest(entry)]);
    const lines = parts.get(key);
    if (lines === undefined) parts.set(key, [line]);
    else lines.push(line);
  }
  const signature = new Map([...parts].map(([key, lines]) => [key, digestOf(lines)]));
  known.set(view, signature);
  return signature;
}

/** Entries are shared by all views in which nothing about them is different. */
const shownDigests = new WeakMap<Entry, string>();

function shownDigest(entry: Entry): string {
  let digest = shownDigests.get(entry);
  if (digest === undefined) shownDigests.set(entry, (digest = digestOf([canonicalJson(entry.shown)])));
  return digest;
}

function digestOf(lines: string[]): string {
  return createHash("sha256").update(lines.sort().join("\n")).digest("base64url");
}

/**
 * The kinds of list that differ, and the signature to compare with next time. Of an upstream that cannot be read
 * now nobody knows whether it changed: what was seen of it last goes on to count, so that one that comes and goes
 * makes no client list again and again.
 */
export function compareViews(
  before: ViewSignature,
  view: View,
): { readonly changed: readonly ListKind[]; readonly now: ViewSignature } {
  const after = new Map(signatureOf(view));
  for (const { upstream } of view.table.missing)
    for (const kind of listKinds) {
      const last = before.get(partKey(kind, upstream));
      if (last !== undefined) after.set(partKey(kind, upstream), last);
    }
  const keys = new Set([...before.keys(), ...after.keys()]);
  const differing = [...keys].filter((key) => before.get(key) !== after.get(key));
  const changed = listKinds.filter((kind) => differing.some((key) => key.startsWith(`${kind} `)));
  return { changed, now: after };
}

function partKey(kind: ListKind, upstream: string): string {
  return `${kind} ${upstream}`;
}
