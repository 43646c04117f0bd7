import type { ItemDeadlinesConfig } from "./config/types.ts";
import type { ItemDeadlines } from "./gateway/deadlines.ts";
import type { ItemIdentity, ItemKind } from "./model/item.ts";
import { compileGlob } from "./policy/glob.ts";

/** The deadlines of an item: those of the first entry that names it. Undefined: its upstream's own. */
export function itemDeadlines(
  entries: readonly ItemDeadlinesConfig[],
): (item: Pick<ItemIdentity, "kind" | "name">) => ItemDeadlines | undefined {
  const compiled = entries.map((entry) => ({ entry, matches: matcher(entry) }));
  return ({ kind, name }) => compiled.find(({ matches }) => matches(kind, name))?.entry;
}

function matcher({ tool, prompt, resource }: ItemDeadlinesConfig): (kind: ItemKind, name: string) => boolean {
  const pattern = tool ?? prompt ?? resource ?? "";
  const kinds: readonly ItemKind[] =
    tool !== undefined ? ["tool"] : prompt !== undefined ? ["prompt"] : ["resource", "template"];
  const glob = compileGlob(pattern);
  return (kind, name) => kinds.includes(kind) && glob.matches(name);
}
