import type { Principal } from "../model/principal.ts";
import { subjectKinds } from "./language.ts";
import { possibleLabels } from "./marks.ts";
import type { Rule } from "./rule.ts";
import { whatMatches } from "./what.ts";
import type { Names, Target } from "./what.ts";
import type { Lead } from "./who.ts";

/**
 * Rules of one effect, arranged so that a decision looks only at those that can concern it: upstream and kind, then
 * exact name, leading text of a pattern or label, then subject, client, group or tenant. Measured: 10,000 rules that
 * do not concern the item cost a decision as much as none (test/policy/laws.test.ts: the index never
 * changes an answer).
 */
export interface RuleIndex<R extends Rule = Rule> {
  readonly isEmpty: boolean;
  /** Rules whose `who` and `what` match, by rank. */
  matching(principal: Principal, target: Target): readonly R[];
}

/** Rules by what leads to them, and rules that anyone may match. */
interface ByWho<R> {
  readonly anyone: R[];
  readonly led: Readonly<Record<Lead["by"], Map<string, R[]>>>;
}

interface Bucket<R> {
  readonly unnamed: ByWho<R>;
  /** Rules that name no item, by the labels of which an item must have one. */
  readonly labelled: Map<string, ByWho<R>>;
  readonly exact: Map<string, ByWho<R>>;
  readonly prefixed: Map<string, ByWho<R>>;
  /** Lengths that occur among the keys of `prefixed`. */
  readonly prefixLengths: Set<number>;
  readonly all: ByWho<R>;
}

const anyUpstream = "";

export function indexRules<R extends Rule>(rules: readonly R[]): RuleIndex<R> {
  const buckets: Buckets<R> = new Map();
  for (const rule of rules) {
    for (const kind of rule.what.kind === undefined ? subjectKinds : [rule.what.kind]) {
      for (const upstream of rule.what.upstreams ?? [anyUpstream]) put(bucketAt(buckets, kind, upstream), rule);
    }
  }
  return {
    isEmpty: rules.length === 0,
    matching: (principal, target) => {
      const found: R[] = [];
      const ofKind = buckets.get(target.kind);
      for (const upstream of [target.upstream, anyUpstream]) {
        const bucket = ofKind?.get(upstream);
        if (bucket !== undefined) collect(bucket, { principal, target, found });
      }
      return found.length > 1 ? inRank(found) : found;
    },
  };
}

/** By kind, then by upstream. */
type Buckets<R> = Map<string, Map<string, Bucket<R>>>;

function bucketAt<R>(buckets: Buckets<R>, kind: string, upstream: string): Bucket<R> {
  const ofKind = entryAt(buckets, kind, () => new Map<string, Bucket<R>>());
  return entryAt(ofKind, upstream, () => ({
    unnamed: newByWho<R>(),
    labelled: new Map<string, ByWho<R>>(),
    exact: new Map<string, ByWho<R>>(),
    prefixed: new Map<string, ByWho<R>>(),
    prefixLengths: new Set<number>(),
    all: newByWho<R>(),
  }));
}

function entryAt<V>(map: Map<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function newByWho<R>(): ByWho<R> {
  return { anyone: [], led: { subject: new Map(), client: new Map(), groups: new Map(), tenant: new Map() } };
}

function put<R extends Rule>(bucket: Bucket<R>, rule: R): void {
  putByWho(bucket.all, rule);
  if (rule.what.names.by === "nothing") putUnnamed(bucket, rule);
  for (const glob of globsOf(rule.what.names)) {
    if (glob.exact !== undefined) putByWho(entryAt(bucket.exact, glob.exact, newByWho<R>), rule);
    else {
      bucket.prefixLengths.add(glob.prefix.length);
      putByWho(entryAt(bucket.prefixed, glob.prefix, newByWho<R>), rule);
    }
  }
}

function putUnnamed<R extends Rule>(bucket: Bucket<R>, rule: R): void {
  const labels = rule.what.marks?.labels;
  if (labels === undefined) putByWho(bucket.unnamed, rule);
  else {
    // Of labels that must all be there, one leads to the rule as well as any.
    const keys = labels.all ? labels.words.slice(0, 1) : labels.words;
    for (const label of keys) putByWho(entryAt(bucket.labelled, label, newByWho<R>), rule);
  }
}

function globsOf(names: Names): readonly { readonly exact: string | undefined; readonly prefix: string }[] {
  if (names.by === "nothing") return [];
  return names.by === "name" ? names.globs : names.globs.flatMap((glob) => [glob.raw, glob.normal, glob.canonical]);
}

function putByWho<R extends Rule>(lists: ByWho<R>, rule: R): void {
  const { lead } = rule.who;
  if (lead === undefined) lists.anyone.push(rule);
  else for (const value of lead.values) entryAt(lists.led[lead.by], value, () => []).push(rule);
}

interface Collection<R> {
  readonly principal: Principal;
  readonly target: Target;
  readonly found: R[];
}

function collect<R extends Rule>(bucket: Bucket<R>, into: Collection<R>): void {
  const { name, forms, facts } = into.target;
  if (forms !== undefined && forms.normal === undefined) {
    // Every deny and constrain concerns a URI that cannot be decoded, so no name narrows the search.
    collectByWho(bucket.all, into);
    return;
  }
  collectByWho(bucket.unnamed, into);
  if (bucket.labelled.size > 0) {
    for (const label of possibleLabels(facts())) collectByWho(bucket.labelled.get(label), into);
  }
  collectNamed(bucket, name, into);
  for (const reading of forms?.readings ?? []) if (reading !== name) collectNamed(bucket, reading, into);
}

function collectNamed<R extends Rule>(bucket: Bucket<R>, name: string, into: Collection<R>): void {
  collectByWho(bucket.exact.get(name), into);
  for (const length of bucket.prefixLengths) {
    if (length <= name.length) collectByWho(bucket.prefixed.get(name.slice(0, length)), into);
  }
}

function collectByWho<R extends Rule>(lists: ByWho<R> | undefined, into: Collection<R>): void {
  if (lists === undefined) return;
  const { subject, client, groups, tenant } = lists.led;
  const { principal } = into;
  collectMatching(lists.anyone, into);
  if (subject.size > 0) collectMatching(subject.get(principal.subject), into);
  if (client.size > 0) collectMatching(client.get(principal.clientId), into);
  if (tenant.size > 0) collectMatching(tenant.get(principal.tenant), into);
  if (groups.size > 0) for (const group of principal.groups) collectMatching(groups.get(group), into);
}

function collectMatching<R extends Rule>(
  rules: readonly R[] | undefined,
  { principal, target, found }: Collection<R>,
): void {
  if (rules === undefined) return;
  for (const rule of rules) {
    if (rule.who.matches(principal) && whatMatches(rule.what, rule.effect, target)) found.push(rule);
  }
}

/** Sorts by rank and drops the doubles that several values, labels or patterns bring in. */
function inRank<R extends Rule>(rules: R[]): readonly R[] {
  rules.sort((left, right) => left.rank - right.rank);
  return rules.filter((rule, index) => rule !== rules[index - 1]);
}
