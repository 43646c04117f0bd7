import type { ItemKind } from "../model/item.ts";
import { isJsonObject, readOwn, type JsonObject } from "../model/json.ts";
import type { NameRules } from "../model/shown-name.ts";
import type { CatalogItem } from "./fetch-upstream.ts";
import { fitName } from "./names.ts";
import type { Presentation } from "./presentation.ts";

/** What a virtual server takes from one upstream, and under which names. */
export interface UpstreamPart {
  readonly upstream: string;
  /** Put before tool and prompt names that are not renamed. */
  readonly prefix: string;
  /** Put before resource URIs and templates, `ui://` ones excepted. */
  readonly uriPrefix: string;
  /**
   * True when the server takes this item at all. Decided by the upstream's own name; of a resource that no list has,
   * and that a template or a link leads to, by its URI.
   */
  readonly takes: (kind: ItemKind, name: string) => boolean;
  readonly renames: TextsByKind;
  readonly titles: TextsByKind;
  readonly descriptions: TextsByKind;
  /** Which names tools and prompts may have. */
  readonly names: NameRules;
  /** Input schemas are shown without composition at their top. */
  readonly simplifies: boolean;
  /** What the operator says of the upstream's items, at whatever server. */
  readonly notes: (kind: ItemKind, name: string) => ShownNotes;
}

/** By kind and original name. */
export type TextsByKind = Readonly<Record<ItemKind, ReadonlyMap<string, string>>>;

/** Of what the operator says of an item, that which clients are shown. */
export interface ShownNotes {
  readonly title: string | undefined;
  /** Tool annotations under the names that the specification gives them. */
  readonly annotations: JsonObject | undefined;
}

export interface ServerShape {
  readonly name: string;
  readonly upstreams: readonly UpstreamPart[];
  /** In the order in which they are tried. */
  readonly presentations: readonly Presentation[];
}

/** The name and definition an item has in a server, or undefined when the server leaves it out. */
export function shape(part: UpstreamPart, item: CatalogItem): { name: string; shown: JsonObject } | undefined {
  if (!part.takes(item.kind, item.name)) return undefined;
  const name = exposedName(part, item);
  const shown = { ...item.shown, ...typedInput(item), ...annotated(part, item), [nameKeyOf(item.kind)]: name };
  return { name, shown: { ...shown, ...retold(part, item) } };
}

/** The operator's word stands over the upstream's, hint by hint. */
function annotated(part: UpstreamPart, item: CatalogItem): JsonObject {
  const { annotations } = part.notes(item.kind, item.name);
  if (annotations === undefined) return {};
  const own = readOwn(item.shown, "annotations");
  return { annotations: { ...(isJsonObject(own) ? own : {}), ...annotations } };
}

/** The nearest word counts: the server's or presentation's, then the one for every server, then the upstream's. */
function retold(part: UpstreamPart, { kind, name }: CatalogItem): JsonObject {
  const title = part.titles[kind].get(name) ?? part.notes(kind, name).title;
  const description = part.descriptions[kind].get(name);
  return { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
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

function exposedName(part: UpstreamPart, item: CatalogItem): string {
  const { kind, name } = item;
  if (kind === "tool" || kind === "prompt") {
    const wanted = part.renames[kind].get(name) ?? part.prefix + name;
    return fitName(wanted, item, part.names);
  }
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
