import { RE2JS } from "re2js";
import { limits } from "../model/limits.ts";
import { linearSyntax } from "./pattern-syntax.ts";

/** A pattern on the linear engine, shaped as Ajv asks for it. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Unique per pattern: Ajv keys compiled patterns by this text, and one key for all would merge them. */
  toString(): string;
}

/** Characters times program size that one test may cost; about half a second on the slowest path. */
const stepsMax = 50_000_000;

/**
 * `source` as a linear pattern, or undefined when it cannot be enforced: no valid ECMA-262 pattern
 * with the `u` flag (JSON Schema 2020-12 §6.4), over `schemaPatternCharsMax`, with look-around or
 * back-references, or with more repetition than RE2 allows. Matching is unanchored, as in JSON Schema.
 *
 * Text too long for the pattern's size does not match: refusing is the safe side of not knowing.
 */
export function linearPattern(source: string): LinearPattern | undefined {
  if (source.length > limits.schemaPatternCharsMax || !isUnicodePattern(source)) return undefined;
  const syntax = linearSyntax(source);
  const engine = syntax === undefined ? undefined : compiled(syntax);
  if (engine === undefined) return undefined;
  const charsMax = stepsMax / engine.programSize();
  return {
    test: (text) => text.length <= charsMax && engine.test(text),
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
