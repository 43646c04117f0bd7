/** The labels and annotations that operators give an item. */
export interface ItemMarks {
  readonly labels: readonly string[];
  readonly annotations: Readonly<Record<string, boolean | string>>;
}

/**
 * What operators say of an item, in configuration and in the catalog lock. Nothing in it was declared by the upstream:
 * what a peer says of its own items is never a reason to allow.
 */
export interface ItemFacts extends ItemMarks {
  /**
   * Where a URI can be read in several ways, what is said of all readings together, then of each; labels and annotations beside
   * it are then what is said in every one. Undefined: there is one reading, and they are all that is said.
   */
  readonly possible: readonly ItemMarks[] | undefined;
  /** SHA-256 (hex, with or without `sha256:` before it) of the definition in use, as in `Item`; undefined: not known. */
  readonly digest: string | undefined;
  /** Whether the catalog lock holds the item. Without a lock every item counts as locked. */
  readonly locked: boolean;
}

/** Of items that nobody says anything of, where no lock is kept. */
export const noFacts: ItemFacts = Object.freeze({
  labels: Object.freeze([]),
  annotations: Object.freeze({}),
  possible: undefined,
  digest: undefined,
  locked: true,
});
