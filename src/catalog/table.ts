import type { Item, ItemKind } from "../model/item.ts";
import type { Json, JsonObject } from "../model/json.ts";
import { isJsonObject, readOwn } from "../model/json.ts";
import { refuse, type Refusal } from "../model/refusal.ts";
import { paramHeaderPlan, type ParamHeaderPlan } from "../protocol/modern/param-headers.ts";
import { digestOf } from "../protocol/json/canonical.ts";
import { withoutKeys } from "../protocol/hop-meta.ts";
import { makesTasks, taskSupportOf } from "../protocol/tasks.ts";
import { connectEntry } from "./connect-entry.ts";
import type { CatalogItem } from "./fetch-upstream.ts";
import { shape, type ServerShape, type UpstreamPart } from "./shape.ts";
import type { Snapshot } from "./snapshots.ts";
import { compileUriTemplate, type UriMatcher } from "./uri-template.ts";

/** An item under the name it is exposed as in one virtual server. */
export interface Entry {
  readonly item: Item;
  readonly exposed: string;
  /** The definition as it is shown: cleaned, renamed, re-described. */
  readonly shown: JsonObject;
  /** Why an entitled principal cannot use it now; such an entry is never listed. */
  readonly withheld: Refusal | undefined;
  /** The input schema that is shown, by which arguments are judged, and the upstream's own one. Tools only. */
  readonly shownInput: KeyedSchema | undefined;
  readonly ownInput: Json | undefined;
  readonly output: KeyedSchema | undefined;
  /** How `Mcp-Param-*` headers follow from the arguments (2026-07-28, transport). Tools only. */
  readonly paramHeaders: ParamHeaderPlan | undefined;
  readonly matches: UriMatcher | undefined;
  /** The gateway's own tool, which leads whoever calls it to the page that connects the upstream. */
  readonly connects: boolean;
}

export interface KeyedSchema {
  readonly digest: string;
  readonly schema: Json;
}

/** Everything a virtual server has, before anybody's rights. */
export interface ServerTable {
  readonly server: string;
  readonly snapshots: readonly Snapshot[];
  /** In the order of the configuration and, within an upstream, in the upstream's own. */
  readonly entries: readonly Entry[];
  readonly byName: Readonly<Record<ItemKind, ReadonlyMap<string, readonly Entry[]>>>;
  readonly templates: readonly Entry[];
  /** Upstreams whose lists cannot be had now. */
  readonly missing: readonly { readonly upstream: string; readonly refusal: Refusal }[];
  /** Upstreams that list nothing before their user has connected them; of a table for nobody, all that are read so. */
  readonly unconnected: readonly string[];
}

/** What a table is built of. */
export type TableParts = Pick<ServerTable, "snapshots" | "missing" | "unconnected">;

/** `forSomebody`: the table of one reader, who finds a way to connect what is not connected. */
export function buildTable(server: ServerShape, parts: TableParts, forSomebody: boolean): ServerTable {
  const { snapshots, unconnected } = parts;
  const entries: Entry[] = [];
  for (const part of server.upstreams) {
    if (forSomebody && unconnected.includes(part.upstream)) entries.push(connectEntry(part.upstream));
    const snapshot = snapshots.find((candidate) => candidate.upstream === part.upstream);
    for (const item of snapshot?.items ?? []) {
      const exposed = shape(part, item);
      if (exposed === undefined) continue;
      const shown = makesLegacyTasks(snapshot) ? exposed.shown : withoutTaskSupport(exposed.shown);
      entries.push(toEntry(part, item, { ...exposed, shown }));
    }
  }
  return {
    server: server.name,
    ...parts,
    entries,
    byName: index(entries),
    templates: entries.filter((entry) => entry.item.kind === "template"),
  };
}

function makesLegacyTasks(snapshot: Snapshot | undefined): boolean {
  return snapshot?.self.era === "legacy" && makesTasks("legacy", snapshot.self.capabilities);
}

/**
 * A server whose upstreams differ declares tasks for all of them (2025-11-25, tasks, "Tool-Level Negotiation": the
 * capability comes first, the tool's word second), so the tools of one that makes none must not say that they do.
 */
function withoutTaskSupport(shown: JsonObject): JsonObject {
  const execution = readOwn(shown, "execution");
  if (!isJsonObject(execution) || taskSupportOf(shown) === "forbidden") return shown;
  const kept = withoutKeys(execution, ["taskSupport"]);
  return Object.keys(kept).length > 0 ? { ...shown, execution: kept } : withoutKeys(shown, ["execution"]);
}

export function toEntry(part: UpstreamPart, item: CatalogItem, exposed: { name: string; shown: JsonObject }): Entry {
  const tool = item.kind === "tool" ? toolParts(item, exposed.shown) : noTool;
  const matches = item.kind === "template" ? compileUriTemplate(exposed.name) : undefined;
  return {
    item,
    exposed: exposed.name,
    shown: exposed.shown,
    ...tool,
    withheld: item.withheld ?? nameFault(part, item, exposed.name) ?? tool.withheld ?? templateFault(item, matches),
    matches,
    connects: false,
  };
}

type ToolParts = Pick<Entry, "shownInput" | "ownInput" | "output" | "paramHeaders" | "withheld">;

const noTool: ToolParts = {
  shownInput: undefined,
  ownInput: undefined,
  output: undefined,
  paramHeaders: undefined,
  withheld: undefined,
};

/** A tool whose header declarations are invalid must not be offered (2026-07-28, transport, "Custom headers"). */
function toolParts(item: CatalogItem, shown: JsonObject): ToolParts {
  const input = readOwn(item.definition, "inputSchema");
  const plan = paramHeaderPlan(isJsonObject(input) ? input : {});
  return {
    shownInput: keyed(readOwn(shown, "inputSchema")),
    ownInput: input,
    output: keyed(readOwn(item.definition, "outputSchema")),
    paramHeaders: plan.ok ? plan.value : undefined,
    withheld: plan.ok ? undefined : plan.refusal,
  };
}

function keyed(schema: Json | undefined): KeyedSchema | undefined {
  return schema === undefined ? undefined : { digest: digestOf(schema), schema };
}

const nameAlphabet = /^[A-Za-z0-9_.-]{1,128}$/;

/** Tool and prompt names keep to the alphabet that clients and model providers accept (SEP-986). */
function nameFault(part: UpstreamPart, item: Item, name: string): Refusal | undefined {
  if (item.kind === "resource" || item.kind === "template" || nameAlphabet.test(name)) return undefined;
  return refuse("CATALOG_ITEM_UNSAFE", { upstream: part.upstream, kind: item.kind, fault: "name alphabet" }).refusal;
}

function templateFault(item: Item, matches: UriMatcher | undefined): Refusal | undefined {
  if (item.kind !== "template" || matches !== undefined) return undefined;
  const { upstream, kind } = item;
  return refuse("CATALOG_ITEM_UNSAFE", { upstream, kind, fault: "too many expressions" }).refusal;
}

/**
 * Those of the entries that share kind and name with another of them. None of them can be served to
 * somebody who would see both, because nobody can say which one is meant. Among all entries of a table they
 * are what a start refuses; among those one principal sees they are what is withheld from that principal,
 * so that an upstream which lists another's name takes nothing from those who may not see its item.
 */
export function colliding(entries: readonly Entry[]): readonly Entry[] {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(nameKey(entry), (counts.get(nameKey(entry)) ?? 0) + 1);
  return entries.filter((entry) => (counts.get(nameKey(entry)) ?? 0) > 1);
}

export function collision({ item, exposed }: Entry): Refusal {
  return refuse("CATALOG_ITEM_COLLIDED", { upstream: item.upstream, kind: item.kind, name: exposed }).refusal;
}

function nameKey(entry: Entry): string {
  return `${entry.item.kind} ${entry.exposed}`;
}

function index(entries: readonly Entry[]): ServerTable["byName"] {
  const byName = {
    tool: new Map<string, Entry[]>(),
    prompt: new Map<string, Entry[]>(),
    resource: new Map<string, Entry[]>(),
    template: new Map<string, Entry[]>(),
  };
  for (const entry of entries) {
    const known = byName[entry.item.kind].get(entry.exposed);
    if (known === undefined) byName[entry.item.kind].set(entry.exposed, [entry]);
    else known.push(entry);
  }
  return byName;
}
