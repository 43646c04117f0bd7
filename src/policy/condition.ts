import type { ASTNode, Environment } from "@marcbachmann/cel-js";
import type { JsonObject } from "../model/json.ts";
import type { Limits } from "../model/limits.ts";
import type { Principal } from "../model/principal.ts";
import { ConditionFault, viewOf } from "./argument-view.ts";
import {
  ClientFacts,
  ItemFacts,
  PrincipalFacts,
  RequestFacts,
  ServerFacts,
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
  readonly item: ItemFacts;
  readonly args: unknown;
  readonly request: RequestFacts;
}

/** One decision's evaluations: they share converted values, and the record of what was read. */
export interface Turn {
  verdict(condition: Condition | undefined): Verdict;
  /** JSON pointers (RFC 6901) of the arguments read so far, sorted. */
  read(): readonly string[];
}

export type CompiledCondition =
  | { readonly condition: Condition; readonly problems?: never }
  | { readonly condition?: never; readonly problems: readonly string[] };

export interface Conditions {
  compile(text: string): CompiledCondition;
  begin(question: TurnQuestion): Turn;
}

export type TurnQuestion = Pick<Question, "principal" | "server"> & {
  readonly request: RequestFactsGiven;
  readonly item: Question["item"] | undefined;
  readonly args: JsonObject | undefined;
};

/**
 * The conditions of one policy. They share a meter, which is filled anew for each evaluation;
 * evaluation is synchronous and never nests, so no two evaluations meet in it.
 */
export function createConditions(limits: ConditionLimits): Conditions {
  const meter: Meter = { left: 0, exhausted: false };
  const facts = new WeakMap<Principal, PrincipalFacts>();
  const workshop: Workshop = { limits, meter, facts, ...newCompiler(limits, meter) };
  return {
    compile: (text) => compileCondition(text, workshop),
    begin: (question) => beginTurn(question, workshop),
  };
}

interface Workshop {
  readonly limits: ConditionLimits;
  readonly meter: Meter;
  readonly facts: WeakMap<Principal, PrincipalFacts>;
  readonly patterns: Patterns;
  readonly functions: OwnFunctions;
  /** The language as written, for checking, and as run. */
  readonly written: Environment;
  readonly running: Environment;
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
    return { condition: { evaluate, quick, aboutItem: mentions(parsed.ast, ["args", "item"]) } };
  } catch (error) {
    return { problems: [firstLine(error)] };
  }
}

function beginTurn(question: TurnQuestion, workshop: Workshop): Turn {
  const notes = newReadNotes();
  const unknown = question.args === undefined ? unknownArguments() : undefined;
  let context: ConditionContext | undefined;
  return {
    verdict: (condition) => {
      if (condition === undefined) return "true";
      context ??= contextOf(question, unknown?.value ?? argumentsOf(question, workshop, notes), workshop);
      // Of arguments that are not known the quick way would be asked in vain.
      const quick = unknown === undefined ? quickVerdict(condition, context, workshop) : undefined;
      return quick ?? verdictOf(condition, { context, unknown }, workshop);
    },
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
  { context, unknown }: { readonly context: ConditionContext; readonly unknown: UnknownArguments | undefined },
  { limits, meter }: Workshop,
): Verdict {
  fill(meter, limits.conditionStepsMax);
  unknown?.wereTouched();
  try {
    const value = condition.evaluate(context);
    if (meter.exhausted || typeof value !== "boolean") return "error";
    return value ? "true" : "false";
  } catch {
    return unknown?.wereTouched() === true ? "unknown" : "error";
  }
}

function argumentsOf({ args }: TurnQuestion, { meter, limits }: Workshop, notes: ReadNotes): unknown {
  return viewOf(args ?? {}, { meter, notes, listItemsMax: limits.conditionListItemsMax });
}

function contextOf(question: TurnQuestion, args: unknown, workshop: Workshop): ConditionContext {
  const { principal, server, item, request } = question;
  return {
    principal: factsOf(principal, workshop),
    client: new ClientFacts(principal.clientId),
    server: new ServerFacts(server),
    item: new ItemFacts(item?.upstream ?? "", item?.kind ?? "", item?.name ?? ""),
    args,
    request: new RequestFacts(request),
  };
}

function factsOf(principal: Principal, { facts, meter, limits }: Workshop): PrincipalFacts {
  const known = facts.get(principal);
  if (known !== undefined) return known;
  const claims = viewOf(principal.claims, { meter, notes: undefined, listItemsMax: limits.conditionListItemsMax });
  const made = new PrincipalFacts(principal, claims);
  facts.set(principal, made);
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

interface UnknownArguments {
  readonly value: unknown;
  /** Whether they were touched since the last call. */
  wereTouched(): boolean;
}

/** Arguments that nobody knows yet: whatever is done with them is noted and throws. */
function unknownArguments(): UnknownArguments {
  let touched = false;
  const touch = (): never => {
    touched = true;
    throw new ConditionFault("the arguments are not known");
  };
  return {
    value: new Proxy(new Map(), { get: touch, has: touch, ownKeys: touch, getPrototypeOf: touch }),
    wereTouched: () => {
      const before = touched;
      touched = false;
      return before;
    },
  };
}
