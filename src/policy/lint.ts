import type { Policy } from "./compile.ts";
import { argumentFindings } from "./lint-arguments.ts";
import { knownItems, unmatchedFindings } from "./lint-catalog.ts";
import type { KnownCatalog } from "./lint-catalog.ts";
import { coverFindings } from "./lint-cover.ts";
import { neverFindings } from "./lint-never.ts";
import type { RuleSource } from "./rule-source.ts";
import type { Rule } from "./rule.ts";
import type { What } from "./what.ts";

export type LintId =
  | "shadowed-by-deny"
  | "same-rule"
  | "covered-rule"
  | "never-matches"
  | "scope-in-who"
  | "pattern-without-lock"
  | "matches-nothing-known"
  | "unknown-argument"
  | "wrong-literal";

/** Something that loads and is probably not meant. A `hint` changes no decision. */
export interface LintFinding {
  readonly id: LintId;
  readonly severity: "warning" | "hint";
  /** `policies/support.yaml#/rules/0/what`. */
  readonly path: string;
  readonly text: string;
}

/** A rule as it runs and as it is written. */
export interface WrittenRule {
  readonly rule: Rule;
  readonly source: RuleSource;
}

export interface LintContext {
  /** The upstreams of each virtual server. */
  readonly servers: ReadonlyMap<string, readonly string[]>;
  /** Upstreams whose unapproved items the catalog lock keeps from patterns: those that it is enforced for. */
  readonly lockedUpstreams: ReadonlySet<string>;
  /** Definitions that are known; undefined: none are, and nothing is said of names and arguments. */
  readonly known?: KnownCatalog | undefined;
}

/**
 * What is doubtful about a policy that compiles, by the place in its documents. A rule whose `note` holds
 * `lint-ok: ID` (or several, with commas between them) is not spoken of under these ids. Only what can be shown is
 * said: of a schema that combines others, and of a condition that computes names, nothing is.
 */
export function lintPolicy(
  policy: Policy,
  sources: ReadonlyMap<string, RuleSource>,
  context: LintContext,
): readonly LintFinding[] {
  const { allows, denies, constrains } = policy.itemRules;
  const written = (rules: readonly Rule[]): readonly WrittenRule[] =>
    rules.flatMap((rule) => {
      const source = sources.get(rule.id);
      return source === undefined ? [] : [{ rule, source }];
    });
  const by = { allows: written(allows), denies: written(denies), constrains: written(constrains) };
  const all = [...by.allows, ...by.denies, ...by.constrains];
  const known = context.known === undefined ? undefined : knownItems(context.known);
  const found: readonly Found[] = [
    ...coverFindings(by),
    ...neverFindings(all, context.servers),
    ...scopeFindings(by.allows),
    ...patternFindings(by.allows, context),
    ...(known === undefined ? [] : [...unmatchedFindings(all, known), ...argumentFindings(all, known)]),
  ];
  return found
    .filter(({ id, source }) => !isAccepted(source, id))
    .map(({ id, source, at, text }): LintFinding => ({ id, severity: severityOf(id), path: source.path + at, text }))
    .sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
}

/** A finding before it is known whether the rule's note accepts it. `at` is the JSON pointer within the rule. */
export interface Found {
  readonly id: LintId;
  readonly source: RuleSource;
  readonly at: string;
  readonly text: string;
}

function severityOf(id: LintId): LintFinding["severity"] {
  return id === "same-rule" || id === "covered-rule" ? "hint" : "warning";
}

function isAccepted({ note }: RuleSource, id: LintId): boolean {
  const accepted = /lint-ok:\s*([a-z-]+(?:\s*,\s*[a-z-]+)*)/.exec(note ?? "")?.[1] ?? "";
  return accepted.split(/\s*,\s*/).includes(id);
}

function scopeFindings(allows: readonly WrittenRule[]): readonly Found[] {
  return allows
    .filter(({ rule }) => rule.who.scopes.length > 0)
    .map(({ source }) => {
      const text = "whoever lacks the scope is denied; with `stepUp` the client is told which scope to ask for";
      return { id: "scope-in-who", source, at: "/who/scopes", text };
    });
}

/** One finding for all: what it asks for is one lock. */
function patternFindings(allows: readonly WrittenRule[], context: LintContext): readonly Found[] {
  const open = allows
    .filter(({ rule, source }) => isOpen(rule.what) && !isAccepted(source, "pattern-without-lock"))
    .map(({ rule, source }) => ({ source, upstreams: unlockedIn(rule.what, context) }))
    .filter(({ upstreams }) => upstreams.length > 0);
  const [first, ...others] = open;
  if (first === undefined) return [];
  const who = others.length === 0 ? "this allow means" : `this and ${others.length} more allows mean`;
  const where = [...new Set(open.flatMap(({ upstreams }) => upstreams))].sort().join(", ");
  const text = `${who} items by a pattern, or any: without an enforced catalog lock also those that ${where} may add tomorrow`;
  return [{ id: "pattern-without-lock", source: first.source, at: "/what", text }];
}

/** The upstreams that a rule means of which no lock is enforced. */
function unlockedIn(what: What, { servers, lockedUpstreams }: LintContext): readonly string[] {
  const served = (what.servers ?? [...servers.keys()]).flatMap((server) => servers.get(server) ?? []);
  const meant = [...new Set(served)].filter((upstream) => what.upstreams?.includes(upstream) ?? true);
  return meant.filter((upstream) => !lockedUpstreams.has(upstream));
}

const lockedKinds: readonly What["kind"][] = [undefined, "tool", "prompt", "template"];

function isOpen({ kind, names, digests }: What): boolean {
  if (!lockedKinds.includes(kind) || digests !== undefined) return false;
  if (names.by === "nothing") return true;
  return names.by === "name"
    ? names.globs.some(({ exact }) => exact === undefined)
    : names.globs.some(({ raw }) => raw.exact === undefined);
}
