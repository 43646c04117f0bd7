import type { ConfigFault } from "../config/fault.ts";
import type { ItemNotesConfig, ToolAnnotations } from "../config/types-presenting.ts";
import type { Config } from "../config/types.ts";
import type { ItemKind } from "../model/item.ts";
import { compileGlob, globProblem } from "../policy/glob.ts";
import { compileUriGlob, denyMatchesUri, uriForms, uriGlobProblem } from "../policy/uri.ts";

/** What the operator says of an item. */
export interface ItemNotes {
  readonly labels: readonly string[];
  readonly annotations: ToolAnnotations;
  readonly title: string | undefined;
}

export type NotesOf = (kind: ItemKind, name: string) => ItemNotes;

interface Entry {
  readonly kind: ItemKind;
  readonly names: (name: string) => boolean;
  readonly config: ItemNotesConfig;
}

const nothing: ItemNotes = Object.freeze({
  labels: Object.freeze([]),
  annotations: Object.freeze({}),
  title: undefined,
});

/**
 * What is said of an upstream's items, from all entries that name one: labels are added up, and where two entries say
 * different things the later counts. A URI is named in whatever spelling a lenient upstream may read it, so that a label
 * which rules deny by cannot be spelled around.
 */
export function notesOf(items: readonly ItemNotesConfig[]): NotesOf {
  if (items.length === 0) return () => nothing;
  const entries = items.map(entryOf);
  return (kind, name) => {
    const found = entries.filter((entry) => entry.kind === kind && entry.names(name)).map(({ config }) => config);
    return found.length === 0 ? nothing : joined(found);
  };
}

function joined(found: readonly ItemNotesConfig[]): ItemNotes {
  return {
    labels: [...new Set(found.flatMap(({ labels = [] }) => labels))],
    annotations: found.reduce<ToolAnnotations>((all, { annotations }) => ({ ...all, ...annotations }), {}),
    title: found.findLast(({ title }) => title !== undefined)?.title,
  };
}

function entryOf(config: ItemNotesConfig): Entry {
  const { kind, globs } = namedBy(config);
  if (kind !== "resource") {
    const compiled = globs.map((glob) => compileGlob(glob));
    return { kind, config, names: (name) => compiled.some((glob) => glob.matches(name)) };
  }
  const compiled = globs.map((glob) => compileUriGlob(glob));
  const names = (uri: string): boolean => {
    const forms = uriForms(uri);
    return compiled.some((glob) => denyMatchesUri(glob, forms));
  };
  return { kind, config, names };
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
        const problem = kind === "resource" ? uriGlobProblem(glob) : globProblem(glob);
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
