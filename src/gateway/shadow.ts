import type { Entry } from "../catalog/table.ts";
import type { View } from "../catalog/views.ts";
import type { Decision } from "../model/decision.ts";
import { asOutcome, changeBetween, type Change } from "../policy/change.ts";
import type { Policy } from "../policy/compile.ts";
import { listing } from "../policy/decide.ts";
import { obligationsOf, shapingOf } from "../policy/obligations.ts";
import type { Question } from "../policy/question.ts";
import type { Exchange } from "./exchange.ts";
import type { Gateway } from "./gateway.ts";
import { inForceOf, type Candidate } from "./policy-in-force.ts";
import { questionAbout } from "./steps/question.ts";

/** How policies that are tried out would have decided, where that differs. */
export interface Shadowed {
  readonly policy: string;
  readonly change: Exclude<Change, "same">;
  /** Of a decision. Absent where an item that is hidden would be listed, and for lists. */
  readonly effect?: Decision["effect"];
  readonly rule?: string;
  /** Of a list: how many items would be shown besides, and how many no more. */
  readonly gained?: number;
  readonly lost?: number;
}

/**
 * Compares a decision with that of the policies that are tried out. It sets `shadowed` and counts, and does nothing
 * else: whatever goes wrong here is told to the log alone, and the exchange goes on as if there were no such policies.
 */
export function shadowDecision(x: Exchange, g: Gateway, decided: Decision, again: (policy: Policy) => Decision): void {
  beside(x, g, (candidate) => {
    const would = isHeld(g, x.target?.entry, candidate) ? heldBack : again(candidate.policy);
    const change = changeBetween(asOutcome(decided), asOutcome(would));
    const rule = would.rule === undefined ? {} : { rule: would.rule };
    return change === "same" ? change : { policy: candidate.policy.digest, change, effect: would.effect, ...rule };
  });
}

/** By the lock that is tried out, whatever its policies say. */
const heldBack: Decision = { effect: "deny", reason: "no-rule-allows", read: [] };

/** The same of what is laid upon an allowed use of an item, and of its shape. */
export function shadowDuties(x: Exchange, g: Gateway, question: Question): void {
  beside(x, g, (candidate) => {
    const inForce = inForceOf(x, g).policy;
    if (x.shadowed !== undefined || duties(inForce, question) === duties(candidate.policy, question)) return undefined;
    return { policy: candidate.policy.digest, change: "changed", effect: "allow" };
  });
}

/** Whether an item that is hidden from the principal would be listed. */
export function shadowHidden(x: Exchange, g: Gateway, hidden: readonly Entry[]): void {
  beside(x, g, (candidate) => {
    const shown = hidden.some((entry) => wouldShow(x, g, { entry, candidate }));
    return shown ? { policy: candidate.policy.digest, change: "gain" } : "same";
  });
}

/** What of a list would be shown besides and no more. Worked out once for a view, as a list is. */
export function shadowList(x: Exchange, g: Gateway, view: View): void {
  beside(x, g, (candidate) => {
    const known = compared.get(view);
    if (known?.candidate === candidate) return known.outcome;
    const outcome = compareLists(x, g, { view, candidate });
    compared.set(view, { candidate, outcome });
    return outcome;
  });
}

const compared = new WeakMap<View, { readonly candidate: Candidate; readonly outcome: Shadowed | "same" }>();

function compareLists(x: Exchange, g: Gateway, of: { view: View; candidate: Candidate }): Shadowed | "same" {
  const { view, candidate } = of;
  let [gained, lost] = [0, 0];
  for (const entry of view.table.entries) {
    if (entry.connects) continue;
    const before = entry.withheld === undefined && isListed(x, g, { entry, policy: inForceOf(x, g).policy });
    const after = wouldShow(x, g, { entry, candidate });
    if (!before && after) gained += 1;
    if (before && !after) lost += 1;
  }
  if (gained + lost === 0) return "same";
  const change = lost === 0 ? "gain" : gained === 0 ? "lose" : "changed";
  return { policy: candidate.policy.digest, change, gained, lost };
}

function wouldShow(x: Exchange, g: Gateway, of: { readonly entry: Entry; readonly candidate: Candidate }): boolean {
  const { entry, candidate } = of;
  const isSound = entry.withheld === undefined || entry.withheld.code === drifted;
  return isSound && !isHeld(g, entry, candidate) && isListed(x, g, { entry, policy: candidate.policy });
}

const drifted = "CATALOG_ITEM_DRIFTED";

/** Whether the lock that is tried out would hold the item back. Without another lock it is as it is now. */
function isHeld(g: Gateway, entry: Entry | undefined, { lock }: Candidate): boolean {
  if (entry === undefined || entry.connects) return false;
  if (lock === undefined || lock.digest === g.inForce().lock?.digest) return entry.withheld?.code === drifted;
  const { mode, reason } = g.verdictOn(entry.item, lock);
  return mode === "enforce" && reason !== undefined;
}

function isListed(x: Exchange, g: Gateway, { entry, policy }: { entry: Entry; policy: Policy }): boolean {
  return listing(policy, questionAbout(x, entry.item, g.now())) === "listed";
}

/** Everything but the ids of rules. */
function duties(policy: Policy, question: Question): string {
  const { limits, rules, ...obligations } = obligationsOf(policy, question);
  const { presets, rules: shapedBy, ...shape } = shapingOf(policy, question);
  if (rules.length + shapedBy.length === 0) return "";
  return JSON.stringify([obligations, limits.map((limit) => ({ ...limit, rule: "" })), shape, [...presets].sort()]);
}

function beside(x: Exchange, g: Gateway, compare: (candidate: Candidate) => Shadowed | "same" | undefined): void {
  const candidate = inForceOf(x, g).shadow;
  if (candidate === undefined) return;
  try {
    const outcome = compare(candidate);
    if (outcome === undefined) return;
    g.observeShadow(outcome === "same" ? "same" : outcome.change);
    if (outcome !== "same") x.shadowed = outcome;
  } catch (cause) {
    g.logRefusal({ ref: x.ref, code: "INTERNAL_FAULT", during: "shadow" }, cause);
  }
}
