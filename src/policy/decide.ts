import type { Decision, Listing } from "../model/decision.ts";
import { noFacts } from "../model/item-facts.ts";
import type { Principal } from "../model/principal.ts";
import type { Policy } from "./compile.ts";
import type { Turn, Verdict } from "./condition.ts";
import type { Question } from "./question.ts";
import type { Rule } from "./rule.ts";
import { targetOf } from "./what.ts";

type Denied = Extract<Decision, { readonly effect: "deny" }>;

/**
 * Decides one use of one item. Deny wins; then any allow whose condition holds and whose scopes are
 * there allows; then step-up, when only scopes are missing; otherwise deny. A condition that errs never
 * permits: an erring allow does not allow, an erring deny denies, and a condition on arguments that are
 * not known (`args: undefined`) counts as erring. `read` names the arguments that conditions looked at.
 *
 * Does not check that the item exists, is listed, or that the arguments fit its schema.
 */
export function decide(policy: Policy, question: Question): Decision {
  if (isOutside(question)) return { effect: "deny", reason: "outside-token", read: [] };
  const target = targetOf(question.server, question.item, policy.factsOf);
  const turn = policy.conditions.begin(question, target.facts);
  return (
    firstDenial(policy.denies.matching(question.principal, target), turn) ??
    bestAllowance(policy.allows.matching(question.principal, target), question.principal, turn)
  );
}

/**
 * Whether an item is shown: when it is not surely denied with the arguments unknown. So whatever could
 * be allowed or stepped up to under some arguments is listed, and what is hidden is denied under all.
 * `question.args` is not looked at.
 */
export function listing(policy: Policy, question: Omit<Question, "args">): Listing {
  if (isOutside(question)) return "hidden";
  const target = targetOf(question.server, question.item, policy.factsOf);
  const turn = policy.conditions.begin({ ...question, args: undefined }, target.facts);
  for (const rule of policy.denies.matching(question.principal, target)) {
    const verdict = turn.verdict(rule);
    if (verdict === "true" || verdict === "error") return "hidden";
  }
  const mayAllow = policy.allows.matching(question.principal, target).some((rule) => {
    const verdict = turn.verdict(rule);
    return verdict === "true" || verdict === "unknown";
  });
  return mayAllow ? "listed" : "hidden";
}

/**
 * Decides an exchange that concerns no item (initialize, discover, ping, notifications, DELETE). It is
 * allowed unless a deny matches that names no upstream and no item and whose condition asks for none.
 * Such a deny also matches when its condition errs.
 */
export function decideServer(policy: Policy, question: Omit<Question, "item" | "args">): Decision {
  const { principal, server } = question;
  const turn = policy.conditions.begin({ ...question, item: undefined, args: undefined }, () => noFacts);
  const matching = policy.serverDenies.filter(
    (rule) => rule.who.matches(principal) && (rule.what.servers?.includes(server) ?? true),
  );
  return firstDenial(matching, turn) ?? { effect: "allow", rule: "", read: [] };
}

/**
 * Whether some rule allows this principal something of an upstream, and none denies all of it: for what stands in the
 * place of items that nobody knows yet. Conditions count for nothing, as there is no item that they could be about.
 */
export function reaches(
  policy: Policy,
  {
    principal,
    server,
    upstream,
  }: { readonly principal: Principal; readonly server: string; readonly upstream: string },
): boolean {
  const isBound = principal.boundTo?.some((item) => item.upstream === upstream) === false;
  const concerns = ({ who, what }: Rule): boolean =>
    what.kind !== "clientFeature" &&
    (what.servers?.includes(server) ?? true) &&
    (what.upstreams?.includes(upstream) ?? true) &&
    who.matches(principal);
  const deniesAll = ({ what, when }: Rule): boolean =>
    when === undefined && what.kind === undefined && what.marks === undefined && what.names.by === "nothing";
  return (
    !isBound &&
    policy.itemRules.allows.some(concerns) &&
    !policy.itemRules.denies.some((rule) => deniesAll(rule) && concerns(rule))
  );
}

/**
 * A token may be bound to items: then no rule allows another one, nor what upstreams ask of the client. Names are
 * the upstream's own and compare exactly, so that a binding never means more than it says.
 */
export function isOutside({ principal, item }: Pick<Question, "principal" | "item">): boolean {
  return (
    principal.boundTo?.some(
      ({ upstream, kind, name }) => upstream === item.upstream && kind === item.kind && name === item.name,
    ) === false
  );
}

function firstDenial(rules: readonly Rule[], turn: Turn): Denied | undefined {
  for (const rule of rules) {
    const verdict = turn.verdict(rule);
    if (verdict !== "false") return denied(rule, verdict === "true" ? "denied-by-rule" : "condition-error", turn);
  }
  return undefined;
}

function denied(rule: Rule, reason: Denied["reason"], turn: Turn): Denied {
  const { id, message } = rule;
  return { effect: "deny", rule: id, reason, ...(message === undefined ? {} : { message }), read: turn.read() };
}

function bestAllowance(rules: readonly Rule[], principal: Principal, turn: Turn): Decision {
  const failed: { rule: Rule; verdict: Verdict }[] = [];
  const steps: Step[] = [];
  for (const rule of rules) {
    const verdict = turn.verdict(rule);
    if (verdict !== "true") failed.push({ rule, verdict });
    else {
      const missing = rule.stepUp.filter((scope) => !principal.scopes.includes(scope));
      if (missing.length === 0) return { effect: "allow", read: turn.read(), rule: rule.id };
      steps.push({ rule, missing });
    }
  }
  return leastStep(steps, turn) ?? defaultDeny(failed, turn);
}

interface Step {
  readonly rule: Rule;
  readonly missing: readonly string[];
}

/** All scopes of one rule: the one that lacks fewest, of equals the first by id. */
function leastStep(steps: readonly Step[], turn: Turn): Decision | undefined {
  const [first, ...rest] = steps;
  if (first === undefined) return undefined;
  const { rule, missing } = rest.reduce(
    (best, step) => (step.missing.length < best.missing.length ? step : best),
    first,
  );
  return { effect: "step-up", rule: rule.id, scopes: rule.stepUp, missing, read: turn.read() };
}

/** Names the allow that came closest: one whose condition was false (with a message, if any has one), then one that erred. */
function defaultDeny(failed: readonly { rule: Rule; verdict: Verdict }[], turn: Turn): Denied {
  const untrue = failed.filter(({ verdict }) => verdict === "false");
  const closest = untrue.find(({ rule }) => rule.message !== undefined) ?? untrue[0] ?? failed[0];
  if (closest === undefined) return { effect: "deny", reason: "no-rule-allows", read: turn.read() };
  return denied(closest.rule, closest.verdict === "false" ? "condition-false" : "condition-error", turn);
}
