import type { Presentation } from "./catalog/presentation.ts";
import type { ServerShape, ShownNotes, TextsByKind, UpstreamPart } from "./catalog/shape.ts";
import { notesOf, type NotesOf } from "./cli/item-notes.ts";
import { loadPresentations, type LoadedPresentation } from "./cli/load-presentations.ts";
import type { Config, ItemPatterns, ServerConfig } from "./config/types.ts";
import type { ItemTexts, RenamedItems, ToolAnnotations } from "./config/types-presenting.ts";
import type { ItemKind } from "./model/item.ts";
import type { JsonObject } from "./model/json.ts";
import { StartRefused } from "./model/start-refused.ts";
import { compileGlob } from "./policy/glob.ts";
import { allowMatchesUri, compileUriGlob, denyMatchesUri, uriForms } from "./policy/uri.ts";

/** What the servers take of their upstreams, and how they show it. Throws `StartRefused` where that cannot be told. */
export function serverShapes(config: Config): readonly ServerShape[] {
  const loaded = loadPresentations(config);
  if (!loaded.ok)
    throw new StartRefused(
      loaded.faults.map(({ path, found, expected }) => `${path}: found ${found}, expected ${expected}`),
    );
  const notes = new Map(Object.entries(config.upstreams).map(([name, { items }]) => [name, notesOf(items)]));
  return Object.entries(config.servers).map(([name, server]) => ({
    name,
    upstreams: partsOf(server, notes),
    presentations: (loaded.byServer.get(name) ?? []).map((one) => presentationOf(server, notes, one)),
  }));
}

type Notes = ReadonlyMap<string, NotesOf>;

function presentationOf(server: ServerConfig, notes: Notes, { config, matches }: LoadedPresentation): Presentation {
  const { id, instructions } = config;
  return { id, matches, instructions, upstreams: partsOf(server, notes, config) };
}

/** What a presentation says of an upstream stands over what the server says of it; what both hide is hidden. */
function partsOf(server: ServerConfig, notes: Notes, shown?: LoadedPresentation["config"]): UpstreamPart[] {
  return Object.entries(server.upstreams).map(([upstream, part]) => ({
    upstream,
    prefix: part.prefix,
    uriPrefix: part.uriPrefix,
    takes: takesOf(part.include, [part.hide, shown?.hide[upstream]]),
    renames: renamesOf(part.rename, shown?.rename[upstream]),
    titles: textsOf(part.title, shown?.title[upstream]),
    descriptions: textsOf(part.describe, shown?.describe[upstream]),
    names: server.names,
    simplifies: server.schemas.simplify,
    notes: shownNotes(notes.get(upstream)),
  }));
}

function takesOf(include: ItemPatterns, hidden: readonly (ItemPatterns | undefined)[]): UpstreamPart["takes"] {
  const includes = patternsByKind(include, allowMatchesUri);
  const hides = hidden
    .filter((patterns) => patterns !== undefined)
    .map((patterns) => patternsByKind(patterns, denyMatchesUri));
  return (kind, name) => (includes[kind]?.(name) ?? true) && !hides.some((one) => one[kind]?.(name) ?? false);
}

function renamesOf(own: RenamedItems, over: RenamedItems | undefined): TextsByKind {
  return {
    tool: new Map(Object.entries({ ...own.tools, ...over?.tools })),
    prompt: new Map(Object.entries({ ...own.prompts, ...over?.prompts })),
    resource: new Map(),
    template: new Map(),
  };
}

function textsOf(own: ItemTexts, over: ItemTexts | undefined): TextsByKind {
  return {
    tool: new Map(Object.entries({ ...own.tools, ...over?.tools })),
    prompt: new Map(Object.entries({ ...own.prompts, ...over?.prompts })),
    resource: new Map(Object.entries({ ...own.resources, ...over?.resources })),
    template: new Map(Object.entries({ ...own.templates, ...over?.templates })),
  };
}

function shownNotes(notes: NotesOf | undefined): (kind: ItemKind, name: string) => ShownNotes {
  return (kind, name) => {
    const { annotations, title } = notes?.(kind, name) ?? { annotations: {}, title: undefined };
    return { title, annotations: hintsOf(annotations) };
  };
}

/** Tool annotations under the names that the specification gives them (2025-11-25, schema, `ToolAnnotations`). */
function hintsOf(annotations: ToolAnnotations): JsonObject | undefined {
  const hints = Object.entries(annotations).map(([name, holds]: [string, boolean]) => [`${name}Hint`, holds] as const);
  return hints.length === 0 ? undefined : Object.fromEntries(hints);
}

type Matches = (name: string) => boolean;

/** URIs are read as rules read them: what is taken fits in every spelling, what is hidden in any. */
function patternsByKind(
  patterns: ItemPatterns,
  matchesUri: typeof allowMatchesUri,
): Record<ItemKind, Matches | undefined> {
  return {
    tool: anyOf(patterns.tools),
    prompt: anyOf(patterns.prompts),
    resource: anyUriOf(patterns.resources, matchesUri),
    template: anyOf(patterns.templates),
  };
}

function anyOf(globs: readonly string[] | undefined): Matches | undefined {
  if (globs === undefined) return undefined;
  const compiled = globs.map((glob) => compileGlob(glob));
  return (name) => compiled.some((glob) => glob.matches(name));
}

function anyUriOf(globs: readonly string[] | undefined, matchesUri: typeof allowMatchesUri): Matches | undefined {
  if (globs === undefined) return undefined;
  const compiled = globs.map((glob) => compileUriGlob(glob));
  return (uri) => {
    const forms = uriForms(uri);
    return compiled.some((glob) => matchesUri(glob, forms));
  };
}
