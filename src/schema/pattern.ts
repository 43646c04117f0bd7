import { RE2JS } from "re2js";
import { limits } from "../model/limits.ts";
import { linearSyntax } from "./pattern-syntax.ts";

/** A pattern on the linear engine, shaped as Ajv asks for it. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Unique per pattern: Ajv keys compiled patterns by this text, and one key for all would merge them. */
  toString(): string;
}

/**
 * What the patterns of one schema may still cost while one value is checked, in characters times program
 * size. All of them share it: a hundred patterns on one long text are as slow as one that is a hundred
 * times as large.
 */
export interface PatternBudget {
  left: number;
}

/** The budget is spent. A `RangeError`, as what else ends a check early: the value is too large for its schema. */
class PatternBudgetSpent extends RangeError {
  override readonly name = "PatternBudgetSpent";
}

/**
 * `source` as a linear pattern, or undefined when it cannot be enforced: no valid ECMA-262 pattern
 * with the `u` flag (JSON Schema 2020-12 §6.4), over `schemaPatternCharsMax`, with look-around or
 * back-references, or with more repetition than RE2 allows. Matching is unanchored, as in JSON Schema.
 *
 * A test throws `PatternBudgetSpent` when it would cost more than `budget` has left. It has no answer then:
 * "does not match" would satisfy `not`, and let through what the schema rules out.
 */
export function linearPattern(source: string, budget: PatternBudget): LinearPattern | undefined {
  if (source.length > limits.schemaPatternCharsMax || !isUnicodePattern(source)) return undefined;
  const syntax = linearSyntax(source);
  const engine = syntax === undefined ? undefined : compiled(syntax);
  if (engine === undefined) return undefined;
  const size = engine.programSize();
  return {
    test: (text) => {
      budget.left -= text.length * size;
      if (budget.left < 0) throw new PatternBudgetSpent("a text is too long for the patterns of its schema");
      return engine.test(text);
    },
    toString: () => `/${source}/`,
  };
}

/** Constructing does not match anything, so a foreign pattern costs no more than its length here. */
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
