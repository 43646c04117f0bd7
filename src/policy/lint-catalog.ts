import type { ItemIdentity } from "../model/item.ts";
import type { JsonObject } from "../model/json.ts";
import { limits } from "../model/limits.ts";
import { nearestName } from "../model/nearest-name.ts";
import type { Glob } from "./glob.ts";
import type { Found, WrittenRule } from "./lint.ts";
import type { What } from "./what.ts";

/** A definition that is known, of a catalog lock or of a file. */
export interface KnownItem extends ItemIdentity {
  /** Of a tool. */
  readonly inputSchema?: JsonObject | undefined;
}

export interface KnownCatalog {
  items(): Iterable<KnownItem>;
}

/** Known items by upstream and kind. What has none there is not known at all. */
export interface KnownItems {
  /** Undefined when none of these upstreams has a known item of the kind. Without upstreams: of all. */
  matching(what: What, glob: Glob): readonly KnownItem[] | undefined;
  /** Names of what is known there, for suggestions. */
  namesIn(what: What): readonly string[];
}

export function knownItems(catalog: KnownCatalog): KnownItems {
  const lists = new Map<string, Map<string, KnownItem>>();
  const upstreams = new Set<string>();
  for (const item of catalog.items()) {
    const key = keyOf(item.upstream, item.kind);
    const list = lists.get(key) ?? new Map<string, KnownItem>();
    lists.set(key, list.set(item.name, item));
    upstreams.add(item.upstream);
  }
  const under = ({ upstreams: named, kind }: What): readonly ReadonlyMap<string, KnownItem>[] =>
    (named ?? [...upstreams])
      .map((upstream) => lists.get(keyOf(upstream, kind ?? "")))
      .filter((list) => list !== undefined);
  return {
    matching: (what, glob) => {
      const found = under(what);
      return found.length === 0 ? undefined : found.flatMap((list) => matchingIn(list, glob));
    },
    namesIn: (what) => under(what).flatMap((list) => [...list.keys()]),
  };
}

function keyOf(upstream: string, kind: string): string {
  return `${kind} ${upstream}`;
}

function matchingIn(list: ReadonlyMap<string, KnownItem>, glob: Glob): readonly KnownItem[] {
  if (glob.exact === undefined)
    return [...list.values()].filter(({ name }) => name.startsWith(glob.prefix) && glob.matches(name));
  const item = list.get(glob.exact);
  return item === undefined ? [] : [item];
}

/** Names and patterns that no known item has. Resources are not asked about: they come and go, and no lock holds them. */
export function unmatchedFindings(rules: readonly WrittenRule[], known: KnownItems): readonly Found[] {
  let suggested = 0;
  const nearestTo = (glob: Glob, what: What): string | undefined => {
    if (glob.exact === undefined || suggested >= limits.lintedSuggestionsMax) return undefined;
    suggested += 1;
    return nearestName(glob.exact, known.namesIn(what));
  };
  return rules.flatMap(({ rule: { what }, source }) =>
    globsOf(what)
      .filter((glob) => known.matching(what, glob)?.length === 0)
      .map((glob): Found => {
        const where = what.upstreams?.join(", ") ?? "any upstream";
        const nearest = nearestTo(glob, what);
        const meant = nearest === undefined ? "" : `: did you mean ${nearest}?`;
        const text = `no known ${what.kind ?? "item"} of ${where} is called ${glob.text}${meant}`;
        return { id: "matches-nothing-known", source, at: `/what/${what.kind ?? ""}`, text };
      }),
  );
}

/** The patterns of a rule about items that have definitions, as written. */
export function globsOf({ kind, names }: What): readonly Glob[] {
  if (kind !== "tool" && kind !== "prompt" && kind !== "template") return [];
  if (names.by === "nothing") return [];
  return names.by === "name" ? names.globs : names.globs.map(({ raw }) => raw);
}
