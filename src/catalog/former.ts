import { definitionsOf, type CatalogItem, type DigestedDefinition } from "./fetch-upstream.ts";

/** A definition that a list showed, and shows no more. */
export interface FormerDefinition extends DigestedDefinition {
  /** Milliseconds since the epoch, of the last reading that showed it. */
  readonly seenAt: number;
}

/** By kind and name, the newest last. */
export type FormerDefinitions = ReadonlyMap<string, readonly FormerDefinition[]>;

export interface FormerBounds {
  /** How long a former definition counts. */
  readonly catalogDriftCalmMs: number;
  readonly catalogFormerDefinitionsMax: number;
}

/** What a list was read to hold, and what it held before that. */
interface Held {
  readonly items: readonly CatalogItem[];
  readonly former?: FormerDefinitions | undefined;
}

export function formerKey({ kind, name }: Pick<CatalogItem, "kind" | "name">): string {
  return `${kind} ${name}`;
}

/**
 * What of `before`, which was last read at `seenAt`, is not in `after`, and what had gone before that and still counts.
 * An upstream whose replicas differ shows one definition now and another then.
 */
export function formerOf(
  before: Held,
  after: readonly CatalogItem[],
  at: { readonly seenAt: number; readonly now: number; readonly bounds: FormerBounds },
): FormerDefinitions {
  const { catalogDriftCalmMs, catalogFormerDefinitionsMax } = at.bounds;
  const current = new Set(
    after.flatMap((item) => definitionsOf(item).map(({ digest }) => `${digest} ${formerKey(item)}`)),
  );
  const former = new Map<string, readonly FormerDefinition[]>();
  const add = (key: string, { definition, digest, seenAt }: FormerDefinition): void => {
    if (current.has(`${digest} ${key}`) || at.now - seenAt >= catalogDriftCalmMs) return;
    const others = (former.get(key) ?? []).filter((other) => other.digest !== digest);
    former.set(key, [...others, { definition, digest, seenAt }].slice(-catalogFormerDefinitionsMax));
  };
  for (const [key, definitions] of before.former ?? []) for (const one of definitions) add(key, one);
  for (const item of before.items)
    for (const one of definitionsOf(item)) add(formerKey(item), { ...one, seenAt: at.seenAt });
  return former;
}
