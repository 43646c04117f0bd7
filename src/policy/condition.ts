import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import type { ItemFacts } from "../model/item-facts.ts";
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

/** One decision's evaluations: they share converted values, and the record of what was read. */
export interface Turn {
  verdict(condition: Condition | undefined): Verdict;
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
  readonly annotations: WeakMap<ItemFacts["annotations"], ReadonlyMap<string, unknown>>;
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
  let context: ConditionContext | undefined;
  let because: string | undefined;
  return {
    verdict: (condition) => {
      if (condition === undefined) return "true";
      context ??= contextOf({
        question,
        facts: facts(),
        args: unknown?.args ?? argumentsOf(question, workshop, notes),
        claims: unknown?.claims,
        workshop,
      });
      // Of arguments that are not known the quick way would be asked in vain.
      const quick = unknown === undefined ? quickVerdict(condition, context, workshop) : undefined;
      if (quick !== undefined) {
        because = quick === "error" ? tooCostly(workshop) : undefined;
        return quick;
      }
      const slow = verdictOf(condition, { context, unknown }, workshop);
      because = slow.because;
      return slow.verdict;
    },
    because: () => because,
    read: () => readPointers(notes),
  };
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

function verdictOf(
  condition: Condition,
  { context, unknown }: { readonly context: ConditionContext; readonly unknown: Unknowns | undefined },
  { limits, meter }: Workshop,
): { readonly verdict: Verdict; readonly because?: string } {
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

function contextOf({ question, facts, args, claims, workshop }: ContextParts): ConditionContext {
  const { principal, server, item, request } = question;
  return {
    principal: claims === undefined ? principalView(principal, workshop) : new PrincipalFacts(principal, claims),
    client: new ClientFacts(principal.clientId),
    server: new ServerFacts(server),
    item: new SubjectFacts(item, facts.labels, annotationsView(facts, workshop)),
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

function annotationsView({ annotations }: ItemFacts, { views, meter, limits }: Workshop): ReadonlyMap<string, unknown> {
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
