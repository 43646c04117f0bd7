import type { Principal } from "../model/principal.ts";
import { subjectKinds } from "./language.ts";
import type { Rule } from "./rule.ts";
import { whatMatches } from "./what.ts";
import type { Names, Target } from "./what.ts";

/**
 * Rules of one effect, arranged so that a decision looks only at those that can concern it:
 * upstream and kind, then exact name or leading text of a pattern, then group. Measured: 10,000 rules
 * that do not concern the item cost a decision as much as none (see test/policy/rule-index.test.ts for
 * the law that the index never changes an answer).
 */
export interface RuleIndex {
  /** Rules whose `who` and `what` match, by rank. */
  matching(principal: Principal, target: Target): readonly Rule[];
}

/** Rules that only some groups, and rules that anyone may match. */
interface ByGroup {
  readonly anyone: Rule[];
  readonly groups: Map<string, Rule[]>;
}

interface Bucket {
  readonly unnamed: ByGroup;
  readonly exact: Map<string, ByGroup>;
  readonly prefixed: Map<string, ByGroup>;
  /** Lengths that occur among the keys of `prefixed`. */
  readonly prefixLengths: Set<number>;
  readonly all: ByGroup;
}

const anyUpstream = "";

export function indexRules(rules: readonly Rule[]): RuleIndex {
  const buckets = new Map<string, Map<string, Bucket>>(subjectKinds.map((kind) => [kind, new Map<string, Bucket>()]));
  for (const rule of rules) {
    for (const kind of rule.what.kind === undefined ? subjectKinds : [rule.what.kind]) {
      for (const upstream of rule.what.upstreams ?? [anyUpstream]) put(bucketAt(buckets, kind, upstream), rule);
    }
  }
  return {
    matching: (principal, target) => {
      const found: Rule[] = [];
      const ofKind = buckets.get(target.kind);
      for (const upstream of [target.upstream, anyUpstream]) {
        const bucket = ofKind?.get(upstream);
        if (bucket !== undefined) collect(bucket, { principal, target, found });
      }
      return found.length > 1 ? inRank(found) : found;
    },
  };
}

function bucketAt(buckets: Map<string, Map<string, Bucket>>, kind: string, upstream: string): Bucket {
  const ofKind = entryAt(buckets, kind, () => new Map<string, Bucket>());
  return entryAt(ofKind, upstream, () => ({
    unnamed: newByGroup(),
    exact: new Map<string, ByGroup>(),
    prefixed: new Map<string, ByGroup>(),
    prefixLengths: new Set<number>(),
    all: newByGroup(),
  }));
}

function entryAt<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function newByGroup(): ByGroup {
  return { anyone: [], groups: new Map<string, Rule[]>() };
}

function put(bucket: Bucket, rule: Rule): void {
  putByGroup(bucket.all, rule);
  if (rule.what.names.by === "nothing") putByGroup(bucket.unnamed, rule);
  for (const glob of globsOf(rule.what.names)) {
    if (glob.exact !== undefined) putByGroup(entryAt(bucket.exact, glob.exact, newByGroup), rule);
    else {
      bucket.prefixLengths.add(glob.prefix.length);
      putByGroup(entryAt(bucket.prefixed, glob.prefix, newByGroup), rule);
    }
  }
}

function globsOf(names: Names): readonly { readonly exact: string | undefined; readonly prefix: string }[] {
  if (names.by === "nothing") return [];
  return names.by === "name" ? names.globs : names.globs.flatMap((glob) => [glob.raw, glob.normal]);
}

function putByGroup(lists: ByGroup, rule: Rule): void {
  const { groups } = rule.who;
  if (groups === undefined) lists.anyone.push(rule);
  else for (const group of groups) entryAt(lists.groups, group, () => []).push(rule);
}

interface Collection {
  readonly principal: Principal;
  readonly target: Target;
  readonly found: Rule[];
}

function collect(bucket: Bucket, into: Collection): void {
  const { name, forms } = into.target;
  if (forms !== undefined && forms.normal === undefined) {
    // Every deny concerns a URI that cannot be decoded, so no name narrows the search.
    collectByGroup(bucket.all, into);
    return;
  }
  collectByGroup(bucket.unnamed, into);
  collectNamed(bucket, name, into);
  for (const reading of forms?.readings ?? []) if (reading !== name) collectNamed(bucket, reading, into);
}

function collectNamed(bucket: Bucket, name: string, into: Collection): void {
  collectByGroup(bucket.exact.get(name), into);
  for (const length of bucket.prefixLengths) {
    if (length <= name.length) collectByGroup(bucket.prefixed.get(name.slice(0, length)), into);
  }
}

function collectByGroup(lists: ByGroup | undefined, into: Collection): void {
  if (lists === undefined) return;
  collectMatching(lists.anyone, into);
  if (lists.groups.size === 0) return;
  for (const group of into.principal.groups) {
    const rules = lists.groups.get(group);
    if (rules !== undefined) collectMatching(rules, into);
  }
}

function collectMatching(rules: readonly Rule[], { principal, target, found }: Collection): void {
  for (const rule of rules) {
    if (rule.who.matches(principal) && whatMatches(rule.what, rule.effect, target)) found.push(rule);
  }
}

/** Sorts by rank and drops the doubles that several groups or patterns bring in. */
function inRank(rules: Rule[]): readonly Rule[] {
  rules.sort((left, right) => left.rank - right.rank);
  return rules.filter((rule, index) => rule !== rules[index - 1]);
}
