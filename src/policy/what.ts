import { clientFeatures } from "../model/client-feature.ts";
import { nearestName } from "../model/nearest-name.ts";
import { compileGlob, globProblem } from "./glob.ts";
import type { Glob } from "./glob.ts";
import { subjectKinds, whatFields } from "./language.ts";
import type { Effect } from "./language.ts";
import type { Subject, SubjectKind } from "./question.ts";
import { at, fault, readMapping, readWords, warn } from "./read-fields.ts";
import type { Place } from "./read-fields.ts";
import { allowMatchesUri, compileUriGlob, denyMatchesUri, uriForms, uriGlobProblem } from "./uri.ts";
import type { UriForms, UriGlob } from "./uri.ts";

/** What a rule is about. Names are the upstream's own, never the exposed ones. */
export interface What {
  /** Undefined: any. */
  readonly servers: readonly string[] | undefined;
  readonly upstreams: readonly string[] | undefined;
  /** Undefined: every kind of item, what upstreams ask of clients, and the exchanges that concern no item. */
  readonly kind: SubjectKind | undefined;
  readonly names: Names;
}

export type Names =
  | { readonly by: "nothing" }
  | { readonly by: "name"; readonly globs: readonly Glob[] }
  | { readonly by: "uri"; readonly globs: readonly UriGlob[] };

/** An item in question, with the forms of its URI where it has one. */
export interface Target {
  readonly server: string;
  readonly upstream: string;
  readonly kind: SubjectKind;
  readonly name: string;
  readonly forms: UriForms | undefined;
}

export function targetOf(server: string, item: Subject): Target {
  const isUri = item.kind === "resource" || item.kind === "template";
  const forms = isUri ? uriForms(item.name) : undefined;
  return { server, upstream: item.upstream, kind: item.kind, name: item.name, forms };
}

export function whatMatches(what: What, effect: Effect, target: Target): boolean {
  if (what.servers !== undefined && !what.servers.includes(target.server)) return false;
  if (what.upstreams !== undefined && !what.upstreams.includes(target.upstream)) return false;
  if (what.kind !== undefined && what.kind !== target.kind) return false;
  return namesMatch(what.names, effect, target);
}

function namesMatch(names: Names, effect: Effect, target: Target): boolean {
  if (names.by === "nothing") return true;
  if (names.by === "name") return names.globs.some((glob) => glob.matches(target.name));
  const { forms } = target;
  if (forms === undefined) return false;
  const matches = effect === "allow" ? allowMatchesUri : denyMatchesUri;
  return names.globs.some((glob) => matches(glob, forms));
}

export interface Known {
  readonly upstreams: readonly string[];
  readonly servers: readonly string[];
}

/** Reads `what`. Unknown servers and upstreams are faults; a name that no item has is none, since catalogs change. */
export function readWhat(place: Place, value: unknown, known: Known): What | undefined {
  const fields = readMapping(place, value, whatFields);
  if (fields === undefined) return undefined;
  if (fields.size === 0) {
    fault(place, value, "anything: true, or a field", "an empty `what` matches nothing");
    return undefined;
  }
  if (fields.has("anything")) return readAnything(place, fields);
  const named = subjectKinds.filter((kind) => fields.has(kind));
  if (named.length > 1) {
    fault(place, named, "one kind", "nothing is of two kinds, so this matches nothing: write two rules");
    return undefined;
  }
  const kind = named[0];
  const names: Names = kind === undefined ? { by: "nothing" } : readNames(at(place, kind), fields.get(kind), kind);
  if (kind !== undefined && !fields.has("upstream")) {
    const message = "names of every upstream are matched, those of upstreams added later too";
    warn(place, value, "upstream beside it", message);
  }
  const servers = readKnown(at(place, "server"), fields.get("server"), known.servers);
  const upstreams = readKnown(at(place, "upstream"), fields.get("upstream"), known.upstreams);
  return { servers, upstreams, kind, names };
}

function readAnything(place: Place, fields: ReadonlyMap<string, unknown>): What | undefined {
  const here = at(place, "anything");
  if (fields.get("anything") !== true) {
    fault(here, fields.get("anything"), "true", "`anything` can only be true");
    return undefined;
  }
  if (fields.size > 1) {
    fault(place, [...fields.keys()], "anything alone", "`anything: true` stands alone");
    return undefined;
  }
  return { servers: undefined, upstreams: undefined, kind: undefined, names: { by: "nothing" } };
}

function readKnown(place: Place, value: unknown, known: readonly string[]): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const words = readWords(place, value, false)?.words ?? [];
  for (const word of words) {
    if (!known.includes(word)) fault(place, word, `one of ${known.join(", ")}`, "this is not configured");
  }
  return words;
}

function readNames(place: Place, value: unknown, kind: SubjectKind): Names {
  const words = readWords(place, value, false)?.words ?? [];
  if (kind === "clientFeature") return readFeatures(place, words);
  const isUri = kind === "resource" || kind === "template";
  const sound = words.filter((word) => {
    const problem = isUri ? uriGlobProblem(word) : globProblem(word);
    if (problem !== undefined) fault(place, word, "a name or a pattern", problem);
    return problem === undefined;
  });
  return isUri
    ? { by: "uri", globs: sound.map((word) => compileUriGlob(word)) }
    : { by: "name", globs: sound.map((word) => compileGlob(word)) };
}

/** Features are a closed list, so a word that is none is a fault: a deny of it would never match. */
function readFeatures(place: Place, words: readonly string[]): Names {
  for (const word of words) {
    if (word === "*" || clientFeatures.some((feature) => feature === word)) continue;
    const nearest = nearestName(word, clientFeatures);
    const meant = nearest === undefined ? "" : `: did you mean ${nearest}?`;
    fault(place, word, `* or one of ${clientFeatures.join(", ")}`, `no client has this feature${meant}`);
  }
  return { by: "name", globs: words.map((word) => compileGlob(word)) };
}
