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
import type { Presentation } from "./presentation.ts";
import type { Shaped } from "./shaped-entry.ts";
import { shape, type ServerShape, type UpstreamPart } from "./shape.ts";
import { isFlat, simplifySchema } from "./simplify.ts";
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
  /**
   * The input schema by which arguments are judged: the one that is shown, as it is before it is simplified. And the
   * upstream's own one. Tools only.
   */
  readonly shownInput: KeyedSchema | undefined;
  readonly ownInput: Json | undefined;
  /** Its input schema is shown without composition at the top. */
  readonly simplifies: boolean;
  readonly output: KeyedSchema | undefined;
  /** How `Mcp-Param-*` headers follow from the arguments (2026-07-28, transport). Tools only. */
  readonly paramHeaders: ParamHeaderPlan | undefined;
  /** The URIs that it covers and the server takes, under the server's `uriPrefix`. Templates only. */
  readonly matches: UriMatcher | undefined;
  /** How policy changes it for the principal of a view; undefined: not at all. */
  readonly shaped: Shaped | undefined;
  /** The gateway's own tool, which leads whoever calls it to the page that connects the upstream. */
  readonly connects: boolean;
}

export type EntriesByName = Readonly<Record<ItemKind, ReadonlyMap<string, readonly Entry[]>>>;

export interface KeyedSchema {
  readonly digest: string;
  readonly schema: Json;
}

/** Everything a virtual server has, before anybody's rights, under the names of one presentation. */
export interface ServerTable {
  readonly server: string;
  /** Undefined: as it is shown to whom no presentation applies. */
  readonly presentation: Presentation | undefined;
  readonly snapshots: readonly Snapshot[];
  /** In the order of the configuration and, within an upstream, in the upstream's own. */
  readonly entries: readonly Entry[];
  readonly byName: EntriesByName;
  readonly templates: readonly Entry[];
  /** Upstreams whose lists cannot be had now. */
  readonly missing: readonly { readonly upstream: string; readonly refusal: Refusal }[];
  /** Upstreams that list nothing before their user has connected them; of a table for nobody, all that are read so. */
  readonly unconnected: readonly string[];
}

/** What a table is built of. */
export type TableParts = Pick<ServerTable, "snapshots" | "missing" | "unconnected">;

/** Which table of a server is wanted. */
export interface TableFor {
  readonly server: ServerShape;
  readonly presentation: Presentation | undefined;
  /** The table of one reader, who finds a way to connect what is not connected. */
  readonly forSomebody: boolean;
}

export function buildTable({ server, presentation, forSomebody }: TableFor, parts: TableParts): ServerTable {
  const { snapshots, unconnected } = parts;
  const entries: Entry[] = [];
  for (const part of (presentation ?? server).upstreams) {
    if (forSomebody && unconnected.includes(part.upstream)) entries.push(connectEntry(part.upstream, part.names));
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
    presentation,
    ...parts,
    entries,
    ...lookups(entries),
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
  const matches = item.kind === "template" ? coverage(part, item, exposed.name) : undefined;
  const entry = {
    item,
    exposed: exposed.name,
    shown: exposed.shown,
    ...tool,
    simplifies: item.kind === "tool" && part.simplifies,
    withheld: item.withheld ?? tool.withheld ?? templateFault(item, matches),
    matches,
    shaped: undefined,
    connects: false,
  };
  return entry.simplifies ? simplified(entry) : entry;
}

/** A template is no way around what the server leaves out: what is not taken by its own URI is not covered. */
function coverage(part: UpstreamPart, { name }: CatalogItem, exposed: string): UriMatcher | undefined {
  const covers = compileUriTemplate(exposed);
  const prefixed = exposed.length - name.length;
  return covers && ((uri) => covers(uri) && part.takes("resource", uri.slice(prefixed)));
}

/** What stands in place of a schema that is none is withheld, and shown to nobody. */
function simplified(entry: Entry): Entry {
  const schema = entry.shownInput?.schema;
  if (!isJsonObject(schema)) return entry;
  return { ...entry, shown: { ...entry.shown, inputSchema: simplifySchema(schema) } };
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
    shownInput: keyedIfAny(readOwn(shown, "inputSchema")),
    ownInput: input,
    output: keyedIfAny(readOwn(item.definition, "outputSchema")),
    paramHeaders: plan.ok ? plan.value : undefined,
    withheld: plan.ok ? undefined : plan.refusal,
  };
}

/**
 * Whether it is shown under a schema that takes more than the one by which arguments are judged, or than the upstream's
 * own one: a caller who keeps to what is shown may then send what neither takes.
 */
export function showsMore({ simplifies, shownInput, ownInput }: Entry): boolean {
  return simplifies && [shownInput?.schema, ownInput].some((schema) => isJsonObject(schema) && !isFlat(schema));
}

/** The entry with another input schema, by which arguments are judged from then on, and which is shown. */
export function withInput(entry: Entry, schema: JsonObject): Entry {
  const other = { ...entry, shown: { ...entry.shown, inputSchema: schema }, shownInput: keyed(schema) };
  return other.simplifies ? simplified(other) : other;
}

export function keyed(schema: Json): KeyedSchema {
  return { digest: digestOf(schema), schema };
}

function keyedIfAny(schema: Json | undefined): KeyedSchema | undefined {
  return schema === undefined ? undefined : keyed(schema);
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

/** How entries are found: by kind and exposed name, and by what a template covers. */
export function lookups(entries: readonly Entry[]): Pick<ServerTable, "byName" | "templates"> {
  return { byName: index(entries), templates: entries.filter(({ item }) => item.kind === "template") };
}

function index(entries: readonly Entry[]): EntriesByName {
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
