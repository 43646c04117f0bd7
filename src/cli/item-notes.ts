import type { ConfigFault } from "../config/fault.ts";
import type { ItemNotesConfig, ToolAnnotations } from "../config/types-presenting.ts";
import type { Config } from "../config/types.ts";
import type { ItemMarks } from "../model/item-facts.ts";
import type { ItemKind } from "../model/item.ts";
import { compileGlob, globProblem } from "../policy/glob.ts";
import { compileUriGlob, uriGlobProblem, type UriGlob } from "../policy/uri.ts";
import { uriReadings } from "./uri-readings.ts";

/** What the operator says of an item: where its URI can be read in several ways, what is said of it in every one. */
export interface ItemNotes {
  readonly labels: readonly string[];
  readonly annotations: ToolAnnotations;
  readonly title: string | undefined;
  /** What may be said of it, as in `ItemFacts`. */
  readonly possible: readonly ItemMarks[] | undefined;
}

export type NotesOf = (kind: ItemKind, name: string) => ItemNotes;

const nothing: ItemNotes = Object.freeze({
  labels: Object.freeze([]),
  annotations: Object.freeze({}),
  title: undefined,
  possible: undefined,
});

/**
 * What is said of an upstream's items, from all entries that name one: labels are added up, and where two entries say
 * different things the later counts. A URI is sure to be named where an allow's pattern would match it, and may be named
 * where a deny's would, so that a label can neither be spelled around nor be had by spelling.
 */
export function notesOf(items: readonly ItemNotesConfig[]): NotesOf {
  if (items.length === 0) return () => nothing;
  const named = items.filter((config) => !isUriKind(namedBy(config).kind)).map(namedEntry);
  const located = items.filter((config) => isUriKind(namedBy(config).kind)).map(uriEntry);
  return (kind, name) => {
    if (isUriKind(kind))
      return uriNotes(
        located.filter((entry) => entry.kind === kind),
        name,
      );
    const found = named.filter((entry) => entry.kind === kind && entry.names(name));
    return found.length === 0 ? nothing : joined(found);
  };
}

function isUriKind(kind: ItemKind): boolean {
  return kind === "resource" || kind === "template";
}

interface Entry {
  readonly kind: ItemKind;
  readonly config: ItemNotesConfig;
}

function namedEntry(config: ItemNotesConfig): Entry & { readonly names: (name: string) => boolean } {
  const { kind, globs } = namedBy(config);
  const compiled = globs.map((glob) => compileGlob(glob));
  return { kind, config, names: (name) => compiled.some((glob) => glob.matches(name)) };
}

interface UriEntry extends Entry {
  readonly globs: readonly UriGlob[];
}

function uriEntry(config: ItemNotesConfig): UriEntry {
  const { kind, globs } = namedBy(config);
  return { kind, config, globs: globs.map((glob) => compileUriGlob(glob)) };
}

/** Labels alone are told apart: nobody says an annotation of a URI (`itemNotesNameOneKind`). */
function uriNotes(entries: readonly UriEntry[], uri: string): ItemNotes {
  if (entries.length === 0) return nothing;
  const { sure, possible } = uriReadings(entries, uri);
  const ways = possible?.map((found): ItemMarks => ({ labels: joined(found).labels, annotations: {} }));
  return { ...joined(sure), possible: ways === undefined ? undefined : distinct(ways) };
}

function distinct(ways: readonly ItemMarks[]): readonly ItemMarks[] {
  return [...new Map(ways.map((way) => [JSON.stringify(way), way])).values()];
}

function joined(found: readonly Entry[]): ItemNotes {
  const configs = found.map(({ config }) => config);
  return {
    labels: [...new Set(configs.flatMap(({ labels = [] }) => labels))],
    annotations: configs.reduce<ToolAnnotations>((all, { annotations }) => ({ ...all, ...annotations }), {}),
    title: configs.findLast(({ title }) => title !== undefined)?.title,
    possible: undefined,
  };
}

function namedBy({ tool, prompt, resource, template }: ItemNotesConfig): { kind: ItemKind; globs: readonly string[] } {
  if (tool !== undefined) return { kind: "tool", globs: tool };
  if (prompt !== undefined) return { kind: "prompt", globs: prompt };
  return resource !== undefined ? { kind: "resource", globs: resource } : { kind: "template", globs: template ?? [] };
}

/** Patterns that no item can match as they are meant: a label that is nowhere would deny nobody. */
export function noteFaults({ upstreams }: Config): readonly ConfigFault[] {
  return Object.entries(upstreams).flatMap(([upstream, { items }]) =>
    items.flatMap((entry, at) => {
      const { kind, globs } = namedBy(entry);
      return globs.flatMap((glob, index) => {
        const problem = isUriKind(kind) ? uriGlobProblem(glob) : globProblem(glob);
        const path = `upstreams.${upstream}.items[${at}].${kind}[${index}]`;
        return problem === undefined
          ? []
          : [{ path, found: JSON.stringify(glob), expected: problem, rule: "itemNotesAreGlobs" }];
      });
    }),
  );
}

/** Every label that some item is given: rules that name another one would match nothing. */
export function labelsKnown({ upstreams }: Config): readonly string[] {
  const all = Object.values(upstreams).flatMap(({ items }) => items.flatMap(({ labels = [] }) => labels));
  return [...new Set(all)].sort();
}

/** What tools can be said to be. */
export const annotationsKnown: readonly (keyof ToolAnnotations)[] = [
  "readOnly",
  "destructive",
  "idempotent",
  "openWorld",
];
