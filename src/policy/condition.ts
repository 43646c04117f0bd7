import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import type { ItemFacts, ItemMarks } from "../model/item-facts.ts";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import { viewOf } from "./argument-view.ts";
import type { ViewSource } from "./argument-view.ts";
import { claimsRead } from "./claims-read.ts";
import type { ClaimsRead } from "./claims-read.ts";
import {
  ClientFacts,
  PrincipalFacts,
  RequestFacts,
  ServerFacts,
  SubjectFacts,
  newPatterns,
  ownFunctions,
  runningEnvironment,
  writtenEnvironment,
} from "./condition-environment.ts";
import type { Patterns } from "./condition-environment.ts";
import { conditionProblems } from "./condition-guard.ts";
import { rewriteCondition } from "./condition-rewrite.ts";
import { childrenOf, fieldName } from "./condition-syntax.ts";
import type { Effect } from "./language.ts";
import { marksAsked } from "./marks.ts";
import { fill } from "./meter.ts";
import type { Meter } from "./meter.ts";
import { unknownsOf } from "./partial-view.ts";
import type { Partly, Unknowns } from "./partial-view.ts";
import { quickCondition } from "./quick-condition.ts";
import type { OwnFunctions, QuickCondition } from "./quick-condition.ts";
import { newReadNotes, readPointers } from "./read-notes.ts";
import type { ReadNotes } from "./read-notes.ts";
import type { Question, RequestFactsGiven } from "./question.ts";

export type ConditionLimits = Pick<
  Limits,
  "conditionCharsMax" | "conditionNestingMax" | "conditionListItemsMax" | "conditionStepsMax"
>;

/** A compiled `when`. */
export interface Condition {
  readonly evaluate: (context: ConditionContext) => unknown;
  /** The same for most conditions and arguments, and faster; see `quickCondition`. */
  readonly quick: QuickCondition | undefined;
  /** Whether it names the variables `args` or `item`: such a condition means nothing without an item. */
  readonly aboutItem: boolean;
  readonly claims: ClaimsRead;
}

/**
 * What a condition says. `unknown`: it depends on arguments that are not known yet. A result that is
 * definite although the arguments are unknown holds for all arguments, because CEL's `&&` and `||`
 * only ignore an operand that cannot change the outcome.
 */
export type Verdict = "true" | "false" | "error" | "unknown";

/** One shape for every evaluation. */
export interface ConditionContext extends Record<string, unknown> {
  readonly principal: PrincipalFacts;
  readonly client: ClientFacts;
  readonly server: ServerFacts;
  readonly item: SubjectFacts;
  readonly args: unknown;
  readonly request: RequestFacts;
}

/** What of a rule says whether it applies to a question that it matches. */
export interface Conditional {
  readonly effect: Effect;
  /** Undefined: always. */
  readonly when: Condition | undefined;
}

/** One decision's evaluations: they share converted values, and the record of what was read. */
export interface Turn {
  /**
   * What the condition of a rule says. Of an item that may be said to be one thing or another (`ItemFacts`) it is what
   * permits least: an allow's condition is true when it is in every case, any other effect's when it is in one.
   */
  verdict(rule: Conditional): Verdict;
  /** Why the last verdict was an error, or unknown; undefined after any other. */
  because(): string | undefined;
  /** JSON pointers (RFC 6901) of the arguments read so far, sorted. */
  read(): readonly string[];
}

export type CompiledCondition =
  | { readonly condition: Condition; readonly problems?: never }
  | { readonly condition?: never; readonly problems: readonly string[] };

export interface Conditions {
  compile(text: string): CompiledCondition;
  /** `facts` is asked once, and only when a condition is evaluated. */
  begin(question: TurnQuestion, facts: () => ItemFacts): Turn;
}

export type TurnQuestion = Pick<Question, "principal" | "server"> & {
  readonly request: RequestFactsGiven;
  readonly item: Question["item"] | undefined;
  readonly args: JsonObject | undefined;
  /** Absent: what the question holds is all there is. */
  readonly partly?: Partly | undefined;
};

/**
 * The conditions of one policy. They share a meter, which is filled anew for each evaluation;
 * evaluation is synchronous and never nests, so no two evaluations meet in it.
 */
export function createConditions(limits: ConditionLimits): Conditions {
  const meter: Meter = { left: 0, exhausted: false };
  const views: Views = { principals: new WeakMap(), annotations: new WeakMap() };
  const workshop: Workshop = { limits, meter, views, ...newCompiler(limits, meter) };
  return {
    compile: (text) => compileCondition(text, workshop),
    begin: (question, facts) => beginTurn(question, facts, workshop),
  };
}

interface Workshop {
  readonly limits: ConditionLimits;
  readonly meter: Meter;
  readonly views: Views;
  readonly patterns: Patterns;
  readonly functions: OwnFunctions;
  /** The language as written, for checking, and as run. */
  readonly written: Environment;
  readonly running: Environment;
}

/** What was made for one decision and serves the next. */
interface Views {
  readonly principals: WeakMap<Principal, PrincipalFacts>;
  readonly annotations: WeakMap<ItemMarks["annotations"], ReadonlyMap<string, unknown>>;
}

type Compiler = Pick<Workshop, "patterns" | "functions" | "written" | "running">;

function newCompiler(limits: ConditionLimits, meter: Meter): Compiler {
  const patterns = newPatterns();
  const functions = ownFunctions(meter, patterns, limits.conditionListItemsMax);
  return { patterns, functions, written: writtenEnvironment(), running: runningEnvironment(functions) };
}

function compileCondition(
  text: string,
  { limits, patterns, functions, written, running }: Workshop,
): CompiledCondition {
  if (text.length > limits.conditionCharsMax) {
    return { problems: [`it is longer than ${limits.conditionCharsMax} characters`] };
  }
  try {
    const parsed = written.parse(text);
    const problems = [...typeProblems(parsed.check()), ...conditionProblems(parsed.ast, limits.conditionNestingMax)];
    for (const pattern of patternsIn(parsed.ast)) {
      const problem = patterns.add(pattern);
      if (problem !== undefined) problems.push(problem);
    }
    if (problems.length > 0) return { problems };
    const run = running.parse(rewriteCondition(parsed.ast));
    const mismatches = typeProblems(run.check());
    if (mismatches.length > 0) return { problems: mismatches };
    // The library wants an open record; the one object literal per turn keeps one shape.
    const evaluate = (context: ConditionContext): unknown => run(context);
    const quick = quickCondition(run.ast, functions);
    const aboutItem = mentions(parsed.ast, ["args", "item"]);
    return { condition: { evaluate, quick, aboutItem, claims: claimsRead(parsed.ast) } };
  } catch (error) {
    return { problems: [firstLine(error)] };
  }
}

function beginTurn(question: TurnQuestion, facts: () => ItemFacts, workshop: Workshop): Turn {
  const notes = newReadNotes();
  const { args, partly } = question;
  const isKnown = args !== undefined && partly === undefined;
  const unknown = isKnown ? undefined : unknownsOf({ hasArgs: args !== undefined, partly }, viewSource(workshop));
  let contexts: Contexts | undefined;
  let because: string | undefined;
  return {
    verdict: ({ when, effect }) => {
      if (when === undefined) return "true";
      contexts ??= contextsOf({
        question,
        facts: facts(),
        args: unknown?.args ?? argumentsOf(question, workshop, notes),
        claims: unknown?.claims,
        workshop,
      });
      const of = effect === "allow" ? contexts.allow : contexts.other;
      const said = of.map((context) => verdictIn(when, { context, unknown }, workshop));
      const least = said.length === 1 ? said[0] : leastPermitting(effect, said);
      because = least?.because;
      return least?.verdict ?? "error";
    },
    because: () => because,
    read: () => readPointers(notes),
  };
}

interface Said {
  readonly verdict: Verdict;
  readonly because?: string;
}

interface Given {
  readonly context: ConditionContext;
  readonly unknown: Unknowns | undefined;
}

/** Verdicts from the one that permits least. */
const byCaution: Readonly<Record<"allow" | "other", readonly Verdict[]>> = {
  allow: ["false", "error", "unknown", "true"],
  other: ["true", "error", "unknown", "false"],
};

function leastPermitting(effect: Effect, said: readonly Said[]): Said | undefined {
  const order = effect === "allow" ? byCaution.allow : byCaution.other;
  return said.toSorted((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict))[0];
}

function verdictIn(condition: Condition, given: Given, workshop: Workshop): Said {
  // Of arguments that are not known the quick way would be asked in vain.
  const quick = given.unknown === undefined ? quickVerdict(condition, given.context, workshop) : undefined;
  if (quick === undefined) return verdictOf(condition, given, workshop);
  return quick === "error" ? { verdict: quick, because: tooCostly(workshop) } : { verdict: quick };
}

function quickVerdict(
  { quick }: Condition,
  context: ConditionContext,
  { limits, meter }: Workshop,
): Verdict | undefined {
  fill(meter, limits.conditionStepsMax);
  const value = quick?.(context);
  if (value === undefined) return undefined;
  return meter.exhausted ? "error" : value ? "true" : "false";
}

function verdictOf(condition: Condition, { context, unknown }: Given, { limits, meter }: Workshop): Said {
  fill(meter, limits.conditionStepsMax);
  unknown?.wereTouched();
  try {
    const value = condition.evaluate(context);
    if (meter.exhausted) return { verdict: "error", because: tooCostly({ limits }) };
    if (typeof value !== "boolean") return { verdict: "error", because: "it is neither true nor false" };
    return { verdict: value ? "true" : "false" };
  } catch (error) {
    return { verdict: unknown?.wereTouched() === true ? "unknown" : "error", because: firstLine(error) };
  }
}

function tooCostly({ limits }: Pick<Workshop, "limits">): string {
  return `it costs more than ${limits.conditionStepsMax} steps`;
}

function argumentsOf({ args }: TurnQuestion, workshop: Workshop, notes: ReadNotes): unknown {
  return viewOf(args ?? {}, { ...viewSource(workshop), notes });
}

function viewSource({ meter, limits }: Workshop): Omit<ViewSource, "notes"> {
  return { meter, listItemsMax: limits.conditionListItemsMax };
}

interface ContextParts {
  readonly question: TurnQuestion;
  readonly facts: ItemFacts;
  readonly args: unknown;
  readonly claims: ReadonlyMap<string, unknown> | undefined;
  readonly workshop: Workshop;
}

/** One context for each way in which the item may be marked; nearly always there is one way. */
interface Contexts {
  readonly allow: readonly ConditionContext[];
  readonly other: readonly ConditionContext[];
}

function contextsOf(parts: ContextParts): Contexts {
  const { question, facts, workshop } = parts;
  const first = contextOf(parts);
  if (facts.possible === undefined) return { allow: [first], other: [first] };
  const under = (effect: Effect): readonly ConditionContext[] =>
    marksAsked(effect, facts).map((marks) => ({ ...first, item: subjectUnder(question, marks, workshop) }));
  return { allow: under("allow"), other: under("deny") };
}

function subjectUnder({ item }: TurnQuestion, marks: ItemMarks, workshop: Workshop): SubjectFacts {
  return new SubjectFacts(item, marks.labels, annotationsView(marks, workshop));
}

function contextOf({ question, facts, args, claims, workshop }: ContextParts): ConditionContext {
  const { principal, server, request } = question;
  return {
    principal: claims === undefined ? principalView(principal, workshop) : new PrincipalFacts(principal, claims),
    client: new ClientFacts(principal.clientId),
    server: new ServerFacts(server),
    item: subjectUnder(question, facts, workshop),
    args,
    request: new RequestFacts(request),
  };
}

function principalView(principal: Principal, { views, meter, limits }: Workshop): PrincipalFacts {
  return keptAt(views.principals, principal, () => {
    const claims = viewOf(principal.claims, { meter, notes: undefined, listItemsMax: limits.conditionListItemsMax });
    return new PrincipalFacts(principal, claims);
  });
}

function annotationsView({ annotations }: ItemMarks, { views, meter, limits }: Workshop): ReadonlyMap<string, unknown> {
  return keptAt(views.annotations, annotations, () =>
    viewOf(annotations, { meter, notes: undefined, listItemsMax: limits.conditionListItemsMax }),
  );
}

function keptAt<K extends object, V>(kept: WeakMap<K, V>, key: K, make: () => V): V {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = make();
  kept.set(key, made);
  return made;
}

function typeProblems(checked: { valid: boolean; type?: string; error?: Error }): string[] {
  if (!checked.valid) return [firstLine(checked.error)];
  return checked.type === "bool" ? [] : [`it must be true or false, and is ${checked.type ?? "something else"}`];
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : "it cannot be read";
  return text.split("\n", 1)[0] ?? text;
}

function patternsIn(node: ASTNode): readonly string[] {
  const own = node.op === "rcall" && node.args[0] === "matches" ? node.args[2][0] : undefined;
  const pattern = own === undefined ? undefined : fieldName(own);
  const deeper = childrenOf(node).flatMap(patternsIn);
  return pattern === undefined ? deeper : [pattern, ...deeper];
}

function mentions(node: ASTNode, variables: readonly string[]): boolean {
  if (node.op === "id" && variables.includes(node.args)) return true;
  return childrenOf(node).some((child) => mentions(child, variables));
}
