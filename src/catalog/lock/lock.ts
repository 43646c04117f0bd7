import type { ItemKind } from "../../model/item.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import { limits } from "../../model/limits.ts";
import { digestOf } from "../../protocol/json/canonical.ts";
import { parseJsonText } from "../../protocol/json/parse.ts";
import { approves } from "./approves.ts";
import { isLockedKind, lockedKinds, type LockDocument, type LockedItem, type LockedKind } from "./document.ts";
import { asLockDigest, lockDigest } from "./lock-digest.ts";
import { readDocument } from "./read-document.ts";
import { createStrictReading, type LockFault } from "./strict-reading.ts";

/** An item as somebody offers it now. */
export interface Offered {
  readonly upstream: string;
  readonly kind: ItemKind;
  readonly name: string;
  readonly definition: JsonObject;
  /** SHA-256 (hex) over RFC 8785 of `definition`. */
  readonly digest: string;
}

/**
 * Why a definition is not the approved one: it is `changed`, the item is `new` to the lock, or it was `removed` and is
 * back. `identity`: the upstream is not the one whose definitions were approved.
 */
export type DriftReason = "changed" | "new" | "removed" | "identity";

/** Undefined: approved, or of a kind that is not pinned. */
export type Verdict = DriftReason | undefined;

export interface LockedDefinition {
  readonly upstream: string;
  readonly kind: LockedKind;
  readonly name: string;
  readonly definition: JsonObject;
}

/** An approved catalog, ready for questions. Never changes: a new file makes a new one. */
export interface Lock {
  /** SHA-256 (hex) over RFC 8785 of the file: layout and the order of keys do not enter into it. */
  readonly digest: string;
  readonly document: LockDocument;
  /** Whether a definition of the item is approved, whichever. Concrete resources never are. */
  isLocked(upstream: string, kind: ItemKind, name: string): boolean;
  /** Everything that is locked, each under the definition that was approved last. */
  items(): Iterable<LockedDefinition>;
  /** The definition of the item that was approved last; undefined for one that is not locked. */
  definitionOf(upstream: string, kind: ItemKind, name: string): JsonObject | undefined;
  /** The approved digests of the item, `sha256:` and hex each; of one that was removed, none. */
  approvedOf(upstream: string, kind: ItemKind, name: string): readonly string[];
  /** Does not look at the upstream's identity. */
  judge(offered: Offered): Exclude<Verdict, "identity">;
  /** Whether these are instructions that were approved; `text` is what the upstream sent, cut to `instructionsCharsMax`. */
  approvesInstructions(upstream: string, text: string): boolean;
}

export type CompiledLock =
  { readonly ok: true; readonly lock: Lock } | { readonly ok: false; readonly faults: readonly LockFault[] };

const bounds = {
  jsonDepthMax: limits.catalogLockDepthMax,
  jsonKeysPerObjectMax: limits.catalogLockKeysPerObjectMax,
  jsonValuesMax: limits.catalogLockValuesMax,
};

/**
 * Compiles the text of a catalog lock, or says everything that is wrong with it, up to `configurationFaultsMax`
 * faults. Pure: reads no file and no clock.
 *
 * Not checked: whether the upstreams that it names are configured, and whether they are those that it means.
 */
export function compileLock(text: string): CompiledLock {
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.catalogLockBytesMax) return whole(`${bytes} bytes`, `at most ${limits.catalogLockBytesMax} bytes`);
  const parsed = parseJsonText(text, bounds);
  if (!parsed.ok) return whole(parsed.refusal.code, "one JSON document without duplicate keys");
  const reading = createStrictReading();
  const document = readDocument(parsed.value, reading);
  if (reading.faults.length > 0) return { ok: false, faults: reading.faults.slice(0, limits.configurationFaultsMax) };
  return { ok: true, lock: lockOf(document, parsed.value) };
}

function whole(found: string, expected: string): CompiledLock {
  return { ok: false, faults: [{ path: "", found, expected }] };
}

function lockOf(document: LockDocument, value: Json): Lock {
  const find = (upstream: string, kind: ItemKind, name: string): LockedItem | undefined =>
    isLockedKind(kind) ? document.upstreams.get(upstream)?.items[kind].get(name) : undefined;
  return {
    digest: digestOf(value),
    document,
    items: () => itemsOf(document),
    isLocked: (upstream, kind, name) => find(upstream, kind, name) !== undefined,
    definitionOf: (upstream, kind, name) => find(upstream, kind, name)?.approved.at(-1)?.definition,
    approvedOf: (upstream, kind, name) => (find(upstream, kind, name)?.approved ?? []).map(({ digest }) => digest),
    judge: ({ upstream, kind, name, definition, digest }) => {
      if (!isLockedKind(kind)) return undefined;
      const at = document.upstreams.get(upstream);
      const item = at?.items[kind].get(name);
      if (item === undefined) return at?.removed[kind].has(name) === true ? "removed" : "new";
      const offered = { definition, digest: asLockDigest(digest) };
      return approves(kind, item, at?.perUser ?? "exact", offered) ? undefined : "changed";
    },
    approvesInstructions: (upstream, text) => {
      const own = lockDigest(text);
      return document.upstreams.get(upstream)?.instructions.some(({ digest }) => digest === own) ?? false;
    },
  };
}

function* itemsOf({ upstreams }: LockDocument): Generator<LockedDefinition> {
  for (const [upstream, { items }] of upstreams)
    for (const kind of lockedKinds)
      for (const [name, { approved }] of items[kind]) {
        const definition = approved.at(-1)?.definition;
        if (definition !== undefined) yield { upstream, kind, name, definition };
      }
}
