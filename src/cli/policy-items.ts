import type { Lock } from "../catalog/lock/lock.ts";
import type { ItemIdentity } from "../model/item.ts";
import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import type { KnownCatalog } from "../policy/lint-catalog.ts";
import type { Subject } from "../policy/question.ts";
import type { CaseNames } from "../policy/read-cases.ts";
import { readItem } from "../policy/read-cases.ts";
import { at, fault, type Place } from "../policy/read-fields.ts";

/** An item that is known without asking its upstream. */
export interface NamedItem extends ItemIdentity {
  readonly definition: JsonObject;
  /** As in `Item`, with or without `sha256:` before it; undefined: nobody says which definition is meant. */
  readonly digest: string | undefined;
}

/** The items that a server would take of these, under the names that it gives them. */
export type ShownItemsOf = (
  server: string,
  items: readonly NamedItem[],
) => readonly { readonly exposed: string; readonly item: NamedItem }[];

/** All that a catalog lock holds. */
export function lockedItems(lock: Lock): readonly NamedItem[] {
  return [...lock.items()].map(({ upstream, kind, name, definition }) =>
    withLockedDigest(lock, { upstream, kind, name, definition, digest: undefined }),
  );
}

/**
 * An item under the definition that was approved last, where it comes without a digest: rules that pin definitions are
 * then answered as the gateway answers them. An item that no lock holds stays as it is.
 */
export function withLockedDigest<S extends Subject>(lock: Lock | undefined, item: S): S {
  const { upstream, kind, name } = item;
  if (lock === undefined || item.digest !== undefined || kind === "clientFeature") return item;
  return { ...item, digest: lock.approvedOf(upstream, kind, name).at(-1) };
}

/** For lint: what the lock holds, with the arguments of tools. */
export function knownCatalog(lock: Lock): KnownCatalog {
  return {
    items: function* () {
      for (const { upstream, kind, name, definition } of lock.items()) {
        const schema = readOwn(definition, "inputSchema");
        yield { upstream, kind, name, inputSchema: isJsonObject(schema) ? schema : undefined };
      }
    },
  };
}

/** Reads a list of items, each as `{ upstream: crm, tool: export_all }`. */
export function readItems(place: Place, value: unknown, names: CaseNames): readonly NamedItem[] {
  if (!Array.isArray(value)) {
    fault(place, value, "a list of items", "expected a list of items");
    return [];
  }
  return value.flatMap((one: unknown, index) => {
    const item = readItem(at(place, index), one, names);
    if (item === undefined) return [];
    const { upstream, kind, name, digest } = item;
    if (kind !== "clientFeature") return [{ upstream, kind, name, digest, definition: {} }];
    fault(at(place, index), name, "a tool, prompt, resource or template", "a feature of clients is no item");
    return [];
  });
}
