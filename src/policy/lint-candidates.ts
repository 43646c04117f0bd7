import type { Glob } from "./glob.ts";
import type { ComparedRule } from "./lint-cover.ts";
import type { Names } from "./what.ts";

/**
 * The rules that can cover another one at all: without a condition or with the same one, and then by the names they are
 * about or by whom they are for, whichever are fewer. Comparing each of 10,000 rules with each takes minutes.
 */
export function coverCandidates(rules: readonly ComparedRule[]): (rule: ComparedRule) => Lists {
  const byCondition = new Map<string | undefined, ComparedRule[]>();
  for (const rule of rules) listAt(byCondition, rule.source.when).push(rule);
  const indexes = new Map([...byCondition].map(([when, alike]) => [when, candidatesAmong(alike)]));
  return (rule) => {
    const { when } = rule.source;
    const unconditional = indexes.get(undefined)?.(rule) ?? [];
    return when === undefined ? unconditional : [...unconditional, ...(indexes.get(when)?.(rule) ?? [])];
  };
}

function candidatesAmong(rules: readonly ComparedRule[]): (rule: ComparedRule) => Lists {
  const names = byNames(rules);
  const leads = byLeads(rules);
  return (rule) => {
    const [one, other] = [names(rule), leads(rule)];
    return sizeOf(one) <= sizeOf(other) ? one : other;
  };
}

type Lists = readonly (readonly ComparedRule[])[];

function sizeOf(lists: Lists): number {
  return lists.reduce((sum, list) => sum + list.length, 0);
}

function byNames(rules: readonly ComparedRule[]): (rule: ComparedRule) => Lists {
  const unnamed: ComparedRule[] = [];
  const exact = new Map<string, ComparedRule[]>();
  const prefixed = new Map<string, ComparedRule[]>();
  for (const rule of rules) {
    const globs = globsOf(rule.rule.what.names);
    if (globs.length === 0) unnamed.push(rule);
    for (const glob of globs) {
      if (glob.exact === undefined) listAt(prefixed, glob.prefix).push(rule);
      else listAt(exact, glob.exact).push(rule);
    }
  }
  const lengths = new Set([...prefixed.keys()].map((prefix) => prefix.length));
  const under = (glob: Glob): Lists => [
    ...(glob.exact === undefined ? [] : [exact.get(glob.exact) ?? []]),
    ...[...lengths]
      .filter((length) => length <= glob.prefix.length)
      .map((length) => prefixed.get(glob.prefix.slice(0, length)) ?? []),
  ];
  // What covers a rule covers its first pattern, in one form at least.
  return ({ rule }) => [unnamed, ...firstGlobOf(rule.what.names).flatMap(under)];
}

function globsOf(names: Names): readonly Glob[] {
  if (names.by === "nothing") return [];
  return names.by === "name" ? names.globs : names.globs.flatMap(({ raw, normal }) => [raw, normal]);
}

function firstGlobOf(names: Names): readonly Glob[] {
  return globsOf(names).slice(0, names.by === "uri" ? 2 : 1);
}

function byLeads(rules: readonly ComparedRule[]): (rule: ComparedRule) => Lists {
  const unled: ComparedRule[] = [];
  const led = new Map<string, ComparedRule[]>();
  const fields = new Set<string>();
  for (const rule of rules) {
    const { lead } = rule.rule.who;
    if (lead === undefined) unled.push(rule);
    else {
      fields.add(lead.by);
      for (const value of lead.values) listAt(led, `${lead.by} ${value}`).push(rule);
    }
  }
  // Whoever covers a rule means each of its values, and every one of those that all must be there.
  return ({ who }) => [
    unled,
    ...[...fields].flatMap((field) => {
      const wanted = who.get(field);
      const values = wanted?.all === true ? wanted.values : (wanted?.values.slice(0, 1) ?? []);
      return values.map((value) => led.get(`${field} ${String(value)}`) ?? []);
    }),
  ];
}

function listAt<K>(lists: Map<K, ComparedRule[]>, key: K): ComparedRule[] {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const made: ComparedRule[] = [];
  lists.set(key, made);
  return made;
}
