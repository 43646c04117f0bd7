import type { ItemKind } from "../model/item.ts";
import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import type { CatalogItem } from "./fetch-upstream.ts";

/** What a virtual server takes from one upstream, and under which names. */
export interface UpstreamPart {
  readonly upstream: string;
  /** Put before tool and prompt names that are not renamed. */
  readonly prefix: string;
  /** Put before resource URIs and templates, `ui://` ones excepted. */
  readonly uriPrefix: string;
  /** True when the server takes this item at all. Decided by the upstream's own name. */
  readonly takes: (kind: ItemKind, name: string) => boolean;
  readonly renames: Readonly<Record<ItemKind, ReadonlyMap<string, string>>>;
  readonly descriptions: Readonly<Record<ItemKind, ReadonlyMap<string, string>>>;
}

export interface ServerShape {
  readonly name: string;
  readonly upstreams: readonly UpstreamPart[];
}

/** The name and definition an item has in a server, or undefined when the server leaves it out. */
export function shape(part: UpstreamPart, item: CatalogItem): { name: string; shown: JsonObject } | undefined {
  if (!part.takes(item.kind, item.name)) return undefined;
  const name = exposedName(part, item.kind, item.name);
  const description = part.descriptions[item.kind].get(item.name);
  const shown = { ...item.shown, ...typedInput(item), [nameKeyOf(item.kind)]: name };
  return { name, shown: description === undefined ? shown : { ...shown, description } };
}

/**
 * A tool's input schema says `type: "object"` in every revision, and clients refuse a whole list for one that
 * does not. Arguments are objects, so saying it for a schema without a type changes nothing it accepts.
 */
function typedInput(item: CatalogItem): JsonObject {
  const input = readOwn(item.shown, "inputSchema");
  if (item.kind !== "tool" || !isJsonObject(input) || Object.hasOwn(input, "type")) return {};
  return { inputSchema: { type: "object", ...input } };
}

function exposedName(part: UpstreamPart, kind: ItemKind, name: string): string {
  const renamed = part.renames[kind].get(name);
  if (renamed !== undefined) return renamed;
  if (kind === "tool" || kind === "prompt") return part.prefix + name;
  return name.startsWith("ui://") ? name : part.uriPrefix + name;
}

function nameKeyOf(kind: ItemKind): "name" | "uri" | "uriTemplate" {
  switch (kind) {
    case "tool":
    case "prompt":
      return "name";
    case "resource":
      return "uri";
    case "template":
      return "uriTemplate";
  }
}
