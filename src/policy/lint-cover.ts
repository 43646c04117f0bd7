import { canonicalText } from "./digest.ts";
import { coverCandidates } from "./lint-candidates.ts";
import type { Found, WrittenRule } from "./lint.ts";
import { whatCovers } from "./what-covers.ts";
import { conditionsOnWho, whoCovers } from "./who-covers.ts";
import type { WhoConditions } from "./who-covers.ts";

/** A rule with what it asks of a principal, read once. */
export interface ComparedRule extends WrittenRule {
  readonly who: WhoConditions;
}

/** Rules that add nothing, since another one says the same, or more, or the contrary that wins. */
export function coverFindings(rules: {
  readonly allows: readonly WrittenRule[];
  readonly denies: readonly WrittenRule[];
  readonly constrains: readonly WrittenRule[];
}): readonly Found[] {
  const allows = rules.allows.map(asCompared);
  const denies = rules.denies.map(asCompared);
  const same = sameRules([...rules.allows, ...rules.denies, ...rules.constrains]);
  const told = new Set(same.map(({ source }) => source.id));
  const shadowed = covered(allows, denies).map(({ rule, by }) => shadowedBy(rule, by));
  const doubled = [...covered(allows, allows), ...covered(denies, denies)]
    .filter(({ rule }) => !told.has(rule.rule.id))
    .map(({ rule, by }) => coveredBy(rule, by));
  return [...same, ...shadowed, ...doubled];
}

function asCompared(rule: WrittenRule): ComparedRule {
  return { ...rule, who: conditionsOnWho(rule.source.who) };
}

function shadowedBy({ source }: WrittenRule, by: WrittenRule): Found {
  const text = `it allows nothing: the deny ${by.source.id} matches whatever it matches, and a deny wins`;
  return { id: "shadowed-by-deny", source, at: "", text };
}

function coveredBy({ source }: WrittenRule, by: WrittenRule): Found {
  return { id: "covered-rule", source, at: "", text: `it adds nothing: ${by.source.id} matches whatever it matches` };
}

/** Of each rule that is covered, the first that covers it. Of two that cover each other, the later one is covered. */
function covered(
  rules: readonly ComparedRule[],
  covering: readonly ComparedRule[],
): readonly { readonly rule: ComparedRule; readonly by: ComparedRule }[] {
  const candidates = coverCandidates(covering);
  return rules.flatMap((rule) => {
    const by = firstOf(candidates(rule), (other) => other.rule !== rule.rule && covers(other, rule));
    return by === undefined || isLater(by, rule) ? [] : [{ rule, by }];
  });
}

function firstOf<T>(lists: readonly (readonly T[])[], holds: (one: T) => boolean): T | undefined {
  for (const list of lists) {
    const found = list.find(holds);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of two rules of one effect that cover each other. */
function isLater(by: ComparedRule, rule: ComparedRule): boolean {
  return by.rule.effect === rule.rule.effect && by.rule.rank > rule.rule.rank && covers(rule, by);
}

/**
 * Whether `other` applies whenever `rule` does: for a deny of anything, and for an allow that asks for no more
 * scopes. Only what can be shown: conditions are the same when they are written the same.
 */
function covers(other: ComparedRule, rule: ComparedRule): boolean {
  const { effect, what, when, stepUp } = other.rule;
  if (when !== undefined && other.source.when !== rule.source.when) return false;
  if (effect === "allow" && !stepUp.every((scope) => rule.rule.stepUp.includes(scope))) return false;
  return whoCovers(other.who, rule.who) && whatCovers({ what, effect }, rule.rule);
}

/** Fields that change no decision. */
const asides: readonly string[] = ["id", "note", "message"];

/** Rules that are written alike but for their id and what is said of them: each after the first. */
function sameRules(rules: readonly WrittenRule[]): readonly Found[] {
  const first = new Map<string, string>();
  return rules.flatMap(({ source }): readonly Found[] => {
    const said = Object.entries(source.fields).filter(([field]) => !asides.includes(field));
    const text = canonicalText(Object.fromEntries(said));
    const known = first.get(text);
    if (known === undefined) first.set(text, source.id);
    return known === undefined ? [] : [{ id: "same-rule", source, at: "", text: `it is the same as ${known}` }];
  });
}
