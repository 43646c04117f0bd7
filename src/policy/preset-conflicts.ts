import type { Json } from "../model/json.ts";
import { newCandidates } from "./candidates.ts";
import type { Traits } from "./candidates.ts";
import { canonicalText } from "./digest.ts";
import type { Names, What } from "./what.ts";
import type { Who } from "./who.ts";

/** A rule that presets something. */
export interface PresettingRule {
  readonly id: string;
  readonly who: Who;
  readonly what: What;
  readonly presets: ReadonlyMap<string, Json>;
}

export interface PresetConflict<R> {
  readonly parameter: string;
  readonly rule: R;
  readonly other: R;
}

/**
 * Pairs of rules that give one argument two values and may both apply to one call: no policy holds such a pair, as
 * there is no tighter of two values. Whether they may is told from who and what alone; of two patterns only that
 * neither begins like the other shows that they never match one name. Of each rule's conflicts the first is named.
 */
export function presetConflicts<R extends PresettingRule>(rules: readonly R[]): readonly PresetConflict<R>[] {
  const byParameter = new Map<string, R[]>();
  for (const rule of rules) {
    for (const parameter of rule.presets.keys()) {
      const among = byParameter.get(parameter);
      if (among === undefined) byParameter.set(parameter, [rule]);
      else among.push(rule);
    }
  }
  return [...byParameter].flatMap(([parameter, among]) => conflictsOn(parameter, among));
}

interface Preset<R> {
  readonly rule: R;
  readonly value: string;
  readonly traits: Traits;
  readonly beginnings: readonly string[];
}

function conflictsOn<R extends PresettingRule>(parameter: string, rules: readonly R[]): readonly PresetConflict<R>[] {
  const seen = newCandidates<Preset<R>>();
  const conflicts: PresetConflict<R>[] = [];
  for (const rule of rules) {
    const value = canonicalText(rule.presets.get(parameter));
    const preset = { rule, value, traits: traitsOf(rule), beginnings: beginningsOf(rule.what.names) };
    const other = seen.find(preset, (one) => one.value !== value && !areDisjoint(one, preset));
    if (other !== undefined) conflicts.push({ parameter, rule, other: other.rule });
    seen.add(preset);
  }
  return conflicts;
}

function traitsOf({ who, what }: PresettingRule): Traits {
  const traits = new Map(who.single);
  if (what.servers !== undefined) traits.set("server", what.servers);
  if (what.upstreams !== undefined) traits.set("upstream", what.upstreams);
  return traits;
}

/** What names that match begin with. A whole name ends in a mark, so that it begins no longer one. */
function beginningsOf(names: Names): readonly string[] {
  if (names.by !== "name") return [""];
  return names.globs.map((glob) => (glob.exact === undefined ? glob.prefix : `${glob.exact}\0`));
}

/** Not by their digests: of an item whose definition nobody knows, both apply. */
function areDisjoint<R extends PresettingRule>(one: Preset<R>, other: Preset<R>): boolean {
  const [mine, theirs] = [one.rule.what, other.rule.what];
  return (
    mine.kind !== theirs.kind ||
    traitsAreDisjoint(one.traits, other.traits) ||
    contradict(mine, theirs) ||
    namesAreDisjoint(mine.names, theirs.names)
  );
}

function traitsAreDisjoint(one: Traits, other: Traits): boolean {
  for (const [name, values] of one) {
    const others = other.get(name);
    if (others !== undefined && !values.some((value) => others.includes(value))) return true;
  }
  return false;
}

function contradict({ marks: one }: What, { marks: other }: What): boolean {
  if (one === undefined || other === undefined) return false;
  return [...one.annotations].some(([name, value]) => (other.annotations.get(name) ?? value) !== value);
}

function namesAreDisjoint(one: Names, other: Names): boolean {
  if (one.by !== "name" || other.by !== "name") return false;
  return one.globs.every((glob) =>
    other.globs.every((against) => {
      if (glob.exact !== undefined) return !against.matches(glob.exact);
      if (against.exact !== undefined) return !glob.matches(against.exact);
      return !glob.prefix.startsWith(against.prefix) && !against.prefix.startsWith(glob.prefix);
    }),
  );
}
