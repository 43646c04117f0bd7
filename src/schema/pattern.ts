import { RE2JS } from "re2js";
import { limits } from "../model/limits.ts";
import { linearSyntax } from "./pattern-syntax.ts";

/** A pattern on the linear engine, shaped as Ajv asks for it. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Unique per pattern: Ajv keys compiled patterns by this text, and one key for all would merge them. */
  toString(): string;
}

/** What the patterns of one schema may still cost. All of them share it: a hundred are as slow as a large one. */
export interface PatternBudget {
  /** While one value is checked: characters times program size. */
  stepsLeft: number;
  /** While they are compiled: instructions of their programs. */
  instructionsLeft: number;
}

/** The budget is spent. A `RangeError`, as what else ends a check early: the value is too large for its schema. */
class PatternBudgetSpent extends RangeError {
  override readonly name = "PatternBudgetSpent";
}

/** A property is a table that both engines build whenever one is written: up to 2 ms. */
const instructionsPerPropertyRead = 200;

/**
 * `source` as a linear pattern. `unenforceable`: it is no valid ECMA-262 pattern with the `u` flag (JSON
 * Schema 2020-12 §6.4), is over `schemaPatternCharsMax`, or has look-around, back-references or more
 * repetition than RE2 allows. `too-large`: as a program it would exceed `schemaPatternInstructionsMax` or
 * what `budget` has left, which is found without compiling it. Matching is unanchored, as in JSON Schema.
 *
 * A test throws `PatternBudgetSpent` when it would cost more than `budget` has left. It has no answer then:
 * "does not match" would satisfy `not`, and let through what the schema rules out.
 */
export function linearPattern(source: string, budget: PatternBudget): LinearPattern | "unenforceable" | "too-large" {
  if (source.length > limits.schemaPatternCharsMax) return "unenforceable";
  if (!affords(budget, propertiesIn(source) * instructionsPerPropertyRead)) return "too-large";
  const syntax = isUnicodePattern(source) ? linearSyntax(source) : undefined;
  if (syntax === undefined) return "unenforceable";
  if (!affords(budget, syntax.instructions)) return "too-large";
  const engine = compiled(syntax.text);
  return engine === undefined ? "unenforceable" : metered(source, engine, budget);
}

/** Takes what is afforded. */
function affords(budget: PatternBudget, instructions: number): boolean {
  if (instructions > limits.schemaPatternInstructionsMax) return false;
  budget.instructionsLeft -= instructions;
  return budget.instructionsLeft >= 0;
}

function propertiesIn(source: string): number {
  return source.split(/\\p\{/i).length - 1;
}

/**
 * `find` and not the engine's `test`: that builds a deterministic automaton, which is quick on text like text
 * that it has met, and on other text up to twenty times as slow for each step as the simulation.
 */
function metered(source: string, engine: RE2JS, budget: PatternBudget): LinearPattern {
  const size = engine.programSize();
  return {
    test: (text) => {
      budget.stepsLeft -= (text.length + 1) * size;
      if (budget.stepsLeft < 0) throw new PatternBudgetSpent("a text is too long for the patterns of its schema");
      return engine.matcher(text).find();
    },
    toString: () => `/${source}/`,
  };
}

/** Constructing does not match anything: apart from properties, a foreign pattern costs no more than its length. */
function isUnicodePattern(source: string): boolean {
  try {
    return new RegExp(source, "u").unicode;
  } catch {
    return false;
  }
}

function compiled(syntax: string): RE2JS | undefined {
  try {
    return RE2JS.compile(syntax);
  } catch {
    return undefined;
  }
}
