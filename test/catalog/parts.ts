import type { CatalogItem } from "../../src/catalog/fetch-upstream.ts";
import type { Presentation } from "../../src/catalog/presentation.ts";
import type { TextsByKind, UpstreamPart } from "../../src/catalog/shape.ts";
import { buildTable, type ServerTable } from "../../src/catalog/table.ts";
import type { ItemKind } from "../../src/model/item.ts";
import type { JsonObject } from "../../src/model/json.ts";

/** An item as a reading yields it, under an honest definition. */
export function itemOf(upstream: string, kind: ItemKind, name: string, more: JsonObject = {}): CatalogItem {
  const definition: JsonObject = { ...named[kind](name), ...more };
  const identity = { upstream, kind, name };
  return {
    ...identity,
    definition,
    digest: JSON.stringify([identity, more]),
    shown: definition,
    findings: [],
    withheld: undefined,
  };
}

export function toolOf(upstream: string, name: string, more: JsonObject = {}): CatalogItem {
  return itemOf(upstream, "tool", name, { inputSchema: { type: "object" }, ...more });
}

const named: Readonly<Record<ItemKind, (name: string) => JsonObject>> = {
  tool: (name) => ({ name }),
  prompt: (name) => ({ name }),
  resource: (uri) => ({ uri, name: "a resource" }),
  template: (uriTemplate) => ({ uriTemplate, name: "a template" }),
};

export const nothingNamed: TextsByKind = {
  tool: new Map(),
  prompt: new Map(),
  resource: new Map(),
  template: new Map(),
};

/** A server that takes the whole upstream as it is, but for what `more` says. */
export function partOf(upstream: string, more: Partial<UpstreamPart> = {}): UpstreamPart {
  return {
    upstream,
    prefix: "",
    uriPrefix: "",
    takes: () => true,
    renames: nothingNamed,
    titles: nothingNamed,
    descriptions: nothingNamed,
    names: { maxChars: 64, characters: "providers" },
    simplifies: false,
    notes: () => ({ title: undefined, annotations: undefined }),
    ...more,
  };
}

/** The table of a server with these parts, or as the presentation shows them. */
export function tableOf(
  parts: readonly UpstreamPart[],
  items: readonly CatalogItem[],
  presentation?: Presentation,
): ServerTable {
  const presentations = presentation === undefined ? [] : [presentation];
  const snapshots = parts.map(({ upstream }) => ({
    upstream,
    self: { era: "modern" as const, capabilities: {}, instructions: undefined },
    items: items.filter((item) => item.upstream === upstream),
  }));
  return buildTable(
    { server: { name: "s", upstreams: parts, presentations }, presentation, forSomebody: false },
    { snapshots, missing: [], unconnected: [] },
  );
}
