import type { JsonObject } from "./json.ts";

export type ItemKind = "tool" | "prompt" | "resource" | "template";

/** What an item is, whatever name it is shown under. `name` is the upstream's own name, URI or URI template. */
export interface ItemIdentity {
  readonly upstream: string;
  readonly kind: ItemKind;
  readonly name: string;
}

/** An item as the catalog holds it. */
export interface Item extends ItemIdentity {
  /** The upstream's definition as it arrived, unknown keys included. */
  readonly definition: JsonObject;
  /** SHA-256 (hex) over RFC 8785 of `definition`. */
  readonly digest: string;
}
