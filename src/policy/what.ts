import { clientFeatures } from "../model/client-feature.ts";
import { noFacts } from "../model/item-facts.ts";
import type { ItemFacts } from "../model/item-facts.ts";
import { nearestName } from "../model/nearest-name.ts";
import { compileGlob, globProblem } from "./glob.ts";
import type { Glob } from "./glob.ts";
import { subjectKinds, whatFields } from "./language.ts";
import type { Effect } from "./language.ts";
import type { Subject, SubjectKind } from "./question.ts";
import { bareDigest, marksMatch, readDigests, readMarks } from "./marks.ts";
import type { Marks } from "./marks.ts";
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
  /** What operators must have said of the item; undefined: nothing. */
  readonly marks: Marks | undefined;
  /** SHA-256 (hex) of the definitions that are meant; undefined: whatever the definition. */
  readonly digests: readonly string[] | undefined;
}

export type Names =
  | { readonly by: "nothing" }
  | { readonly by: "name"; readonly globs: readonly Glob[] }
  | { readonly by: "uri"; readonly globs: readonly UriGlob[] };

/** An item in question, with the forms of its URI where it has one, and what operators say of it. */
export interface Target {
  readonly server: string;
  readonly upstream: string;
  readonly kind: SubjectKind;
  readonly name: string;
  readonly forms: UriForms | undefined;
  /** Of the definition as it is now; undefined when nobody knows it. */
  readonly digest: () => string | undefined;
  /** Looked up once, and only when a rule asks. */
  readonly facts: () => ItemFacts;
}

/** What operators say of an item; undefined where nobody could. */
export type FactsOf = ((item: Subject) => ItemFacts) | undefined;

export function targetOf(server: string, item: Subject, factsOf: FactsOf): Target {
  const isUri = item.kind === "resource" || item.kind === "template";
  const forms = isUri ? uriForms(item.name) : undefined;
  const facts = factsOf === undefined ? () => noFacts : once(() => factsOf(item));
  const digest = (): string | undefined => item.digest ?? facts().digest;
  return { server, upstream: item.upstream, kind: item.kind, name: item.name, forms, digest, facts };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

export function whatMatches(what: What, effect: Effect, target: Target): boolean {
  if (what.servers !== undefined && !what.servers.includes(target.server)) return false;
  if (what.upstreams !== undefined && !what.upstreams.includes(target.upstream)) return false;
  if (what.kind !== undefined && what.kind !== target.kind) return false;
  return (
    namesMatch(what.names, effect, target) &&
    (what.marks === undefined || marksMatch(what.marks, effect, target.facts())) &&
    (what.digests === undefined || digestsMatch(what.digests, effect, target.digest()))
  );
}

/**
 * An allow must match the name; a deny and a constrain match what a lenient reader makes of a URI too. An allow whose
 * pattern, or whose silence, could mean an item that nobody has seen yet matches locked items alone.
 */
function namesMatch(names: Names, effect: Effect, target: Target): boolean {
  if (names.by === "nothing") return effect !== "allow" || isSettled(target);
  if (names.by === "name") return names.globs.some((glob) => nameMatches(glob, effect, target));
  const { forms } = target;
  if (forms === undefined) return false;
  if (effect !== "allow") return names.globs.some((glob) => denyMatchesUri(glob, forms));
  return names.globs.some(
    (glob) => allowMatchesUri(glob, forms) && (glob.raw.exact !== undefined || isSettled(target)),
  );
}

function nameMatches(glob: Glob, effect: Effect, target: Target): boolean {
  return glob.matches(target.name) && (effect !== "allow" || glob.exact !== undefined || isSettled(target));
}

/** Kinds of items whose definitions the catalog lock holds. */
const lockedKinds: readonly SubjectKind[] = ["tool", "prompt", "template"];

function isSettled({ kind, facts }: Target): boolean {
  return !lockedKinds.includes(kind) || facts().locked;
}

/** A definition that nobody knows is matched by no allow, and by every deny and constrain: it could be the one. */
function digestsMatch(digests: readonly string[], effect: Effect, digest: string | undefined): boolean {
  return digest === undefined ? effect !== "allow" : digests.includes(bareDigest(digest));
}

export interface Known {
  readonly upstreams: readonly string[];
  readonly servers: readonly string[];
  /** Labels and annotations that configuration gives to any item; undefined when that is not known, and not checked. */
  readonly labels?: readonly string[] | undefined;
  readonly annotations?: readonly string[] | undefined;
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
  const marks = readMarks(place, fields, known);
  const digests = fields.has("digest") ? readDigests(at(place, "digest"), fields.get("digest"), kind) : undefined;
  return { servers, upstreams, kind, names, marks, digests };
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
  return anything;
}

/** Of `anything: true`. */
export const anything: What = {
  servers: undefined,
  upstreams: undefined,
  kind: undefined,
  names: { by: "nothing" },
  marks: undefined,
  digests: undefined,
};

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
